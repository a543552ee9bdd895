// The command `signalbox flows` as a terminal has it, with what it prints kept.

import { flows } from "../../../lib/cli/flows/flows.js";
import { reach, reachStore } from "../../../lib/cli/flows/reach.js";
import { files, terminal } from "../../../lib/cli/shell/host.js";

export interface Ran {
  readonly code: number;
  readonly printed: string;
  readonly complaints: string;
}

export async function runCommand(...args: readonly string[]): Promise<Ran> {
  const [printed, complaints] = [[] as string[], [] as string[]];
  const complain = (text: string): void => void complaints.push(text);
  const code = await flows(args, {
    ...files,
    ...terminal(),
    print: (text) => void printed.push(text),
    complain,
    open: (store, payloads) => reach(store, complain, payloads),
    openStore: (store) => reachStore(store, complain),
  });
  return { code, printed: printed.join("\n"), complaints: complaints.join("\n") };
}
