// How a host tells that its store fails: the event `storeOutage` of its system, and reports that are printed. Once for each outage.

import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import { pathOf } from "../../process/report.js";

/** The store of a flow host fails, or works again. */
export type StoreOutage =
  /** Work in the background of the host has failed. It is tried again until it is done. Not emitted again before `ended`. */
  | {
      readonly type: "began";
      /** The first error of the store. */
      readonly error: Error;
    }
  /** All work that had failed is done. */
  | {
      readonly type: "ended";
      /** How many attempts failed meanwhile. */
      readonly failures: number;
      /** How long it took, in milliseconds. */
      readonly tookMs: number;
    };

declare module "../../process/events.js" {
  interface SystemEventMap {
    /** The store of a flow host fails, or works again. */
    storeOutage: [StoreOutage & { readonly host: Pid }];
  }
}

/** Emits an event, and prints it. */
export function tellOutage(kernel: Kernel, host: Pid, outage: StoreOutage): void {
  if (kernel.events.wants.storeOutage) kernel.events.publish("storeOutage", { ...outage, host });
  if (!kernel.reports.admits("storeOutage")) return;
  const said =
    outage.type === "began"
      ? `cannot use its store, and tries again until it can: ${outage.error.name}: ${outage.error.message}`
      : `uses its store again after ${outage.failures} failed attempts in ${Math.round(outage.tookMs)} ms`;
  kernel.reports.write({
    level: outage.type === "began" ? "error" : "warn",
    event: "storeOutage",
    pid: host,
    path: pathOf(host),
    text: `${host} ${said}`,
  });
}
