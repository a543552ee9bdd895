// `signalbox top` with the sockets and the terminal of this host.

import { after, files, interruption, terminal } from "../shell/host.js";
import { reachProgram } from "../shell/reach.js";
import { hasScreen, openScreen } from "../shell/screen.js";
import { top } from "./top.js";

export const topProgram = (args: readonly string[]): Promise<number> =>
  top(args, {
    ...files,
    ...terminal(),
    ...{ after, interruption, reach: reachProgram },
    openScreen: hasScreen() ? openScreen : undefined,
  });
