// The command line: options, their defaults, and errors.

import { FLAG, HELP_FLAG, parsed, TEXT, whole } from "../flights/command-line.js";
import { InputError } from "../flights/input-error.js";

export interface Options {
  /** Paths, or `-` for standard input; empty for the Markdown files of the installed packages. */
  readonly files: readonly string[];
  /** The highest number of lines to read. */
  readonly limit: number;
  /** Tasks of the bolt that counts. */
  readonly counters: number;
  /** Lines from one kill to the next, on average; 0 for no kills. */
  readonly killEvery: number;
  readonly dedupe: boolean;
  readonly seed: number;
}

const DEFAULTS = { limit: 50_000, counters: 4, killEvery: 100, seed: 1 } as const;
const MOST_COUNTERS = 100;
const OPTIONS = {
  files: { type: "string", multiple: true },
  ...{ limit: TEXT, counters: TEXT, "kill-every": TEXT, seed: TEXT },
  ...{ dedupe: FLAG, "no-dedupe": FLAG, help: HELP_FLAG },
} as const;

export const HELP: string = `npm run wordcount -- [options] [FILE…]

Counts the words of text with a topology whose tasks are killed at random all the while,
and checks the counts against a straight count of the same text.

  FILE…, --files FILE…
                   the text; - for standard input (default: Markdown of the installed packages)
  --limit N        lines to read at most, 0 for all (default: ${DEFAULTS.limit}; of files that are named, all)
  --kill-every N   a task is killed every N lines on average, 0 for never (default: ${DEFAULTS.killEvery})
  --counters N     tasks that count (default: ${DEFAULTS.counters})
  --no-dedupe      a line that comes again after a kill is counted again
  --dedupe         a word is counted once, however often its line comes (this is the default)
  --seed N         seeds the choice of when and whom to kill (default: ${DEFAULTS.seed})
  --help           this text

Exit code: 0 when the counts are exact, or, without dedupe, no word is lost; 1 when not;
2 when an option or a file is wrong.
`;

/** @throws InputError */
export function parseOptions(args: readonly string[]): Options | "help" {
  const { values, positionals } = parsed({ args: [...args], options: OPTIONS, allowPositionals: true });
  if (values.help === true) return "help";
  if (values.dedupe === true && values["no-dedupe"] === true)
    throw new InputError("--dedupe and --no-dedupe exclude each other");
  const files = [...(values.files ?? []), ...positionals];
  if (files.includes("")) throw new InputError("a file's name is empty");
  if (files.filter((file) => file === "-").length > 1)
    throw new InputError("standard input can be read once: - is given more than once");
  const standardLimit = files.length === 0 ? DEFAULTS.limit : 0;
  return {
    files,
    limit: (whole("--limit", values.limit, 0) ?? standardLimit) || Number.POSITIVE_INFINITY,
    counters: whole("--counters", values.counters, 1, MOST_COUNTERS) ?? DEFAULTS.counters,
    killEvery: whole("--kill-every", values["kill-every"], 0) ?? DEFAULTS.killEvery,
    dedupe: values["no-dedupe"] !== true,
    seed: whole("--seed", values.seed, 0) ?? DEFAULTS.seed,
  };
}
