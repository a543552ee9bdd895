// The arguments of `signalbox replay`.

import { Misuse, type Moments, parseArguments } from "../shell/arguments.js";

/** The arguments of `signalbox replay`. */
export interface ReplayArguments {
  readonly file: string;
  /** File to write the page to. */
  readonly html?: string;
  /** Shows the recorded steps only, and runs nothing. */
  readonly show?: true;
  readonly module?: string;
  readonly export?: string;
}

export const USAGE: string = `usage: signalbox replay FILE [--html OUT] [--show] [--module MODULE] [--export NAME]

Shows a failing schedule that explore has kept (option \`viewer\`). If the file says where its scenario is, or --module and
--export do, runs the schedule again and says whether it still fails in the same way.

  --html OUT        writes the schedule as a page for a browser
  --show            shows the recorded steps, and runs nothing
  --module MODULE   the module that exports the scenario
  --export NAME     the name of the export
  --help            shows this text

exit codes: 0 shown, or the schedule passes now; 1 it still fails in the same way; 2 wrong arguments, or a file or module
that cannot be used; 3 it fails in another way, or does not fit the scenario any more`;

const OPTIONS = {
  html: { value: "OUT", help: "writes the schedule as a page for a browser" },
  show: { help: "shows the recorded steps, and runs nothing" },
  module: { value: "MODULE", help: "the module that exports the scenario" },
  export: { value: "NAME", help: "the name of the export" },
} as const;

/** @throws Misuse, with the usage */
export function parseReplay(args: readonly string[], clock: Moments): ReplayArguments | "help" {
  try {
    const asked = parseArguments(args, OPTIONS, {}, clock);
    if (asked === "help") return "help";
    const [file, ...rest] = asked.words;
    if (file === undefined) throw new Misuse("replay needs a FILE");
    if (rest.length > 0) throw new Misuse(`replay takes one FILE, and not also ${rest.join(" ")}`);
    return { file, ...asked.given };
  } catch (error) {
    throw error instanceof Misuse ? new Misuse(`${error.message}\n${USAGE}`) : error;
  }
}
