// `signalbox observe` with the sockets, stores and terminal of this host.

import { files, interruption, terminal } from "../shell/host.js";
import { findObserved } from "./find.js";
import { observe } from "./observe.js";
import { serve } from "./server.js";

export const observeProgram = (args: readonly string[]): Promise<number> =>
  observe(args, {
    ...files,
    ...terminal(),
    ...{ interruption, serve },
    find: (at, system) => findObserved(at, system, (text) => files.complain(`signalbox: ${text}`)),
  });
