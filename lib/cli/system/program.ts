// `signalbox system` with the sockets and the terminal of this host.

import { files, terminal } from "../shell/host.js";
import { reachProgram } from "../shell/reach.js";
import { system } from "./system.js";

export const systemProgram = (args: readonly string[]): Promise<number> =>
  system(args, {
    ...files,
    ...terminal(),
    reach: reachProgram,
  });
