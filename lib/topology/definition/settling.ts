// How a bolt's task works, in our host and in another: how many tuples it works on at a time, and how a tuple is settled
// when the bolt's function has ended.

import type { ComponentPlan } from "./blueprint.js";
import type { BoltDefinition, BoltMode } from "./component.js";

/** `hold`: the bolt settles the tuple later, by its own call. `crash`: the task crashes, which fails the tuple. */
export type Settling = "ack" | "fail" | "hold" | "crash";

/** @param threw - the function threw, or its promise was rejected; an exit of its own process is neither */
export function settling(mode: BoltMode, threw: boolean): Settling {
  if (mode === "manual") return threw ? "crash" : "hold";
  return threw || mode === "fail" ? "fail" : "ack";
}

/** The most tuples that a task works on at once. */
export function concurrencyOf({ definition, config }: ComponentPlan): number {
  return (definition as BoltDefinition).options.oneAtATime === true ? 1 : config.concurrency;
}
