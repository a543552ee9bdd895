// `signalbox queues` with the files, modules and terminal of this host.

import { files, terminal } from "../shell/host.js";
import { queues } from "./queues.js";
import { reach } from "./reach.js";

export const queuesProgram = (args: readonly string[]): Promise<number> =>
  queues(args, {
    ...files,
    ...terminal(),
    open: (store, payloads) => reach(store, (text) => files.complain(`signalbox: ${text}`), payloads),
  });
