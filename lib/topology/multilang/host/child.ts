// A program as a child of this one, with all that it starts: they are a process group, and end together. Besides
// orphan-reaper.ts the only file of multilang that starts programs and makes directories.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import host from "node:process";
import { hasGroups, MARK, registerChild, unregisterChild } from "./orphan-reaper.js";

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

export type ChildSignal = "SIGTERM" | "SIGKILL";

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
  /** The process that does the work, by its own account: behind a shell it is another one than was started. */
  reported(pid: number): void;
  /** Signals the child and all that it has started. */
  kill(signal: ChildSignal): void;
  /** Kills what is left of it, and lets go of everything else. */
  dispose(): void;
}

export type OpenChild = (spec: ChildSpec, events: ChildEvents) => ChildPort;

/** Those that would outlive this program if it ended without stopping its systems. */
const running = new Set<() => void>();

function endAll(): void {
  for (const end of running) end();
}

/** Starts a program. That it cannot be started is told by `ended`. @throws what `spawn` throws of what it is given */
export const openChild: OpenChild = ({ command, args, env, cwd }, events) => {
  const pidDir = mkdtempSync(join(tmpdir(), "signalbox-"));
  let child: ReturnType<typeof start>;
  try {
    registerChild(0, pidDir);
    child = start();
  } catch (error) {
    forget();
    throw error;
  }
  const { pid } = child;
  if (pid !== undefined) registerChild(pid, pidDir);
  /** By the child's own account. */
  let worker: number | undefined;
  /** It was told to end: what it has started may end in its own way, until it is disposed of. */
  let ending = false;
  let over = false;
  let swept = false;

  function start() {
    return spawn(command, args, {
      env: { ...host.env, ...env, [MARK]: pidDir },
      cwd,
      stdio: ["pipe", "pipe", "pipe"],
      windowsHide: true,
      detached: hasGroups,
    });
  }

  function forget(): void {
    unregisterChild(0, pidDir);
    rmSync(pidDir, { recursive: true, force: true });
  }

  function strike(signal: ChildSignal): void {
    // Later the number of the group may be another's.
    if (swept || pid === undefined) return;
    if (hasGroups) signalTo(-pid, signal);
    else child.kill(signal);
    // A worker that has left the group. Any number may be reported, so only one that bears our mark is believed.
    if (worker !== undefined && worker !== pid && isMarked(worker, pidDir)) signalTo(worker, signal);
  }

  /** Nothing that it has started is to be left. */
  function sweep(): void {
    strike("SIGKILL");
    swept = true;
    if (pid !== undefined) unregisterChild(pid, pidDir);
  }

  function dispose(): void {
    sweep();
    // What is beyond our reach may hold its pipes open; that is not to hold this program.
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.destroy();
    forget();
    running.delete(dispose);
    if (running.size === 0) host.off("exit", endAll);
  }

  if (running.size === 0) host.on("exit", endAll);
  running.add(dispose);
  const end = (how: ChildEnd): void => {
    if (over) return;
    over = true;
    events.ended(how);
  };
  child.on("error", (error) => {
    // A child that runs may still have failed to take a signal, which is no end.
    if (pid === undefined) end({ ran: false, text: `could not be started: ${error.message}` });
  });
  child.on("exit", () => {
    // What it leaves behind would hold its pipes open, and work on for a task that has lost it.
    if (!ending) sweep();
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
    reported: (number) => {
      worker = number;
    },
    kill: (signal) => {
      ending = true;
      strike(signal);
    },
    dispose,
  };
};

function signalTo(target: number, signal: ChildSignal): void {
  try {
    host.kill(target, signal);
  } catch {
    // It is gone already.
  }
}

/** Whether a process is the child with this directory, or was started by it. False where there is no /proc. */
function isMarked(pid: number, pidDir: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1").split("\0").includes(`${MARK}=${pidDir}`);
  } catch {
    return false;
  }
}
