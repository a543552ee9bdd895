// Where telemetry taps into the library: the one list of everything that it sees. A system without telemetry pays one look
// at the field `kernel.taps` at each of these places, and nothing for a message:
//
//     kernel.taps?.called(request);
//
// | tap                      | called                                                                    | from          |
// |--------------------------|---------------------------------------------------------------------------|---------------|
// | `classOf`                | once, for the class of the processes that are started from now on         | kernel.ts     |
// | `spawned`                | a process was added; it has not run yet                                   | kernel.ts     |
// | `started`                | an awaited start has ended                                                | kernel.ts     |
// | `felled`                 | an exit signal is about to end a process                                  | links.ts      |
// | `ended`                  | a process has ended; no other process has been notified yet               | kernel.ts     |
// | `closed`                 | the system has stopped                                                    | kernel.ts     |
// | `called`                 | a call is about to be delivered; its end goes to `request.tap`            | calls.ts      |
// | `took`                   | a function body took a message out of its mailbox                         | receive.ts    |
// | `cast`                   | a cast is about to be sent                                                | behaviours    |
// | `launching`, `restarted` | a supervisor starts a child, restarts one, or gives up                    | supervisor/   |
// | `dispatching`            | a dispatch begins; its attempts and its end go to `conversation.follower`     | dispatch/     |
// | `carrier`                | something is about to leave for another program or thread                 | service, adapters |
// | `leaving`                | a message, a call or an envelope is about to go to another node           | remote.ts, node/ |
// | `arriving`, `arrived`    | one has come from another node: it is delivered inside `arriving`         | remote.ts, node/ |
// | `deadLetter`             | a message reached no process                                              | kernel.ts     |
// | `sessionEnded`           | a session with another node has ended                                     | node/session/ |
// | `requested`              | an HTTP server got a request; its end goes to what is returned            | service/http  |
// | `internal`               | a process was spawned whose messages are the library's own                | flow/, pipeline/, dispatch/ |
// | `continuing`             | something durable goes on in the trace that is kept with it               | flow/, pipeline/ |
// | `flowStarting`           | a flow is about to be started                                             | flow/         |
// | `flowStep`, `flowEnded`  | an attempt of a flow's step begins; the end of a flow is durable          | flow/         |
// | `executionStarting`, `routeAttempt` | an execution is about to be started; an attempt at a message begins | pipeline/     |
// | `queuePublishing`, `queueAttempt` | the same for a message of a durable queue                        | pipeline/queues/ |
//
// A higher floor adds its taps by declaration merging.

import type { StartOutcome } from "./behaviour.js";
import type { DeadLetterReason } from "./exit-reason.js";
import type { Pid } from "./pid.js";
import type { Process } from "./process.js";
import type { ExitReason } from "./reason.js";
import type { Request } from "./request.js";
import type { WireTrace } from "./wire-trace.js";

/**
 * How a call ended. `undelivered`: the mailbox of the callee was full. `aborted`: by the AbortSignal of the call. `refused`: the
 * callee answered with an error.
 */
export type CallOutcome =
  | "replied"
  | "refused"
  | "timeout"
  | "aborted"
  | "callee-exited"
  | "caller-exited"
  | "undelivered";

/** Follows one call. */
export interface CallTap {
  /** The call has ended. Called once. */
  ended(outcome: CallOutcome, error: unknown): void;
}

/** Follows a piece of work that a process does beside its messages. */
export interface WorkTap<Outcome> {
  /** Runs a part of it. */
  around<R>(run: () => R): R;
  /** Only the first call counts. The end of the process ends it, too. */
  ended(outcome: Outcome): void;
}

/** Headers that carry the context of the code that sends them, such as `traceparent`. */
export type Carrier = Readonly<Record<string, string>>;

export interface Taps {
  classOf(plain: typeof Process): typeof Process;
  /** @param awaited - a caller waits for the end of the start: `started` will be called */
  spawned(process: Process, awaited: boolean): void;
  started(process: Process, outcome: StartOutcome): void;
  /**
   * A process was spawned that handles the library's own messages alone: they are not followed.
   *
   * @param label - what metrics and spans call it, because its own label may have a key
   */
  internal(pid: Pid<never>, label: string): void;
  felled(process: Process, by: Pid): void;
  ended(process: Process, reason: ExitReason): void;
  /** The system has stopped. */
  closed(): void;
  called(request: Request): void;
  took(process: Process, entry: unknown): void;
  /** Carries the trace of the running code to another program or thread. Undefined when the system is not traced. */
  carrier(): Carrier | undefined;
  /**
   * The trace that something takes along to another node. Undefined when it is in none.
   *
   * @param sent - the message, the request of a call, or the delivery of a dispatch
   */
  leaving(sent: unknown): WireTrace | undefined;
  /**
   * Delivers something that has come from another node, in the trace that it brought, and in nothing else.
   *
   * @param trace - its text; it comes from another node and may be anything
   */
  arriving<R>(trace: unknown, deliver: () => R): R;
  /** Notes where a message or a call comes from. @param call - the request that it is handled as, if it is a call */
  arrived(message: unknown, call: Request | undefined, trace: WireTrace | undefined): void;
  deadLetter(reason: DeadLetterReason): void;
  /** Whether the system is traced. */
  readonly isTracing: boolean;
  /** Runs code in a trace that was kept with something durable, and in nothing else. Null: in no trace. */
  continuing<R>(trace: string | null, run: () => R): R;
  /** @param message - what is sent; the tap may note something in its field `tap` */
  cast(message: { tap: unknown }, method: string, to: Pid<never> | string, from: Process | undefined): void;
}
