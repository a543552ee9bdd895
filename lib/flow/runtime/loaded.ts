// A flow in the memory of its host.

import type { Pid } from "../../process/pid.js";
import type { FlowRow } from "../journal/tables.js";
import type { FlowProcess } from "./flow-process.js";

export interface Loaded {
  readonly row: FlowRow;
  readonly process: FlowProcess;
  readonly pid: Pid;
  /** Grows with every run of this host. */
  readonly run: number;
  /** Why its process is being ended, to keep the flow in the hospital. */
  observing: string | undefined;
  /** Its mail is being read; `again`: there was news since. */
  reading: "no" | "once" | "again";
}
