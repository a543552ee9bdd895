// A branch of the shop: the service as a process of the operating system, which can be ended by signals and started again.

import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("./main.js", import.meta.url));

export class Branch implements AsyncDisposable {
  private readonly env: NodeJS.ProcessEnv;
  private child: ChildProcess | undefined;
  private port = "0";
  /** Where the shop is open. */
  url = "";
  /** How often chaos has struck, by what it killed. */
  private readonly kills = new Map<string, number>();
  private readonly show: (text: string) => void;

  /**
   * @param env - the configuration of the shop, without its port
   * @param show - gets all that the shop prints
   */
  constructor(env: NodeJS.ProcessEnv, show: (text: string) => void) {
    this.env = env;
    this.show = show;
  }

  /** Starts the shop, at the port that it had before. Resolves when it is open. */
  open(): Promise<void> {
    const env = { ...process.env, ...this.env, SHOP_PORT: this.port };
    const child = spawn(process.execPath, [...process.execArgv, MAIN], {
      env,
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.child = child;
    child.stderr.on("data", (chunk: Buffer) => this.read(String(chunk)));
    return new Promise((resolve, reject) => {
      child.stdout.on("data", (chunk: Buffer) => {
        const opened = /open at (\S+)/.exec(this.read(String(chunk)))?.[1];
        if (opened === undefined) return;
        this.url = opened;
        this.port = new URL(opened).port;
        resolve();
      });
      child.once("close", (code) =>
        reject(new Error(`the shop ended with exit code ${code} before it was open`)),
      );
    });
  }

  /** However the demonstration ends, the shop does not outlive it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("SIGKILL");
  }

  /** Ends the shop by a signal. Resolves with its exit code, or with the signal. */
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null> {
    const { child } = this;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null)
      return Promise.resolve(child?.exitCode ?? child?.signalCode ?? null);
    return new Promise((resolve) => {
      child.once("close", (code, by) => resolve(code ?? by));
      child.kill(signal);
    });
  }

  /** What chaos has killed, and how often. */
  get killLine(): string {
    const parts = [...this.kills].sort(([a], [b]) => (a < b ? -1 : 1));
    return `kills     ${parts.map(([what, count]) => `${count} ${what}`).join(", ")}`;
  }

  private read(text: string): string {
    this.show(text);
    for (const [, what = ""] of text.matchAll(/chaos kills a ([a-z]+)/g))
      this.kills.set(what, (this.kills.get(what) ?? 0) + 1);
    return text;
  }
}
