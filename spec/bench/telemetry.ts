// Telemetry on: calls and dispatches that are counted and timed for Prometheus, and calls while spans are kept, of which the budget refuses nearly all.
// The same without is the row's other column.

import type { System } from "signalbox";
import { history } from "signalbox/observer";
import { prometheus } from "signalbox/service";
import { call, callAwait } from "./calls.js";
import { dispatchAck } from "./dispatch.js";
import type { Program } from "./program.js";
import { serverCallAwait } from "./servers.js";
import { SIZES } from "./sizes.js";

/** What is done to a new system before its first process is there. */
export type Prepare = (system: System) => void | Promise<void>;

export const countAll: Prepare = (system) => void prometheus(system);

/** What follows the work of a system. The published types do not have it. */
interface Followed {
  readonly kernel: { readonly taps: unknown };
}

export const keepSpans: Prepare = async (system) => {
  await system.start(history({ traces: true }));
  if ((system as unknown as Followed).kernel.taps === undefined) throw new Error("no spans are kept");
};

const sized = (prepare?: Prepare, keep?: Prepare): Readonly<Record<string, Program>> => ({
  "server-call-await-kept": serverCallAwait(SIZES.call, keep),
  "call-telemetry": call(SIZES.call, prepare),
  "call-await-telemetry": callAwait(SIZES.call, prepare),
  "server-call-await-telemetry": serverCallAwait(SIZES.call, prepare),
  "dispatch-ack-telemetry": dispatchAck(SIZES.dispatchAck, prepare),
});

/** With metrics. */
export const observed: Readonly<Record<string, Program>> = sized(countAll, keepSpans);

/** Without. */
export const unobserved: Readonly<Record<string, Program>> = sized();
