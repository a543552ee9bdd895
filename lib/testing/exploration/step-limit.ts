// Shrinking a schedule that does not end runs many schedules that do not end. Each is cut off as soon as its cycle shows.

import { enoughSteps } from "../simulator/livelock.js";
import type { ScheduleResult } from "./schedule.js";

export class StepLimit {
  /** Steps after which the next candidate is cut off. */
  steps: number;
  readonly #most: number;
  readonly #falls: boolean;

  /** @param falls - the limit may fall below `maxSteps`. A candidate that it cuts off might have ended later. */
  constructor(maxSteps: number, falls: boolean) {
    this.steps = maxSteps;
    this.#most = maxSteps;
    this.#falls = falls;
  }

  /** Whether a candidate that failed counts. One that was cut off lowers the limit to what its cycle needs. */
  accepts({ bounded, cycle, steps }: ScheduleResult): boolean {
    if (!bounded || !this.#falls) return true;
    if (cycle !== undefined) this.steps = Math.min(this.steps, enoughSteps(cycle));
    return cycle !== undefined || steps >= this.#most;
  }
}
