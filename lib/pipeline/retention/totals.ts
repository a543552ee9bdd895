// What remains of the history of an execution: one line for each route. Pure.

import type { LineageEntry } from "../ledger/lineage.js";

/** What a route did in an execution whose history was summed up. */
export interface RouteTotals {
  /** The name of the route. */
  readonly route: string;
  /** Messages that it has settled, dead letters included. */
  readonly in: number;
  /** Messages that it has published. */
  readonly out: number;
  /** Messages that became dead letters. */
  readonly dead: number;
  /** Milliseconds that its adapters took for them, in the attempts that ended them. */
  readonly tookMs: number;
  /** The longest time of one message. */
  readonly longestMs: number;
}

type Sums = { -readonly [K in keyof RouteTotals]: RouteTotals[K] };

/** Adds entries up by route. */
export class Totals {
  readonly #routes = new Map<string, Sums>();

  add({ route, status, children, calls }: LineageEntry): void {
    // No route took it.
    if (route === "") return;
    const sums = this.#routes.get(route) ?? { route, in: 0, out: 0, dead: 0, tookMs: 0, longestMs: 0 };
    this.#routes.set(route, sums);
    const tookMs = calls.reduce((sum, call) => sum + call.tookMs, 0);
    sums.in++;
    sums.out += children;
    if (status === "dead") sums.dead++;
    sums.tookMs += tookMs;
    sums.longestMs = Math.max(sums.longestMs, tookMs);
  }

  /** By the names of the routes. */
  get routes(): readonly RouteTotals[] {
    return [...this.#routes.values()].sort((a, b) => (a.route < b.route ? -1 : 1));
  }
}
