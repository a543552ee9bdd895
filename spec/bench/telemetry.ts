// Telemetry on: calls and dispatches that are counted and timed for Prometheus. The same without is the row's other column.

import type { System } from "signalbox";
import { prometheus } from "signalbox/service";
import { call, callAwait } from "./calls.js";
import { dispatchAck } from "./dispatch.js";
import type { Program } from "./program.js";
import { serverCallAwait } from "./servers.js";
import { SIZES } from "./sizes.js";

/** What is done to a new system before its first process is there. */
export type Prepare = (system: System) => void;

export const countAll: Prepare = (system) => void prometheus(system);

const sized = (prepare?: Prepare): Readonly<Record<string, Program>> => ({
  "call-telemetry": call(SIZES.call, prepare),
  "call-await-telemetry": callAwait(SIZES.call, prepare),
  "server-call-await-telemetry": serverCallAwait(SIZES.call, prepare),
  "dispatch-ack-telemetry": dispatchAck(SIZES.dispatchAck, prepare),
});

/** With metrics. */
export const observed: Readonly<Record<string, Program>> = sized(countAll);

/** Without. */
export const unobserved: Readonly<Record<string, Program>> = sized();
