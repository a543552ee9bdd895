// The slot of an envelope that its consumer was sent bare. Such a consumer cannot say when it is done, so it counts as
// busy until the hand-off window is over.

import type { Kernel } from "../process/kernel.js";
import type { Registration } from "./consumer.js";

export class HandOff {
  private held = true;
  private readonly slot: Registration;
  private readonly kernel: Kernel;
  private readonly endsAt: number;

  constructor(slot: Registration, kernel: Kernel, windowMs: number) {
    this.slot = slot;
    this.kernel = kernel;
    this.endsAt = kernel.env.now() + windowMs;
    slot.take();
  }

  /** The dispatch has ended, and this consumer cannot be told: the window goes on without it. */
  withdraw(): void {
    const { kernel, slot } = this;
    if (slot.pid.process === undefined) this.free();
    else kernel.addTimer(Math.max(0, this.endsAt - kernel.env.now()), { fire: () => this.free() });
  }

  abort(): void {}

  free(): void {
    if (!this.held) return;
    this.held = false;
    this.slot.free(this.kernel);
  }
}
