/**
 * signalbox/flow: durable flows. A flow is an ordinary async function that survives the death of its machine.
 */

export type { Store, StoreSource } from "../store/index.js";
