// A program as a child of this one. The child and its descendants are one process group, and end together. Only this file
// and orphan-reaper.ts of multilang start programs and make directories.

import { node } from "../../../process/node-modules.js";
import { hasGroups, MARK, registerChild, unregisterChild } from "./orphan-reaper.js";

/** Which program to start, and how. */
export interface ChildSpec {
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the environment of this program. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
}

/** How a child ended. `text` continues the sentence "the program …". */
export interface ChildEnd {
  /** False when the program could not be started. */
  readonly ran: boolean;
  readonly text: string;
}

export type ChildSignal = "SIGTERM" | "SIGKILL";

/** Events of a child. */
export interface ChildEvents {
  /** The child wrote to its standard output. */
  data(bytes: Uint8Array): void;
  /** The child wrote to its standard error. */
  errors(bytes: Uint8Array): void;
  /** The child's standard input takes more again. */
  drained(): void;
  /** The child has ended, and all of its output has been reported. */
  ended(end: ChildEnd): void;
}

/** A child, as the rest of multilang sees it. */
export interface ChildPort {
  /** A directory for this child alone. It exists until `dispose`. */
  readonly pidDir: string;
  /** Bytes written that wait in the child's standard input. */
  readonly waiting: number;
  /** Writes to the child's standard input. Returns false when the input is full, until `drained`. */
  write(text: string): boolean;
  /** Sets the process that does the work, as it reported itself: behind a shell that is not the process which was started. */
  reported(pid: number): void;
  /** Signals the child and its descendants. */
  kill(signal: ChildSignal): void;
  /** Kills the child and its descendants, and releases everything else. */
  dispose(): void;
}

export type OpenChild = (spec: ChildSpec, events: ChildEvents) => ChildPort;

/** Children that would outlive this program if it ended without stopping its systems. */
const running = new Set<Child>();

function disposeAll(): void {
  for (const child of running) child.dispose();
}

/** Starts a program. When it cannot be started, `ended` says so. @throws what `spawn` throws about its arguments */
export const openChild: OpenChild = (spec, events) => {
  const pidDir = node.fs.mkdtempSync(node.path.join(node.os.tmpdir(), "signalbox-"));
  try {
    registerChild(NO_GROUP, pidDir);
    return new Child(startProgram(spec, pidDir), pidDir, events);
  } catch (error) {
    forget(pidDir);
    throw error;
  }
};

/** The group in place of that of a child which is not started yet. */
const NO_GROUP = 0;

type Program = ReturnType<typeof startProgram>;

function startProgram({ command, args, env, cwd }: ChildSpec, pidDir: string) {
  return node.childProcess.spawn(command, args, {
    env: { ...node.process.env, ...env, [MARK]: pidDir },
    cwd,
    stdio: ["pipe", "pipe", "pipe"],
    windowsHide: true,
    detached: hasGroups,
  });
}

function forget(pidDir: string): void {
  unregisterChild(NO_GROUP, pidDir);
  node.fs.rmSync(pidDir, { recursive: true, force: true });
}

class Child implements ChildPort {
  readonly pidDir: string;
  readonly #program: Program;
  /** The process that does the work, by the program's own account. */
  #worker: number | undefined;
  /** Its own end is awaited: its descendants may end in their own way until it is disposed of. */
  #isEnding = false;
  #hasEnded = false;
  #isSwept = false;

  constructor(program: Program, pidDir: string, events: ChildEvents) {
    this.#program = program;
    this.pidDir = pidDir;
    if (program.pid !== undefined) registerChild(program.pid, pidDir);
    if (running.size === 0) node.process.on("exit", disposeAll);
    running.add(this);
    this.#listen(events);
  }

  get waiting(): number {
    return this.#program.stdin.writableLength;
  }

  write(text: string): boolean {
    return this.#program.stdin.write(text);
  }

  reported(pid: number): void {
    this.#worker = pid;
  }

  kill(signal: ChildSignal): void {
    this.#isEnding = true;
    this.#signal(signal);
  }

  dispose(): void {
    this.#sweep();
    const { stdin, stdout, stderr } = this.#program;
    // A descendant that no signal reaches may hold the pipes open, and open pipes would keep this program alive.
    for (const pipe of [stdin, stdout, stderr]) pipe.destroy();
    forget(this.pidDir);
    running.delete(this);
    if (running.size === 0) node.process.off("exit", disposeAll);
  }

  #listen(events: ChildEvents): void {
    const program = this.#program;
    const end = (how: ChildEnd): void => {
      if (this.#hasEnded) return;
      this.#hasEnded = true;
      events.ended(how);
    };
    program.on("error", (error) => {
      // A child that runs may emit an error too: a signal that could not be sent, which is no end.
      if (program.pid === undefined) end({ ran: false, text: `could not be started: ${error.message}` });
    });
    program.on("exit", () => {
      // Its descendants would hold the pipes open, and work on for a task that has lost its program.
      if (!this.#isEnding) this.#sweep();
    });
    // Not at `exit`: the last output may still be in the pipe.
    program.on("close", (code, signal) => {
      end({ ran: true, text: signal === null ? `ended with code ${code}` : `was ended by ${signal}` });
    });
    program.stdout.on("data", (bytes: Buffer) => events.data(bytes));
    program.stderr.on("data", (bytes: Buffer) => events.errors(bytes));
    program.stdin.on("drain", () => events.drained());
    // A broken pipe means that the child ends, and `close` reports that.
    program.stdin.on("error", () => undefined);
  }

  /** Kills the child and its descendants for good. */
  #sweep(): void {
    this.#signal("SIGKILL");
    this.#isSwept = true;
    if (this.#program.pid !== undefined) unregisterChild(this.#program.pid, this.pidDir);
  }

  #signal(signal: ChildSignal): void {
    const { pid } = this.#program;
    // After the sweep another group may get this group's number.
    if (this.#isSwept || pid === undefined) return;
    if (hasGroups) signalTo(-pid, signal);
    else this.#program.kill(signal);
    const worker = this.#worker;
    // A worker that has left the group. A program may report any number, so the worker must bear the child's mark.
    if (worker !== undefined && worker !== pid && isMarked(worker, this.pidDir)) signalTo(worker, signal);
  }
}

function signalTo(target: number, signal: ChildSignal): void {
  try {
    node.process.kill(target, signal);
  } catch {
    // The process is gone already.
  }
}

/** Whether a process is the child with this directory, or a descendant of it. False where there is no /proc. */
function isMarked(pid: number, pidDir: string): boolean {
  try {
    return node.fs.readFileSync(`/proc/${pid}/environ`, "latin1").split("\0").includes(`${MARK}=${pidDir}`);
  } catch {
    return false;
  }
}
