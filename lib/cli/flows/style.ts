// The colours of the statuses of flows.

import type { FlowStatus } from "../../flow/operations/operations.js";
import type { Colour } from "../shell/style.js";

export const COLOURS: Readonly<Record<FlowStatus, Colour>> = {
  pending: "grey",
  running: "blue",
  waiting: "grey",
  paused: "yellow",
  hospitalized: "magenta",
  completed: "green",
  failed: "red",
  cancelled: "yellow",
  killed: "red",
};
