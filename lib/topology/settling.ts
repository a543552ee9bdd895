// What becomes of a tuple when its bolt's function has come to its end, by the bolt's mode: under our host and under
// another alike.

import type { BoltMode } from "./component.js";

/** `hold`: the bolt settles it later, by its own call. `crash`: so does the task's end. */
export type Settling = "ack" | "fail" | "hold" | "crash";

/** @param threw - its function threw, or what it returned was rejected; an exit of its own is neither */
export function settling(mode: BoltMode, threw: boolean): Settling {
  if (mode === "manual") return threw ? "crash" : "hold";
  return threw || mode === "fail" ? "fail" : "ack";
}
