// What a planted bug is: a small service that is right, or wrong in one place, and a scenario that can tell which.

import type { FaultOptions, Scenario } from "signalbox/testing";

export interface Planted {
  readonly bug: string;
  /** What the wrong service does. */
  readonly wrong: string;
  /** The error that a failing schedule ends with: its code, and words of its text. */
  readonly code: string;
  readonly says: string;
  readonly faults?: FaultOptions;
  scenario(wrong: boolean): Scenario;
}
