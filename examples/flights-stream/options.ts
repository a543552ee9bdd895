// The command line: options, their defaults, and errors.

import { HELP_FLAG, parsed, TEXT, whole } from "../flights/command-line.js";
import { InputError } from "../flights/input-error.js";
import type { Plan } from "./stream.js";

export interface Options extends Plan {
  /** Undefined for the flights of vega-datasets. */
  readonly file: string | undefined;
}

const DEFAULTS = { window: 24, every: 6, top: 10, tasks: 2 } as const;
const HOUR_MS = 3_600_000;
/** Hours: 31 days. */
const LONGEST_WINDOW = 744;
const LONGEST_TABLE = 100;
const MOST_TASKS = 16;
const OPTIONS = { file: TEXT, window: TEXT, every: TEXT, top: TEXT, tasks: TEXT, help: HELP_FLAG };

export const HELP: string = `npm run flights-stream -- [options]

Streams the flights of a file, in the order of their dates, through windows of time: the delay of each
hour at each airport, and the routes with the most flights. Checks all of it against a straight loop.

  --file FILE      JSON, an array of { date, delay, origin, destination }
                   (default: 20,000 flights of vega-datasets)
  --window HOURS   routes are counted over so many hours (default: ${DEFAULTS.window}) ...
  --every HOURS    ... at each multiple of so many (default: ${DEFAULTS.every})
  --top N          how many routes are listed (default: ${DEFAULTS.top})
  --tasks N        tasks that each kind of windows is divided among (default: ${DEFAULTS.tasks})
  --help           this text

Exit code: 0 when all windows are right, 1 when not, 2 when an option or the file is wrong.
`;

/** @throws InputError */
export function parseOptions(args: readonly string[]): Options | "help" {
  const { values } = parsed({ args: [...args], options: OPTIONS });
  if (values.help === true) return "help";
  const window = whole("--window", values.window, 1, LONGEST_WINDOW) ?? DEFAULTS.window;
  const every = whole("--every", values.every, 1, LONGEST_WINDOW) ?? Math.min(DEFAULTS.every, window);
  if (every > window)
    throw new InputError(
      `--every is ${every}, expected at most ${window}, or flights fall between two windows`,
    );
  return {
    file: values.file,
    windowMs: window * HOUR_MS,
    everyMs: every * HOUR_MS,
    top: whole("--top", values.top, 1, LONGEST_TABLE) ?? DEFAULTS.top,
    tasks: whole("--tasks", values.tasks, 1, MOST_TASKS) ?? DEFAULTS.tasks,
  };
}
