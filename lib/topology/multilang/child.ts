// A program as a child of this one: the only file of multilang that starts programs and makes directories.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import host from "node:process";

/** Which program, and how it is started. */
export interface ChildSpec {
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the environment of this program. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
}

/** How a child came to its end. `text` says it as in "the program …". */
export interface ChildEnd {
  /** False: there never was one. */
  readonly ran: boolean;
  readonly text: string;
}

/** What is heard of a child. */
export interface ChildEvents {
  /** It wrote to its standard output. */
  data(bytes: Uint8Array): void;
  /** It wrote to its standard error. */
  errors(bytes: Uint8Array): void;
  /** Its standard input has room again. */
  drained(): void;
  /** It has ended, and everything it wrote has been heard. */
  ended(end: ChildEnd): void;
}

/** A child, as the rest of multilang knows it. */
export interface ChildPort {
  /** A directory of its own, there until `dispose`. */
  readonly pidDir: string;
  /** Bytes written that its standard input had no room for yet. */
  readonly waiting: number;
  /** Writes to its standard input. False: there is no more room, `drained` tells when. */
  write(text: string): boolean;
  kill(signal: "SIGTERM" | "SIGKILL"): void;
  /** Lets go of everything but the child itself. */
  dispose(): void;
}

export type OpenChild = (spec: ChildSpec, events: ChildEvents) => ChildPort;

/** Those that would outlive this program if it ended without stopping its systems, with their directories. */
const running = new Map<ChildProcess, string>();

function killAll(): void {
  for (const [child, pidDir] of running) {
    child.kill("SIGKILL");
    rmSync(pidDir, { recursive: true, force: true });
  }
}

/** Starts a program. That it cannot be started is told by `ended`. */
export const openChild: OpenChild = ({ command, args, env, cwd }, events) => {
  const pidDir = mkdtempSync(join(tmpdir(), "signalbox-"));
  const child = spawn(command, args, {
    env: { ...host.env, ...env },
    cwd,
    stdio: ["pipe", "pipe", "pipe"],
    windowsHide: true,
  });
  if (running.size === 0) host.on("exit", killAll);
  running.set(child, pidDir);
  let over = false;
  const end = (how: ChildEnd): void => {
    if (over) return;
    over = true;
    running.delete(child);
    if (running.size === 0) host.off("exit", killAll);
    events.ended(how);
  };
  child.on("error", (error) => {
    // A child that runs may still have failed to take a signal, which is no end.
    if (child.pid === undefined) end({ ran: false, text: `could not be started: ${error.message}` });
  });
  // Not at `exit`: what it wrote last may still be in the pipe.
  child.on("close", (code, signal) => {
    end({ ran: true, text: signal === null ? `ended with code ${code}` : `was ended by ${signal}` });
  });
  child.stdout.on("data", (bytes: Buffer) => events.data(bytes));
  child.stderr.on("data", (bytes: Buffer) => events.errors(bytes));
  child.stdin.on("drain", () => events.drained());
  // A broken pipe: the child is at its end, which is told by itself.
  child.stdin.on("error", () => undefined);
  return {
    pidDir,
    get waiting() {
      return child.stdin.writableLength;
    },
    write: (text) => child.stdin.write(text),
    kill: (signal) => {
      child.kill(signal);
    },
    dispose: () => {
      // Children of the child may hold its pipes open; they are not to hold this program.
      for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.destroy();
      rmSync(pidDir, { recursive: true, force: true });
    },
  };
};
