// The bound of a mailbox. It is checked where a user gives it: at a spawn, in the definition of a server, in a child spec.

import { only } from "./known-options.js";
import { count, oneOf } from "./options.js";
import type { LocalProcess } from "./pid.js";

/** The class of a process. Only the kernel makes one. */
export type ProcessClass = abstract new (...args: never) => LocalProcess;

/** Key of what makes a mailbox more than one queue with a bound. */
export const queueing: unique symbol = Symbol("signalbox.queueing");

/**
 * A bound on the messages in a mailbox. Signals do not count and are never dropped. When the mailbox is full, `reject` throws
 * MailboxFullError at the sender, `drop-newest` and `drop-oldest` turn that message into a dead letter, and `exit` ends the
 * receiver.
 */
export interface MailboxLimits {
  /** How many messages may be in the mailbox, 1 or more. */
  readonly capacity: number;
  /** The treatment of a message when the mailbox is full. */
  readonly overflow: "reject" | "drop-newest" | "drop-oldest" | "exit";
  /** @internal Makes the class of a process that keeps its messages in another way: see {@link fairMailbox}. */
  readonly [queueing]?: (plain: ProcessClass) => ProcessClass;
}

/**
 * @param path - of the bound, for the error text
 * @throws OptionError
 */
export function checkBound(path: string, given: unknown): MailboxLimits {
  only(path, given as object, ["capacity", "overflow"]);
  const bound = given as MailboxLimits;
  count(`${path}.capacity`, bound.capacity, 1, true);
  oneOf(`${path}.overflow`, bound.overflow, ["reject", "drop-newest", "drop-oldest", "exit"]);
  return bound;
}
