// The tuples in the mailbox of one task. A task with too many of them is full until its mailbox is half empty. A task that does
// not run when a tuple comes is missed until it runs again. Either may make spouts and bolts upstream wait.

import { invariant } from "../../process/invariant.js";
import type { SimulatorHooks } from "./simulator-hooks.js";
import type { TaskSlot } from "./task-slots.js";

export class ReceiveBuffer {
  /** Tuples in the mailbox of the task. */
  queued = 0;
  /** Tuples that were ever sent to the task. */
  delivered = 0;
  /** The mailbox held more than `capacity` tuples, and has not been half empty since. */
  isFull = false;
  /** Tuples that may wait before spouts pause. Tuples that are in flight by then still come: the limit is soft. */
  readonly capacity: number;
  private missed = false;
  private readonly slot: TaskSlot;
  private readonly hooks: SimulatorHooks;

  constructor(slot: TaskSlot, hooks: SimulatorHooks) {
    this.slot = slot;
    this.hooks = hooks;
    this.capacity = slot.component.plan.config.receiveBuffer;
  }

  /** A tuple goes into the mailbox. */
  arrives(): void {
    this.hooks.loadChanged(this.slot);
    this.delivered++;
    if (++this.queued > this.capacity && !this.isFull) {
      this.isFull = true;
      this.slot.component.backpressure.fill(1);
    }
  }

  /** A tuple has left the mailbox. */
  leaves(): void {
    this.hooks.loadChanged(this.slot);
    invariant(this.queued > 0, "a tuple that leaves a mailbox was in it");
    if (--this.queued <= this.capacity >> 1 && this.isFull) {
      this.isFull = false;
      this.slot.component.backpressure.fill(-1);
    }
  }

  /** A tuple has come while the task does not run. */
  miss(): void {
    if (this.missed) return;
    this.missed = true;
    this.slot.component.backpressure.miss(1);
  }

  /** The task runs again, or was taken out. */
  back(): void {
    if (!this.missed) return;
    this.missed = false;
    this.slot.component.backpressure.miss(-1);
  }
}
