// `signalbox pipelines` with the files, modules and terminal of this host.

import { draw, files, interruption, terminal } from "../shell/host.js";
import { sourceOf } from "../shell/reach.js";
import { pipelines } from "./pipelines.js";
import { reach } from "./reach.js";

export const pipelinesProgram = (args: readonly string[]): Promise<number> =>
  pipelines(args, {
    ...files,
    ...terminal(),
    draw,
    interruption,
    source: sourceOf,
    open: (store, known) => reach(store, (text) => files.complain(`signalbox: ${text}`), known),
  });
