// The colours of the statuses of flows.

import type { FlowStatus } from "../../flow/operations/operations.js";
import { type Colour, type Style, styleOf } from "../shell/style.js";

const COLOURS: Readonly<Record<FlowStatus, Colour>> = {
  ...{ pending: "grey", running: "blue", waiting: "grey", paused: "yellow", hospitalized: "magenta" },
  ...{ completed: "green", failed: "red", cancelled: "yellow", killed: "red" },
};

/** @param colours - whether the texts go to a terminal that wants colours */
export function flowStyle(colours: boolean): Style<FlowStatus> {
  return styleOf(colours, COLOURS);
}
