// The command line: what may be asked for, what it is when it is not, and what is wrong with it.

import { HELP_FLAG, parsed, TEXT, whole } from "./command-line.js";

export interface Options {
  /** The flights of vega-datasets when undefined. */
  readonly file: string | undefined;
  /** Flights from one kill to the next, on average. */
  readonly killEvery: number;
  readonly workers: number;
  readonly seed: number;
}

const DEFAULTS = { killEvery: 200, workers: 8, seed: 1 } as const;
const MOST_WORKERS = 100;
const OPTIONS = { file: TEXT, "kill-every": TEXT, workers: TEXT, seed: TEXT, help: HELP_FLAG };

export const HELP: string = `npm start -- [options]

Dispatches every flight of a file to supervised workers that are killed at random all the while,
and checks that each was counted exactly once.

  --file FILE      JSON, an array of { delay, distance, time } (default: 200,000 flights of vega-datasets)
  --kill-every N   a worker is killed every N flights on average (default: ${DEFAULTS.killEvery})
  --workers N      how many workers (default: ${DEFAULTS.workers})
  --seed N         seeds the choice of when and whom to kill (default: ${DEFAULTS.seed})
  --help           this text

Exit code: 0 when every flight was counted exactly once, 1 when not, 2 when an option or the file is wrong.
`;

/** @throws InputError */
export function parseOptions(args: readonly string[]): Options | "help" {
  const { values } = parsed({ args: [...args], options: OPTIONS });
  if (values.help === true) return "help";
  return {
    file: values.file,
    killEvery: whole("--kill-every", values["kill-every"], 1) ?? DEFAULTS.killEvery,
    workers: whole("--workers", values.workers, 1, MOST_WORKERS) ?? DEFAULTS.workers,
    seed: whole("--seed", values.seed, 0) ?? DEFAULTS.seed,
  };
}
