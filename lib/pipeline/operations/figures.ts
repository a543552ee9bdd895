// What one host knows of the routes of an execution that it runs: how fast they are, and which gates are closed.

import type { BreakerState } from "../../service/protection/breaker-machine.js";

/** What a look at a route finds. */
export interface RouteRates {
  /** Messages that were settled, those that were given up left out. */
  readonly done: number;
  /** Messages that were given up. */
  readonly failed: number;
  /** Messages a second that left the route. Undefined: this is the first look for a while. */
  readonly perS: number | undefined;
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
  /** Messages a second to each queue, as far as they were measured. */
  readonly to: ReadonlyMap<string, number>;
}

/** A gate that messages of a route pass before they are worked on. */
export interface RouteGate {
  /**
   * `paused`: people have paused the execution. `in flight`: its most messages in work, over all routes. `concurrency`: that of the route. `high
   * water`: a queue that it publishes to is full. `fan-out`: its children wait for their commit. `breakers`: those of its adapters.
   */
  readonly name: "paused" | "in flight" | "concurrency" | "high water" | "fan-out" | "breakers";
  readonly state: "open" | "closed";
  /** Messages and batches on this host that wait for it. 0 while it is open. */
  readonly waiting: number;
  /** For which queues or adapters it is closed. Absent: it is open, or of the route as a whole. */
  readonly by?: readonly string[];
}

/** The circuit breaker of an adapter. */
export interface RouteBreaker {
  /** The name of the adapter. */
  readonly name: string;
  readonly state: BreakerState;
}

/** A route on the host that is asked. */
export interface RouteFigures {
  readonly name: string;
  /** Messages and batches in work. */
  readonly inWork: number;
  /** Most workers at this time. */
  readonly limit: number;
  /** Messages in memory that no worker has; those in batches that are not due; those that were asked for. */
  readonly buffered: number;
  readonly held: number;
  readonly rates: RouteRates;
  readonly gates: readonly RouteGate[];
  readonly breakers: readonly RouteBreaker[];
}

/** An execution on the host that is asked. */
export interface ExecutionFigures {
  readonly routes: readonly RouteFigures[];
  /** Messages a second that sources give. Undefined: this is the first look for a while. */
  readonly sources: readonly { readonly name: string; readonly perS: number | undefined }[];
}
