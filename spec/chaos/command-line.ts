// What both kill tests share of their command lines: how often something strikes, and how a wrong option is refused.

import { parseArgs } from "node:util";
import type { Strikes } from "./strikes.js";

/** What was given on the command line cannot be meant. */
export class ChaosUsageError extends Error {
  readonly code = "CHAOS_USAGE";
  constructor(problem: string, usage: string) {
    super(`${problem}; usage: ${usage}`);
  }
}

/** The options of both commands. */
export interface SharedOptions extends Strikes {
  readonly seed: number;
  /** How many hosts share the store. */
  readonly hosts: number;
  /** How long a claim holds without renewal. Undefined: as long as it does by default. */
  readonly leaseMs: number | undefined;
  /** Kills at every point that one plan passes, instead of at random. */
  readonly everyPoint: boolean;
}

/** In both usages. */
export const SHARED_USAGE =
  "[--kills N] [--stops N] [--server-restarts N] [--hosts N] [--lease-ms N] [--seed N] [--every-point]";

const MOST_HOSTS = 16;
const LEAST_LEASE_MS = 500;

const SHARED = {
  kills: { type: "string", default: "100" },
  stops: { type: "string", default: "0" },
  "server-restarts": { type: "string", default: "0" },
  hosts: { type: "string" },
  "lease-ms": { type: "string" },
  seed: { type: "string", default: "1" },
  "every-point": { type: "boolean", default: false },
} as const;

/** Reads the options of one command. */
export class CommandLine {
  private readonly values: Readonly<Record<string, unknown>>;
  private readonly usage: string;
  private readonly places: string;

  /** @param places - the option that says where things are kept. @param own - the options that this command alone has, each with its default. @throws ChaosUsageError */
  constructor(args: readonly string[], usage: string, places: string, own: Readonly<Record<string, string>>) {
    this.usage = usage;
    this.places = places;
    const options = Object.entries(own).map(([name, standard]) => [
      name,
      { type: "string" as const, default: standard },
    ]);
    try {
      this.values = parseArgs({
        args: [...args],
        options: { ...SHARED, ...Object.fromEntries(options) },
      }).values;
    } catch (error) {
      const [problem = ""] = (error as Error).message.split(/\.\s|\n/);
      throw this.wrong(problem);
    }
  }

  /** @param isShared - whether a server keeps the store, so that several hosts can share it. @throws ChaosUsageError */
  shared(isShared: boolean, hosts: number): SharedOptions {
    const read: SharedOptions = {
      kills: this.whole("kills", 1),
      stops: this.whole("stops", 0),
      restarts: this.whole("server-restarts", 0),
      seed: this.whole("seed", 0),
      hosts: this.values.hosts === undefined ? hosts : this.whole("hosts", 1, MOST_HOSTS),
      leaseMs: this.values["lease-ms"] === undefined ? undefined : this.whole("lease-ms", LEAST_LEASE_MS),
      everyPoint: this.values["every-point"] === true,
    };
    if (!isShared && read.hosts > 1)
      throw this.wrong("a SQLite file has one host; more need a server, such as PostgreSQL");
    if (!isShared && read.restarts > 0)
      throw this.wrong("SQLite has no server that --server-restarts could restart");
    if (!isShared && read.leaseMs !== undefined)
      throw this.wrong("the claim of a SQLite file is a lock, which has no --lease-ms");
    if (read.everyPoint && isShared)
      throw this.wrong(`--every-point takes a new store for each kill: --${this.places} sqlite`);
    if (read.everyPoint && read.stops > 0) throw this.wrong("--every-point kills, and has no --stops");
    return read;
  }

  one<const T extends string>(name: string, allowed: readonly T[]): T {
    const value = this.values[name];
    const found = allowed.find((one) => one === value);
    if (found === undefined)
      throw this.wrong(`--${name} is ${value}; it has to be one of ${allowed.join(", ")}`);
    return found;
  }

  whole(name: string, least: number, most: number = Number.MAX_SAFE_INTEGER): number {
    const value = String(this.values[name]);
    const number = Number(value);
    if (/^\d+$/.test(value) && number >= least && number <= most) return number;
    const range = most === Number.MAX_SAFE_INTEGER ? `${least} or more` : `from ${least} to ${most}`;
    throw this.wrong(`--${name} is ${value}; it has to be a whole number, ${range}`);
  }

  wrong(problem: string): ChaosUsageError {
    return new ChaosUsageError(problem, this.usage);
  }
}
