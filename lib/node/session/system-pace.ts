// How sessions wait in production: by the timers, the random numbers and the turns of their system.

import type { Kernel } from "../../process/kernel.js";
import type { SessionPace, SessionTimer } from "./carrier.js";

export class SystemPace implements SessionPace {
  readonly #kernel: Kernel;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  random(): number {
    return this.#kernel.env.random();
  }

  after(ms: number, fire: () => void): SessionTimer {
    const timer = this.#kernel.addTimer(ms, { fire });
    return { cancel: () => void this.#kernel.cancelTimer(timer) };
  }

  endOfTurn(fire: () => void): void {
    const { scheduler } = this.#kernel;
    if (scheduler.drained === undefined) this.#kernel.addTimer(0, { fire });
    else scheduler.drained(fire);
  }
}
