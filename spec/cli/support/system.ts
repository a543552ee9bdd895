// The command `signalbox system` as a terminal has it, with what it prints kept.

import { hostAt, hostOf } from "../../../lib/cli/shell/reach.js";
import { type SystemHost, system } from "../../../lib/cli/system/system.js";
import { type Ran, ran } from "./ran.js";

const reach: SystemHost["reach"] = (at) => ("store" in at ? hostOf(at.store) : hostAt(at.socket));

export function runSystem(...args: readonly string[]): Promise<Ran> {
  return ran<SystemHost>(system, args, () => ({ reach }));
}
