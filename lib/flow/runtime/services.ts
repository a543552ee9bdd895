// What runs beside the flows of a host, as its children: the admin socket, the retention.

import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import type { Startable } from "../../process/start.js";
import type { Store } from "../../store/index.js";
import type { Payloads } from "./port.js";

/** A host, as its services see it. */
export interface ServedHost {
  readonly kernel: Kernel;
  readonly store: Store;
  readonly payloads: Payloads;
  /** Starts a flow of the newest version. Gives its id. @throws UnknownFlowError, FlowIdTakenError, FlowInputError */
  start(name: string, input: unknown, id: string): Promise<string>;
}

/** Makes a child of a host, when the host has its store. */
export type HostService = (host: ServedHost) => Startable<readonly [], { readonly pid: Pid<never> }>;
