// Counters and histograms with labels, of which there is a bounded number.

import { MAX_LABELS, OTHER } from "./options.js";

/** A number that only grows. */
export class Counter {
  value = 0;
}

/** How often values fell between fixed bounds. */
export class Histogram {
  /** Upper bounds, ascending. Values above the last one are in a bucket of their own, the last. */
  readonly bounds: readonly number[];
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] as number)) at++;
    counts[at] = (counts[at] as number) + 1;
    this.sum += value;
  }
}

/** All series of one metric: one for each combination of its labels. */
export class Family<S> {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  private readonly make: () => S;
  /** Series other than the one for all that came too late. */
  private named = 0;
  private readonly series = new Map<string, { readonly values: readonly string[]; readonly of: S }>();

  constructor(name: string, help: string, labels: readonly string[], make: () => S) {
    this.name = name;
    this.help = help;
    this.labels = labels;
    this.make = make;
  }

  /**
   * The series with these values. Of very many combinations, those that come last share one series, whose values are all `other`.
   */
  of(...values: readonly string[]): S {
    const key = values.join(SEPARATOR);
    const known = this.series.get(key);
    if (known !== undefined) return known.of;
    const isNamed = values.some((value) => value !== OTHER);
    if (isNamed && this.named >= MAX_LABELS) return this.of(...values.map(() => OTHER));
    if (isNamed) this.named++;
    const of = this.make();
    this.series.set(key, { values, of });
    return of;
  }

  /** In the order in which they came. */
  [Symbol.iterator](): Iterator<{ readonly values: readonly string[]; readonly of: S }> {
    return this.series.values();
  }
}

/** No label contains it, so that two combinations never have the same key. */
const SEPARATOR = "\u0000";
