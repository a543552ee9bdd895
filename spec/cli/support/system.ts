// The command `signalbox system` as a terminal has it, with what it prints kept.

import { reachProgram } from "../../../lib/cli/shell/reach.js";
import { type SystemHost, system } from "../../../lib/cli/system/system.js";
import { type Ran, ran } from "./ran.js";

export function runSystem(...args: readonly string[]): Promise<Ran> {
  return ran<SystemHost>(system, args, () => ({ reach: reachProgram }));
}
