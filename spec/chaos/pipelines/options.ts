// The command line of `npm run chaos:pipelines`.

import { parseArgs } from "node:util";

export interface ChaosOptions {
  readonly kills: number;
  readonly seed: number;
  /** `sqlite` and `postgres`: the store's tables are the queues. `jetstream`: a broker, beside PostgreSQL. Three hosts share these two. */
  readonly queue: "sqlite" | "postgres" | "jetstream";
  /** Kills at every point that the inputs of one run pass, instead of at random. */
  readonly everyPoint: boolean;
}

export const CHAOS_USAGE =
  "npm run chaos:pipelines -- [--kills N] [--seed N] [--queue sqlite|postgres|jetstream] [--every-point]";

/** What was given on the command line cannot be meant. */
export class ChaosUsageError extends Error {
  readonly code = "CHAOS_USAGE";
  constructor(problem: string) {
    super(`${problem}; usage: ${CHAOS_USAGE}`);
  }
}

/** @throws ChaosUsageError in one line */
export function readChaosOptions(args: readonly string[]): ChaosOptions {
  const { kills, seed, queue, ...rest } = parse(args);
  if (queue !== "sqlite" && queue !== "postgres" && queue !== "jetstream")
    throw new ChaosUsageError(`--queue is ${queue}; it has to be sqlite, postgres or jetstream`);
  if (rest["every-point"] && queue !== "sqlite")
    throw new ChaosUsageError("--every-point takes a new store for each kill: --queue sqlite");
  return {
    kills: whole("kills", kills, 1),
    seed: whole("seed", seed, 0),
    queue,
    everyPoint: rest["every-point"],
  };
}

function whole(name: string, value: string, least: number): number {
  const number = Number(value);
  if (!/^\d+$/.test(value) || !Number.isSafeInteger(number) || number < least)
    throw new ChaosUsageError(`--${name} is ${value}; it has to be a whole number, ${least} or more`);
  return number;
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        kills: { type: "string", default: "100" },
        seed: { type: "string", default: "1" },
        queue: { type: "string", default: "sqlite" },
        "every-point": { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    const [problem = ""] = (error as Error).message.split(/\.\s|\n/);
    throw new ChaosUsageError(problem);
  }
}
