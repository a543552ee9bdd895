// `signalbox replay` with the files, modules and terminal of this host.

import { files, terminal } from "../shell/host.js";
import { replay } from "./command.js";

export const replayProgram = (args: readonly string[]): Promise<number> =>
  replay(args, {
    ...files,
    ...terminal(),
    replay: async (scenario, options, token) => {
      // Loaded only here: it needs fast-check, and takes hold of the host.
      const { explore } = await import("../../testing/exploration/explore.js");
      return explore(scenario, { ...options, replay: token }).then(
        () => undefined,
        (error: unknown) => error,
      );
    },
  });
