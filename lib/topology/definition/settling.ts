// How a bolt's task works, under our host and under another alike: how many tuples at a time, and what becomes of one when
// the bolt's function has come to its end.

import type { ComponentPlan } from "./blueprint.js";
import type { BoltDefinition, BoltMode } from "./component.js";

/** `hold`: the bolt settles it later, by its own call. `crash`: so does the task's end. */
export type Settling = "ack" | "fail" | "hold" | "crash";

/** @param threw - its function threw, or what it returned was rejected; an exit of its own is neither */
export function settling(mode: BoltMode, threw: boolean): Settling {
  if (mode === "manual") return threw ? "crash" : "hold";
  return threw || mode === "fail" ? "fail" : "ack";
}

/** Tuples that a task works on at the same time, at most. */
export function concurrencyOf({ definition, config }: ComponentPlan): number {
  return (definition as BoltDefinition).options.oneAtATime === true ? 1 : config.concurrency;
}
