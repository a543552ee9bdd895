// The command line of `npm run chaos:flows`.

import { parseArgs } from "node:util";

export interface ChaosOptions {
  readonly kills: number;
  readonly seed: number;
  readonly store: "sqlite" | "postgres";
  /** How many hosts share the store: more than one on PostgreSQL alone. */
  readonly hosts: number;
  /** Kills at every point that the flows of one plan pass, instead of at random. */
  readonly everyPoint: boolean;
}

export const CHAOS_USAGE =
  "npm run chaos:flows -- [--kills N] [--seed N] [--store sqlite|postgres] [--hosts 1|2] [--every-point]";

/** What was given on the command line cannot be meant. */
export class ChaosUsageError extends Error {
  readonly code = "CHAOS_USAGE";
  constructor(problem: string) {
    super(`${problem}; usage: ${CHAOS_USAGE}`);
  }
}

/** @throws ChaosUsageError in one line */
export function readChaosOptions(args: readonly string[]): ChaosOptions {
  const { kills, seed, store, hosts, ...rest } = parse(args);
  if (store !== "sqlite" && store !== "postgres")
    throw new ChaosUsageError(`--store is ${store}; it has to be sqlite or postgres`);
  if (hosts !== "1" && hosts !== "2") throw new ChaosUsageError(`--hosts is ${hosts}; it has to be 1 or 2`);
  if (hosts === "2" && store === "sqlite")
    throw new ChaosUsageError("a SQLite file has one host; two need --store postgres");
  if (rest["every-point"] && store === "postgres")
    throw new ChaosUsageError("--every-point takes a new store for each kill: --store sqlite");
  return {
    kills: whole("kills", kills, 1),
    seed: whole("seed", seed, 0),
    store,
    hosts: Number(hosts),
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
        store: { type: "string", default: "sqlite" },
        hosts: { type: "string", default: "1" },
        "every-point": { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    const [problem = ""] = (error as Error).message.split(/\.\s|\n/);
    throw new ChaosUsageError(problem);
  }
}
