// Programs that a command starts and waits for. A program, and all that it starts, is one group: it ends at its time limit, with a signal to
// this program, and with this program. One of the files of this floor that reach Node.

import { type ChildProcess, spawn } from "node:child_process";
import { after, interruption } from "./host.js";

/** How a program ended. */
export interface SpawnedEnd {
  /** Its exit code. Undefined: it did not start, or a signal ended it. */
  readonly code: number | undefined;
  /** The last of its standard output, and of both of its outputs as they came. */
  readonly stdout: string;
  readonly output: string;
  /** Why it did not end by itself, or did not start. */
  readonly problem?: string;
  /** The exit code of this command, when a signal has interrupted it. */
  readonly interrupted?: number;
}

export interface SpawnedOptions {
  readonly limitMs: number;
  /** Calls `fn` after so many milliseconds; returns the call that cancels it. */
  readonly after?: typeof after;
}

/** Characters of output that are kept: the end of it, where errors stand. */
const MAX_OUTPUT = 4_000_000;
/** Time to end after SIGTERM. */
const GRACE_MS = 2_000;

/** Runs a program to its end. Never rejects. */
export function spawned(
  program: string,
  args: readonly string[],
  { limitMs, after: later = after }: SpawnedOptions,
): Promise<SpawnedEnd> {
  return new Promise((resolve) => {
    let [stdout, output] = ["", ""];
    let problem: string | undefined;
    const child = spawn(program, [...args], { stdio: ["ignore", "pipe", "pipe"], detached: true });
    const signals = interruption();
    const sweep = (): void => signalTo(child, "SIGKILL");
    let cancelKill = (): void => undefined;
    const end = (why: string): void => {
      if (problem !== undefined) return;
      problem = why;
      signalTo(child, "SIGTERM");
      cancelKill = later(GRACE_MS, () => {
        sweep();
        // A descendant that has left the group may hold the pipes open.
        for (const pipe of [child.stdout, child.stderr]) pipe.destroy();
      });
    };
    const cancelLimit = later(limitMs, () => end(`did not end within ${limitMs} ms`));
    const interrupted = (): void => end("was interrupted");
    signals.signal.addEventListener("abort", interrupted);
    process.on("exit", sweep);
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout = (stdout + text).slice(-MAX_OUTPUT);
      output = (output + text).slice(-MAX_OUTPUT);
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(-MAX_OUTPUT);
    });
    const over = (code: number | undefined): void => {
      cancelLimit();
      cancelKill();
      process.off("exit", sweep);
      signals.release();
      const by = signals.signal.aborted ? { interrupted: signals.code } : {};
      resolve({ code, stdout, output, ...(problem !== undefined && { problem }), ...by });
    };
    child.on("error", ({ message }) => {
      if (child.pid !== undefined) return;
      problem = `could not be started: ${message}`;
      over(undefined);
    });
    // Descendants would hold the pipes open, and this program with them.
    child.on("exit", sweep);
    child.on("close", (code) => over(code ?? undefined));
  });
}

function signalTo({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // The group is gone.
  }
}
