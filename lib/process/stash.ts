// Messages that a process sets aside because it cannot handle them yet, until it puts them back in front of newer ones. After
// Akka's Stash, with a bound. A function body needs none: it receives selectively.

import { SetAside } from "./behaviour.js";
import { Context } from "./context.js";
import { GONE, type Holder, isEntry, isGone, taken, type Withdrawable } from "./entries.js";
import { NotCallbacksError, OptionError, SignalboxError } from "./errors.js";
import { only } from "./known-options.js";
import { include } from "./one-or-many.js";
import { count, oneOf } from "./options.js";
import type { Pid } from "./pid.js";
import type { Process } from "./process.js";
import { exitedError, Request } from "./request.js";

/** Options of a {@link Stash}. */
export interface StashOptions {
  /** How many messages may be set aside, 1 or more. */
  readonly capacity: number;
  /**
   * What happens to a message when the stash is full. `drop-newest` and `drop-oldest` turn that message into a dead letter, and its
   * call rejects with StashFullError. `exit` ends the process with StashFullError. Default `exit`.
   */
  readonly overflow?: "drop-newest" | "drop-oldest" | "exit";
}

/**
 * A stash was full. With `exit` the process ends with this error, and with `drop-newest` or `drop-oldest` a call that was dropped
 * rejects with it.
 *
 * @remedy Raise the capacity, refuse requests that cannot be handled yet, or bound the mailbox and wait for what is missing in `init`.
 */
export class StashFullError extends SignalboxError {
  static override readonly name: string = "StashFullError";
  readonly code = "ERR_STASH_FULL";
  /** How many messages the stash may hold. */
  readonly capacity: number;
  constructor(of: Pid, capacity: number) {
    super(`the stash of ${of} holds ${capacity} messages, its capacity`);
    this.capacity = capacity;
  }
}

/**
 * Messages that a process of callbacks or a server has set aside. A callback or handler that returns `stash.setAside()` has its
 * present message set aside; `stash.unstash()` puts messages back, in their order and before all newer ones.
 *
 * A call that ends while it is set aside leaves the stash. When the process exits, the messages in the stash become dead letters, as
 * those in its mailbox do. State machines do not need a stash: they postpone events.
 *
 * @example
 * const Store = defineServer({
 *   init: (ctx) => ({ lines: undefined as string[] | undefined, early: new Stash(ctx, { capacity: 100 }) }),
 *   calls: { add: (state, line: string) => (state.lines === undefined ? state.early.setAside() : state.lines.push(line)) },
 *   casts: { opened: (state, lines: string[]) => { state.lines = lines; state.early.unstash(); } },
 * });
 */
export class Stash {
  readonly #process: Process;
  readonly #capacity: number;
  readonly #overflow: NonNullable<StashOptions["overflow"]>;
  #entries: unknown[] = [];
  /** Calls among them that have ended. */
  #gone = 0;
  readonly #aside: SetAside = new SetAside((entry) => this.#take(entry));

  /** @throws NotCallbacksError in a function body, OptionError, ProcessExitedError */
  constructor(ctx: Context<never> | Context<unknown>, options: StashOptions) {
    only("", options, ["capacity", "overflow"]);
    this.#capacity = count("capacity", options.capacity, 1);
    this.#overflow = oneOf("overflow", options.overflow ?? "exit", ["drop-newest", "drop-oldest", "exit"]);
    if (!(ctx instanceof Context)) throw new OptionError("ctx", ctx, "the ctx of a process");
    const { process } = ctx.self;
    if (process === undefined) throw ctx.signal.reason;
    if (process.handle === undefined) throw new NotCallbacksError(process.pid, "a stash");
    this.#process = process;
    process.extras.waits = include(process.extras.waits, this);
  }

  /** How many messages are set aside. Calls that have ended do not count. */
  get size(): number {
    this.#sweep();
    return this.#entries.length;
  }

  /** Has the present message set aside, when the callback or handler returns the result. Without that it has no effect. */
  setAside(): SetAside {
    return this.#aside;
  }

  /**
   * Puts the oldest messages back into the mailbox, in their order and before all that wait there. Returns how many.
   *
   * @param most - 0 or more. Default: all
   * @throws ProcessExitedError, OptionError
   */
  unstash(most: number = Number.POSITIVE_INFINITY): number {
    count("most", most, 0, true);
    if (!this.#process.alive) throw exitedError(this.#process);
    this.#sweep();
    const entries = this.#entries.splice(0, most);
    this.#process.putBack(entries);
    return entries.length;
  }

  /** @internal A call that was set aside has ended. */
  withdraw(entry: Withdrawable): void {
    entry.queuedIn = GONE;
    if (++this.#gone * 2 > this.#entries.length) this.#sweep();
  }

  /** @internal The process has exited. */
  abandon(): void {
    this.#sweep();
    for (const entry of this.#entries.splice(0))
      this.#process.kernel.refuse(this.#process.pid, entry, "exited");
  }

  #take(entry: unknown): void {
    // Its caller gave up while the handler was at work.
    if (isOver(entry)) return;
    if (this.#entries.length >= this.#capacity) this.#sweep();
    if (this.#entries.length < this.#capacity) this.#keep(entry);
    else if (this.#overflow === "drop-newest") this.#drop(entry);
    else if (this.#overflow === "drop-oldest") {
      this.#drop(this.#entries.shift());
      this.#keep(entry);
    } else {
      throw new StashFullError(this.#process.pid, this.#capacity);
    }
  }

  #keep(entry: unknown): void {
    if (isEntry(entry) && entry instanceof Request) entry.queuedIn = this satisfies Holder;
    this.#entries.push(entry);
  }

  #drop(entry: unknown): void {
    const { kernel, pid } = this.#process;
    taken(entry);
    kernel.refuse(pid, entry, "stash-full");
    if (isEntry(entry) && entry instanceof Request)
      entry.fail(new StashFullError(pid, this.#capacity), "undelivered");
  }

  #sweep(): void {
    if (this.#gone === 0) return;
    this.#gone = 0;
    this.#entries = this.#entries.filter((entry) => !isGone(entry));
  }
}

/** Whether the entry is a call that has ended. A call that must not be withdrawn is handled all the same, so it does not count. */
function isOver(entry: unknown): boolean {
  return isEntry(entry) && entry instanceof Request && !entry.open && !entry.isKept;
}
