// `signalbox system` with the sockets and the terminal of this host.

import { files, terminal } from "../shell/host.js";
import { hostAt, hostOf } from "../shell/reach.js";
import { system } from "./system.js";

export const systemProgram = (args: readonly string[]): Promise<number> =>
  system(args, {
    ...files,
    ...terminal(),
    reach: (at) => ("store" in at ? hostOf(at.store) : hostAt(at.socket)),
  });
