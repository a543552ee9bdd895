/**
 * signalbox/flow: durable flows. A flow is an ordinary async function that survives the death of its machine.
 */

export type { Duration, DurationParts, DurationUnit } from "../process/duration.js";
export type { Store, StoreSource } from "../store/index.js";
