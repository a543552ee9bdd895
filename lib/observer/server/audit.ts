// The event by which a system tells who changed something through an observer.

import type { Fault } from "../../admin/fault.js";
import type { Json } from "../../admin/json-view.js";

/** Somebody asked an observer to change something. */
export interface ObserverAction {
  /** The operation, such as `flows.cancel`. */
  readonly op: string;
  /** Its arguments. */
  readonly args: { readonly [name: string]: Json };
  /** `refused`: the observer only shows, and nothing was done. */
  readonly outcome: "done" | "failed" | "refused";
  /** Why it failed or was refused. */
  readonly error?: Fault;
  /** How long it took, in milliseconds. */
  readonly tookMs: number;
}

declare module "../../process/events.js" {
  interface SystemEventMap {
    /** An observer was asked to change something. */
    observerAction: [ObserverAction];
  }
}
