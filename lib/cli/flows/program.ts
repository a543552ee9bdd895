// `signalbox flows` with the files, modules and terminal of this host.

import { files, terminal } from "../shell/host.js";
import { flows } from "./flows.js";
import { reach, reachStore } from "./reach.js";

export const flowsProgram = (args: readonly string[]): Promise<number> =>
  flows(args, {
    ...files,
    ...terminal(),
    openStore: (store) => reachStore(store, (text) => files.complain(`signalbox: ${text}`)),
    open: (store, payloads) => reach(store, (text) => files.complain(`signalbox: ${text}`), payloads),
  });
