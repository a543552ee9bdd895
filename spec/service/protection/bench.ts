// A system on a test clock, and promises whose ends a test can look at.

import { System, type SystemOptions } from "signalbox";
import { type TestClock, testClock } from "signalbox/testing";

export interface Ending<T> {
  done: boolean;
  value: T | undefined;
  error: unknown;
}

export class Bench {
  readonly clock: TestClock = testClock();
  readonly system: System;

  constructor(options: SystemOptions = {}) {
    this.system = new System({
      name: "bench",
      report: false,
      ...options,
      environment: this.clock.environment,
    });
  }

  /** How a promise ended, if it has. */
  ending<T>(promise: Promise<T>): Ending<T> {
    const ending: Ending<T> = { done: false, value: undefined, error: undefined };
    promise.then(
      (value) => Object.assign(ending, { done: true, value }),
      (error: unknown) => Object.assign(ending, { done: true, error }),
    );
    return ending;
  }

  async close(): Promise<void> {
    await this.clock.until(this.system.stop());
  }
}
