// What befalls the hosts of a kill test, how often, and when.

import { STORE_DEFAULTS } from "../../lib/store/limits.js";
import type { Random } from "../../lib/testing/kit/random.js";

/** How often what strikes. */
export interface Strikes {
  /** SIGKILLs of a host. */
  readonly kills: number;
  /** SIGSTOPs of a host, with a SIGCONT when its claim has expired. */
  readonly stops: number;
  /** Restarts of the server that the hosts share. */
  readonly restarts: number;
}

/** A claim that no clock takes back needs no longer stop than this, in milliseconds. */
const STOP_MS = 500;

/** How much longer than a lease a stop lasts: at least, and at most. */
const BEYOND = [1.1, 1.5] as const;

/** How long a host stands still: longer than its claim holds, if it has one that expires. */
export function stopMsOf(random: Random, leased: "leased" | "locked", leaseMs: number | undefined): number {
  if (leased === "locked") return random.unit() * STOP_MS;
  const [least, most] = BEYOND;
  return leaseOf(leaseMs) * (least + random.unit() * (most - least));
}

/** How long a claim holds: as asked for, or by default. */
export function leaseOf(leaseMs: number | undefined): number {
  return leaseMs ?? STORE_DEFAULTS.claimTtlMs;
}

/** How many of a total fall to one step, if they are spread evenly over all steps. */
export function shareOf(total: number, step: number, steps: number): number {
  return Math.floor(((step + 1) * total) / steps) - Math.floor((step * total) / steps);
}

/** What struck besides kills, for the end of the closing line. Nothing, if only kills did. */
export function besides({ stops, restarts, cuts = 0 }: Strikes & { readonly cuts?: number }): string {
  const told = [
    [stops, "stops"],
    [restarts, "server restarts"],
    [cuts, "cuts"],
  ] as const;
  return told.flatMap(([count, what]) => (count === 0 ? [] : [`, ${count} ${what}`])).join("");
}
