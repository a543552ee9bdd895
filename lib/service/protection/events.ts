// The event that protection adds to the events of a system.

import type { Pid } from "../../process/pid.js";
import type { BreakerState } from "./breaker-machine.js";

/** A circuit breaker has changed its state. */
export interface BreakerChange {
  /** The label of the breaker. */
  readonly breaker: string;
  /** The process of the breaker. Undefined when it is a local one. */
  readonly pid: Pid | undefined;
  /** The state before. */
  readonly from: BreakerState;
  /** The state now. */
  readonly to: BreakerState;
  /** How long the breaker stays open, in milliseconds. Undefined unless it has opened. */
  readonly openMs: number | undefined;
  /** The calls that counted in the state before. */
  readonly calls: number;
  /** How many of them failed. */
  readonly failed: number;
  /** How many of them were slow. */
  readonly slow: number;
}

declare module "../../process/events.js" {
  interface SystemEventMap {
    /** A circuit breaker opened, closed, or admits probes. */
    breaker: [BreakerChange];
  }
}
