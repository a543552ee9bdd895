// The service as a process of the operating system, which can be killed and started again.

import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("./main.js", import.meta.url));

export class ServiceProcess implements AsyncDisposable {
  private readonly env: NodeJS.ProcessEnv;
  private child: ChildProcess | undefined;
  /** Where it is open. */
  url = "";

  /** @param env - the configuration of the service, without its port */
  constructor(env: NodeJS.ProcessEnv) {
    this.env = env;
  }

  /** Starts the service. Resolves when it is open. */
  open(): Promise<void> {
    const env = { ...process.env, ...this.env, CHECKOUT_PORT: "0" };
    const child = spawn(process.execPath, [...process.execArgv, MAIN], {
      env,
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.child = child;
    return new Promise((resolve, reject) => {
      child.stdout.on("data", (chunk: Buffer) => {
        const opened = /open at (\S+)/.exec(String(chunk))?.[1];
        if (opened === undefined) return;
        this.url = opened;
        resolve();
      });
      child.once("close", (code) => reject(new Error(`the service ended with ${code} before it was open`)));
    });
  }

  /** However the demonstration ends, the service does not outlive it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("SIGKILL");
  }

  /** Ends the service by a signal. Resolves with its exit code, or with the signal. */
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null> {
    const { child } = this;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null)
      return Promise.resolve(child?.exitCode ?? child?.signalCode ?? null);
    return new Promise((resolve) => {
      child.once("close", (code, by) => resolve(code ?? by));
      child.kill(signal);
    });
  }
}
