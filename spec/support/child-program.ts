// Programs of TypeScript as real processes of their own, with real signals. A test waits for lines that they print.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { TETHER } from "./tether.js";

/** How a program ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program that runs. */
export interface Child {
  readonly pid: number;
  /** Resolves when standard output or standard error contain this text. Rejects when the program ends without it. */
  prints(text: string): Promise<void>;
  /** What is on its standard output so far. */
  printed(): string;
  signal(name: NodeJS.Signals): void;
  readonly ended: Promise<Ended>;
}

export interface ChildProgram {
  /** What Node is given to run it, for tests that start it themselves. */
  readonly args: readonly string[];
  start(...args: readonly string[]): Child;
  /** Ends what still runs, and removes the program. */
  remove(): void;
}

/** Bundles a program, with the library of this source tree. `flags` are for Node, and `more` is for its environment. */
export async function childProgram(
  entry: URL,
  flags: readonly string[] = [],
  more: Readonly<Record<string, string>> = {},
): Promise<ChildProgram> {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-program-"));
  const file = join(folder, "program.mjs");
  const bundle = await rolldown({
    input: fileURLToPath(entry),
    platform: "node",
    logLevel: "silent",
    tsconfig: fileURLToPath(new URL("../../tsconfig.json", import.meta.url)),
    resolve: { extensionAlias: { ".js": [".ts", ".js"] } },
  });
  await bundle.write({ file, format: "esm", codeSplitting: false, banner: TETHER });
  await bundle.close();
  const running = new Set<() => void>();
  return {
    args: [...flags, file],
    start: (...args) => {
      const env = { ...process.env, NO_COLOR: "1", FORCE_COLOR: "0", NODE_OPTIONS: "", ...more };
      const child = spawn(process.execPath, [...flags, file, ...args], {
        env,
        stdio: ["pipe", "pipe", "pipe"],
      });
      const out = { stdout: "", stderr: "" };
      const waits = new Set<() => void>();
      for (const name of ["stdout", "stderr"] as const)
        child[name].on("data", (chunk: Buffer) => {
          out[name] += chunk.toString();
          for (const wait of waits) wait();
        });
      const kill = (): void => void child.kill("SIGKILL");
      running.add(kill);
      const ended = new Promise<Ended>((resolve) => {
        child.on("close", (code, signal) => {
          running.delete(kill);
          resolve({ code, signal, ...out });
          for (const wait of waits) wait();
        });
      });
      const prints = (text: string): Promise<void> =>
        new Promise((resolve, reject) => {
          const look = (): void => {
            if (`${out.stdout}${out.stderr}`.includes(text)) {
              waits.delete(look);
              resolve();
            } else if (child.exitCode !== null || child.signalCode !== null) {
              reject(new Error(`it ended without printing "${text}":\n${out.stdout}\n${out.stderr}`));
            }
          };
          waits.add(look);
          look();
        });
      const printed = (): string => out.stdout;
      return { pid: child.pid as number, prints, printed, signal: (name) => void child.kill(name), ended };
    },
    remove: () => {
      for (const kill of running) kill();
      rmSync(folder, { recursive: true });
    },
  };
}
