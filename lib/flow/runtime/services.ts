// What runs beside the flows of a host, as its children: the admin socket, the retention.

import type { Background } from "../../host/background/background.js";
import type { Service } from "../../host/host-life.js";
import type { Values } from "../../host/payload/values.js";
import type { Kernel } from "../../process/kernel.js";
import type { Store } from "../../store/index.js";

/** A host, as its services see it. */
export interface ServedHost {
  readonly kernel: Kernel;
  readonly store: Store;
  readonly payloads: Values;
  readonly background: Background;
  /** Starts a flow of the newest version. Gives its id. @throws UnknownFlowError, FlowIdTakenError, FlowInputError */
  start(name: string, input: unknown, id: string): Promise<string>;
}

/** Makes a child of a host, when the host has its store. */
export type HostService = (host: ServedHost) => Service;
