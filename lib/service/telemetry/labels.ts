// Labels of processes, as metrics and gauges tell them apart: not pids, of which there are without end.

import type { Pid } from "../../process/pid.js";
import { MAX_LABELS, OTHER } from "./options.js";

/** The label of a process that has none. */
const UNLABELLED = "process";

export class Labels {
  private readonly known = new Set<string>();

  /** The label of a process, or a name that no process has. Of very many labels, those that come last are `other`. */
  of(address: Pid<never> | string): string {
    const label = typeof address === "string" ? address : (address.label ?? UNLABELLED);
    if (this.known.has(label)) return label;
    if (this.known.size >= MAX_LABELS) return OTHER;
    this.known.add(label);
    return label;
  }
}
