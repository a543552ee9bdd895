// The command `signalbox flows` as a terminal has it, with what it prints kept.

import { flows } from "../../../lib/cli/flows/flows.js";
import { reach, reachStore } from "../../../lib/cli/flows/reach.js";
import { type Ran, ran } from "./ran.js";

export function runCommand(...args: readonly string[]): Promise<Ran> {
  return ran(flows, args, (complain) => ({
    open: (store, payloads) => reach(store, complain, payloads),
    openStore: (store) => reachStore(store, complain),
  }));
}
