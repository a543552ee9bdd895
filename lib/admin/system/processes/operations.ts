// The operations on processes that cost something: the first of all by a figure, the state of one, its trace, and its suspension.

import type { ProcessStatus } from "../../../process/info.js";

/** A process in a list. */
export interface ProcessSummary {
  /** Such as `shop.7`. */
  readonly pid: string;
  readonly label?: string | undefined;
  readonly name?: string | undefined;
  /** The kind of its behaviour: `server`, `supervisor`, `topology`. Undefined: a function, or callbacks of its own. */
  readonly kind?: string | undefined;
  readonly status: ProcessStatus;
  readonly mailboxDepth: number;
  /** Messages and signals so far. */
  readonly handled: number;
  readonly parent?: string | undefined;
}

/**
 * What the first processes are chosen by. `mailbox`: the deepest mailbox. `growth`: the mailbox that grows fastest. `handled`: the most
 * messages a second. `busy`: the largest share of time. `age`: the oldest process.
 */
export type TopOrder = "mailbox" | "growth" | "handled" | "busy" | "age";

/** Options of {@link ProcessOperations.top}. */
export interface TopOptions {
  /** Default `mailbox`. */
  readonly by?: TopOrder;
  /** How many are shown: 1 to 500. Default 50. */
  readonly limit?: number;
  /** Only processes with this text in their pid, label, name or kind, upper and lower case alike. At most 200 characters. */
  readonly find?: string;
  /** Only processes of this kind, such as `server`. */
  readonly kind?: string;
}

/** The first processes of a system by some figure. */
export interface TopProcesses {
  /** When the walk ended: wall time, in milliseconds since 1970. */
  readonly at: number;
  /** The processes that the walk met. */
  readonly total: number;
  /** Those of them that `find` and `kind` chose. */
  readonly matched: number;
  /** How long the walk took, with the pauses in which everybody else ran. */
  readonly walkMs: number;
  /** The first first. */
  readonly processes: readonly TopProcess[];
}

/** A process with its rates. A rate needs two walks, so it is absent in the first one, and for a process that is new since the last. */
export interface TopProcess extends ProcessSummary {
  /** By how many messages the mailbox grew, or shrank, a second. */
  readonly growthPerS?: number | undefined;
  /** Messages and signals that it handled a second. */
  readonly handledPerS?: number | undefined;
  /** Its share of the time of the thread, 0 to 1, by samples of the last seconds. Absent where nothing samples. */
  readonly busy?: number | undefined;
  /** How long ago it was spawned, to about a second. Absent: before anybody looked. */
  readonly ageMs?: number | undefined;
}

/** The state of a process, as text. */
export interface StateText {
  /** The kind of its behaviour: `server`. Undefined: a function, or callbacks of its own. */
  readonly kind?: string | undefined;
  /** The state, through the `format` of its definition and the `redact` of the system. Undefined: it has none, or `problem` says why. */
  readonly text?: string | undefined;
  /** The text is only the beginning. */
  readonly truncated: boolean;
  /** Why there is no text: the process is busy, its state is too large, its formatter threw. */
  readonly problem?: string | undefined;
}

/** One event of a trace, as text. */
export interface TraceLine {
  /** Rises by one. */
  readonly number: number;
  /** Wall time, in milliseconds since 1970. */
  readonly at: number;
  /** `message`, `call`, `cast`, `reply`, `signal`, `state`, `format` or `exit`. */
  readonly type: string;
  readonly text: string;
}

/** The trace of a process. */
export interface TraceText {
  /** The last events, at most 1,000, the oldest first. */
  readonly events: readonly TraceLine[];
  /** Events before them. */
  readonly dropped: number;
  /** The process has exited. */
  readonly ended: boolean;
  /** Whether messages are shown with their contents, as in reports: by the option `report: { messages: true }` of the system. */
  readonly contents: boolean;
}

/** The operations. A process is named by its pid or its registered name. */
export interface ProcessOperations {
  /**
   * The first processes by some figure. A walk over all of them finds these, in slices of at most 1 ms; calls at the same time share it.
   *
   * @throws OptionError
   */
  top(options?: TopOptions): Promise<TopProcesses>;
  /** @throws NoProcessError */
  state(id: string): Promise<StateText>;
  /**
   * The events since the first call of this operation. The trace ends 15 seconds after the last call.
   *
   * @throws NoProcessError
   */
  trace(id: string): Promise<TraceText>;
  /** Suspends a process until it is resumed: it stays suspended when nobody looks any more. @throws NoProcessError */
  suspend(id: string): Promise<void>;
  /** Resumes a process, whoever suspended it. @throws NoProcessError */
  resume(id: string): Promise<void>;
}
