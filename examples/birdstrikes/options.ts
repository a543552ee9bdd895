// The command line: what may be asked for, what it is when it is not, and what is wrong with it.

import { FLAG, HELP_FLAG, parsed, TEXT, whole } from "../flights/command-line.js";
import { InputError } from "../flights/input-error.js";

export interface Options {
  /** How often the process of the pipeline is killed. */
  readonly kills: number;
  readonly seed: number;
  /** Only the first records of the file. */
  readonly limit: number;
  /** The folder for input, jobs and report. Undefined: one that is removed at the end. */
  readonly store: string | undefined;
  /** The result as JSON, and nothing else. */
  readonly json: boolean;
}

const DEFAULTS = { kills: 3, seed: 1 } as const;
const MOST_KILLS = 1_000;
const OPTIONS = {
  ...{ kills: TEXT, seed: TEXT, limit: TEXT, store: TEXT },
  ...{ json: FLAG, help: HELP_FLAG },
};

export const HELP: string = `npm run birdstrikes -- [options]

Reads 10,000 real bird strikes (FAA, from vega-datasets) through a pipeline: parse, validate, enrich with
the airports, statistics by batches, report in SQLite. Damaged lines are put among them. The process of the
pipeline is killed with SIGKILL, started again, and goes on. At the end the report has to hold what a
straight computation over the file gives, and the dead letters everything else.

  --kills N        how often the process is killed (default: ${DEFAULTS.kills})
  --seed N         seeds when it is killed, and where the damaged lines are (default: ${DEFAULTS.seed})
  --limit N        only the first N records (default: all)
  --store FOLDER   keeps jobs.db, report.db and strikes.csv in this new folder (default: removed at the end)
  --json           prints the result as one JSON document, and nothing else
  --help           this text

Exit code: 0 when all totals are equal, 1 when not, 2 when an option is wrong.
`;

/** @throws InputError */
export function parseOptions(args: readonly string[]): Options | "help" {
  const { kills, seed, limit, store, json, help } = parsed({ args: [...args], options: OPTIONS }).values;
  if (help === true) return "help";
  if (store === "") throw new InputError("--store is empty, expected a folder");
  return {
    kills: whole("--kills", kills, 0, MOST_KILLS) ?? DEFAULTS.kills,
    seed: whole("--seed", seed, 0) ?? DEFAULTS.seed,
    limit: whole("--limit", limit, 1) ?? Number.POSITIVE_INFINITY,
    store,
    json: json === true,
  };
}
