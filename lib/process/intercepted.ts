// The process of a system whose Environment intercepts: a class of its own, so that production's is none the slower.

import {
  type Entry,
  isEntry,
  isWithdrawable,
  Recallable,
  SignalEntry,
  TaskEntry,
  type Withdrawable,
} from "./entries.js";
import type { InterceptedProcess, Interception } from "./interception.js";
import { Process } from "./process.js";
import { DEAD } from "./process-state.js";

export class WatchedProcess extends Process implements InterceptedProcess {
  /** The interceptor's own. */
  tag: unknown = undefined;
  readonly #interception: Interception;

  constructor(...args: ConstructorParameters<typeof Process>) {
    super(...args);
    this.#interception = this.kernel.interception as Interception;
  }

  override deliver(message: unknown, _from?: Process): void {
    if (!this.#interception.hold(this, message)) super.deliver(message);
  }

  override deliverSignal(entry: Entry): void {
    if (!this.#interception.hold(this, entry)) super.deliverSignal(entry);
  }

  /** It makes a difference whether the process takes the entry before the entry ends. */
  override withdraw(entry: Withdrawable): number {
    this.kernel.shared?.process(this.pid, "write");
    this.kernel.shared?.mailbox(this.pid, "write");
    if (!this.#interception.recall(this, (item) => item === entry)) return super.withdraw(entry);
    entry.queuedIn = undefined;
    return 0;
  }

  /** A call or a delivery can be withdrawn until it is taken. */
  protected override open(entry: unknown): unknown {
    if (isWithdrawable(entry)) this.kernel.shared?.object(entry, "read");
    return super.open(entry);
  }

  /** The running code may be another process's. */
  override perform(code: () => unknown): void {
    this.kernel.shared?.process(this.pid, "write");
    super.perform(code);
  }

  /** Takes in what was held on its way. */
  arrive(item: unknown): void {
    if (this.state === DEAD) this.kernel.refuse(this.pid, item, "exited");
    else if (item instanceof SignalEntry || item instanceof TaskEntry) super.deliverSignal(item);
    else {
      if (isEntry(item) || item instanceof Recallable) this.mixed = true;
      super.deliver(item);
    }
  }
}
