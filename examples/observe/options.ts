// The command line: what may be asked for, and what it is when it is not.

import { FLAG, HELP_FLAG, parsed, TEXT, whole } from "../flights/command-line.js";

export interface Options {
  /** Port of the observer; 0 for any. */
  readonly port: number;
  /** Rounds of each part. Undefined: until somebody ends it. */
  readonly rounds: number | undefined;
  /** Milliseconds between two kills in the shop; the hosts of flows and pipelines are killed a tenth as often. */
  readonly chaos: number;
  /** How much a round is, 1 to 100. */
  readonly size: number;
  /** Nobody is to change anything from the page. */
  readonly readOnly: boolean;
}

const DEFAULTS = { port: 4000, chaos: 500, size: 100 } as const;
const OPTIONS = {
  ...{ port: TEXT, rounds: TEXT, chaos: TEXT, size: TEXT, "read-only": FLAG, help: HELP_FLAG },
} as const;

export const HELP: string = `npm run observe -- [options]

Runs flights, a shop, a checkout and bird strikes in one program, kills their processes all the time, and opens the
observer: the first line is its address. Ctrl-C ends it, and then every sum has to be exact.

  --port N       the port of the observer (default: ${DEFAULTS.port}; 0 for any)
  --rounds N     ends by itself after N rounds of each part (default: goes on until Ctrl-C)
  --chaos MS     a process of the shop is killed this often (default: ${DEFAULTS.chaos})
  --size N       how large a round is, 1 to 100 (default: ${DEFAULTS.size})
  --read-only    the page only shows, and changes nothing
  --help         this text

Exit code: 0 when all sums are exact, 1 when not, 2 when an option is wrong.
`;

/** @throws InputError */
export function parseOptions(args: readonly string[]): Options | "help" {
  const { values } = parsed({ args: [...args], options: OPTIONS });
  if (values.help === true) return "help";
  return {
    port: whole("--port", values.port, 0, 65_535) ?? DEFAULTS.port,
    rounds: whole("--rounds", values.rounds, 1),
    chaos: whole("--chaos", values.chaos, 10) ?? DEFAULTS.chaos,
    size: whole("--size", values.size, 1, 100) ?? DEFAULTS.size,
    readOnly: values["read-only"] === true,
  };
}
