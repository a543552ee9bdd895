// The command line of the benchmarks.

import { parseArgs } from "node:util";
import type { Entry } from "./catalogue.js";

export interface BenchOptions {
  /** Programs to run; all unless given. */
  readonly only: readonly string[] | undefined;
  /** Fewer rounds, and no long programs but those named. */
  readonly quick: boolean;
  /** Where to write the results as JSON. */
  readonly json: string | undefined;
  /** A revision that git knows: measure against the library of that time, not against other systems. */
  readonly compare: string | undefined;
}

export const USAGE = "npm run bench -- [--only NAME[,NAME]] [--quick] [--json FILE] [--compare REV]";

/** What was given on the command line cannot be meant. */
export class UsageError extends Error {
  readonly code = "BENCH_USAGE";
}

/** @throws UsageError in one line */
export function readOptions(args: readonly string[], names: readonly string[]): BenchOptions {
  const { only, quick, json, compare } = parse(args);
  const wanted = only?.split(",");
  const unknown = wanted?.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new UsageError(`no program is called "${unknown}"; there are ${names.join(", ")}`);
  if (json === "") throw new UsageError(`--json needs a file; usage: ${USAGE}`);
  if (compare === "") throw new UsageError(`--compare needs a revision; usage: ${USAGE}`);
  return { only: wanted, quick: quick ?? false, json, compare };
}

/** Whether a program is to run. */
export function isWanted({ name, long }: Entry, { only, quick }: BenchOptions): boolean {
  return only === undefined ? !(quick && long) : only.includes(name);
}

function parse(args: readonly string[]): { only?: string; quick?: boolean; json?: string; compare?: string } {
  try {
    return parseArgs({
      args: [...args],
      options: {
        only: { type: "string" },
        quick: { type: "boolean" },
        json: { type: "string" },
        compare: { type: "string" },
      },
    }).values;
  } catch (error) {
    const [problem] = (error as Error).message.split(/\.\s|\n/);
    throw new UsageError(`${problem}; usage: ${USAGE}`);
  }
}
