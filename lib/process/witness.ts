// Who sees what goes wrong in a system, while its history is kept. A system without one pays one look at the field `kernel.witness` at each of
// these places. A listener of events would cost more: `exit` is emitted for each process that ends, and dead letters come 100,000 a second.

import type { DiscardedReply } from "./events.js";
import type { DeadLetterReason, ExitReason } from "./exit-reason.js";
import type { Pid } from "./pid.js";

/** A process that has ended. */
export interface EndedProcess {
  readonly pid: Pid<unknown>;
  readonly parent: Pid | undefined;
  /** `onStart`: its start had not ended. */
  readonly rare: { readonly onStart: unknown } | undefined;
}

/** No method may throw. A higher floor adds its own by declaration merging. */
export interface Witness {
  /**
   * A process has ended, and neither `normal` nor with `shutdown`. No other process has been notified yet.
   *
   * @param entry - of its mailbox, that it was handling; undefined if that is not known
   * @param alongLink - it ended because a process did that it was linked to
   */
  ended(process: EndedProcess, reason: ExitReason, entry: unknown, alongLink: boolean): void;
  /** A function body has taken an entry out of its mailbox: nothing else knows later what it was at. */
  took(process: object, entry: unknown): void;
  /** A message reached no process. */
  deadLetter(to: Pid | string, reason: DeadLetterReason): void;
  /** A reply was discarded. @param describe - builds an error with a stack, so it is for the first of many alone */
  discardedReply(describe: () => DiscardedReply): void;
}
