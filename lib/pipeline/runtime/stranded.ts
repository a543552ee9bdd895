// How a host tells that an execution cannot end: the event `executionStranded` of its system, and a report that is printed.

import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import { pathOf } from "../../process/report.js";
import { type MissingPart, missingText } from "../definition/missing.js";

/** An execution whose pipeline was changed cannot end. Reported once, also over restarts of the host, until something else is missing. */
export interface StrandedExecution {
  /** The id of the execution. */
  readonly execution: string;
  /** The name of its pipeline. */
  readonly pipeline: string;
  /** The parts that it needs and its pipeline lacks. */
  readonly missing: readonly MissingPart[];
}

declare module "../../process/events.js" {
  interface SystemEventMap {
    /** A host finds an execution that cannot end, because its pipeline was changed. */
    executionStranded: [StrandedExecution & { readonly host: Pid }];
  }
}

/** Emits the event, and prints it. */
export function tellStranded(kernel: Kernel, host: Pid, stranded: StrandedExecution): void {
  if (kernel.events.wants.executionStranded)
    kernel.events.publish("executionStranded", { ...stranded, host });
  if (!kernel.reports.admits("executionStranded")) return;
  const { execution, pipeline, missing } = stranded;
  kernel.reports.write({
    level: "error",
    event: "executionStranded",
    pid: host,
    path: `${pathOf(host)}/${execution}`,
    text: `${host} cannot bring execution "${execution}" of pipeline "${pipeline}" to its end: ${missingText(missing)}. Start a host with a definition that has what is missing, move its messages to another route, or give them up`,
  });
}
