// `signalbox storm COMMAND`: a topology on a cluster of Apache Storm.

import type { OptionSpecs } from "../shell/arguments.js";
import { runCommands } from "../shell/commands.js";
import { inContext } from "../shell/context.js";
import type { Colour } from "../shell/style.js";
import { CHECK } from "./check.js";
import { CHANGE } from "./cluster.js";
import type { StormHost, Weight } from "./context.js";
import { EXPORT } from "./export.js";
import { SUBMIT } from "./submit.js";

const COMMON = { json: { help: "prints one JSON document" } } as const satisfies OptionSpecs;

const ABOUT = `Takes a topology to a cluster of Apache Storm. MODULE is a module in JavaScript or TypeScript that exports the topology. The command bundles
and loads it, so the module must only define the topology, not start it. \`check\` and \`export\` need no Storm and no Java. The other
commands call the program of an installation of Storm.`;

const EXITS = `exit codes: 0 fine; 1 the answer is no: a part of the topology has no form in Storm, or Storm refuses, for instance a name that is taken;
2 wrong arguments, or a module, jar, Storm, Java or Nimbus that cannot be used; 130 and 143 interrupted by SIGINT or SIGTERM`;

const ANSWERS = /^ERR_STORM_EXPORT$/;

const COLOURS: Readonly<Record<Weight, Colour>> = { blocks: "red", differs: "yellow" };

/** Runs `signalbox storm` with these arguments. Resolves with the exit code. */
export function storm(args: readonly string[], host: StormHost): Promise<number> {
  return runCommands(
    {
      name: "storm",
      usage: "COMMAND … [--json]",
      about: ABOUT,
      exits: EXITS,
      common: COMMON,
      commands: { ...CHECK, ...EXPORT, ...SUBMIT, ...CHANGE },
      host,
      answers: ANSWERS,
      carryOut: ({ json }, run) =>
        inContext(
          { host, json, colours: COLOURS, open: () => Promise.reject(new Error("there is nothing to open")) },
          run,
        ),
    },
    args,
  );
}
