// What a route has done since its host took the execution up, and how fast it goes while somebody looks.
//
//     always            two counters: messages that were settled, and those that were given up
//     while looked at   the latency of the last 512 attempts, and to which queues results went
//
// A look pays for the next 100,000 attempts. So nothing is measured when nobody looks, no timer ends that, and however fast a route is, a
// look that comes once a second has measured enough.

import type { Publication } from "../ledger/ledger.js";
import type { CallRecord } from "../ledger/lineage.js";
import type { RouteRates } from "../operations/figures.js";

/** The limits of what is measured. */
export const METER_LIMITS: {
  /** Attempts that are measured after a look. */
  readonly attempts: number;
  /** The percentiles are those of so many last attempts. */
  readonly latencies: number;
  /** Rates are those of the looks in so many last milliseconds. */
  readonly windowMs: number;
  /** Most looks that are remembered. */
  readonly looks: number;
} = { attempts: 100_000, latencies: 512, windowMs: 10_000, looks: 64 };

interface Look {
  readonly at: number;
  readonly left: number;
  readonly measured: number;
  readonly to: ReadonlyMap<string, number>;
}

const NONE: ReadonlyMap<string, number> = new Map();

export class RouteMeter {
  #done = 0;
  #failed = 0;
  /** So many further attempts are measured. */
  #budget = 0;
  /** A ring. */
  #tookMs: Float64Array | undefined;
  #took = 0;
  /** Messages whose results were counted by queue. */
  #measured = 0;
  readonly #to = new Map<string, number>();
  readonly #looks: Look[] = [];

  /** So many messages are settled, with these results. */
  settled(
    messages: number,
    calls: readonly CallRecord[] | undefined,
    children: readonly Publication[],
  ): void {
    this.#done += messages;
    if (this.#budget > 0) this.#measure(messages, calls, children);
  }

  /** A message is given up. */
  gaveUp(): void {
    this.#failed++;
  }

  #measure(
    messages: number,
    calls: readonly CallRecord[] | undefined,
    children: readonly Publication[],
  ): void {
    this.#budget--;
    this.#measured += messages;
    for (const { queue } of children) this.#to.set(queue, (this.#to.get(queue) ?? 0) + 1);
    if (calls === undefined || calls.length === 0) return;
    let tookMs = 0;
    for (const call of calls) tookMs += call.tookMs;
    this.#tookMs ??= new Float64Array(METER_LIMITS.latencies);
    this.#tookMs[this.#took++ % METER_LIMITS.latencies] = tookMs;
  }

  /** @param at - milliseconds of a clock that does not step back */
  look(at: number): RouteRates {
    const left = this.#done + this.#failed;
    const looks = this.#looks;
    // A look of long ago says nothing about how fast it goes now.
    while (looks.length > 0 && at - (looks[0] as Look).at > METER_LIMITS.windowMs) looks.shift();
    const [first] = looks;
    if (looks.length === 0) this.#forget();
    const perS =
      first === undefined || at <= first.at ? undefined : ((left - first.left) * 1_000) / (at - first.at);
    const rates: RouteRates = {
      done: this.#done,
      failed: this.#failed,
      perS,
      p50Ms: this.#percentile(0.5),
      p99Ms: this.#percentile(0.99),
      to: first === undefined || perS === undefined ? NONE : this.#toPerS(first, perS),
    };
    if (looks.length < METER_LIMITS.looks)
      looks.push({ at, left, measured: this.#measured, to: new Map(this.#to) });
    this.#budget = METER_LIMITS.attempts;
    return rates;
  }

  /** Latencies that were measured before a pause of the looks are too old. */
  #forget(): void {
    this.#took = 0;
  }

  /** Nearest rank, of the attempts that are remembered. */
  #percentile(share: number): number | undefined {
    const count = Math.min(this.#took, METER_LIMITS.latencies);
    if (this.#tookMs === undefined || count === 0) return undefined;
    const sorted = this.#tookMs.slice(0, count).sort();
    return sorted[Math.max(0, Math.ceil(share * count) - 1)];
  }

  /** Where more messages passed than were measured, the others are taken to go where those went. */
  #toPerS(first: Look, perS: number): ReadonlyMap<string, number> {
    const measured = this.#measured - first.measured;
    if (measured === 0) return NONE;
    const rates = [...this.#to].map(([queue, count]): readonly [string, number] => [
      queue,
      ((count - (first.to.get(queue) ?? 0)) / measured) * perS,
    ]);
    return new Map(rates);
  }
}
