// What runs beside the flows of a host, as its children: the admin socket, the retention.

import type { Background } from "../../host/background/background.js";
import type { Values } from "../../host/payload/values.js";
import { StartError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import type { ExitReason } from "../../process/reason.js";
import type { Startable } from "../../process/start.js";
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
export type HostService = (host: ServedHost) => Startable<readonly [], { readonly pid: Pid<never> }>;

/** The error for which a service, or one below its supervisor, did not start. */
export function whyNotStarted(error: unknown): unknown {
  if (!(error instanceof StartError)) return error;
  let { reason } = error;
  // A supervisor that cannot start a child ends with the child's id and reason.
  while (reason.type === "shutdown" && isChildReason(reason.detail)) reason = reason.detail.reason;
  return reason.type === "crash" ? reason.error : error;
}

function isChildReason(detail: unknown): detail is { readonly reason: ExitReason } {
  return typeof detail === "object" && detail !== null && "reason" in detail;
}
