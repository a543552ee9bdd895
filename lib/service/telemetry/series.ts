// Counters, gauges and histograms with labels, of which there is a bounded number.

import { type Instrument, pageName, pageUnit } from "./instruments.js";
import { MAX_LABELS, OTHER } from "./options.js";

/** A number that only grows. */
export class Counter {
  value = 0;
}

/** A number that goes up and down. */
export class Gauge {
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

/** The head of a family on a page. */
export interface FamilyHead {
  /** As the page has it, units and `_total` included. */
  readonly name: string;
  readonly kind: "counter" | "gauge" | "histogram";
  /** `seconds`, `bytes` and so on; "" if the name ends with none. */
  readonly unit: string;
  readonly help: string;
  readonly labels: readonly string[];
  /** Most series, beside the one of all others. Default {@link MAX_LABELS}. */
  readonly maxSeries?: number | undefined;
}

/** All series of one metric: one for each combination of its labels. */
export class Family<S> {
  readonly head: FamilyHead;
  readonly #make: () => S;
  /** Series other than the one for all that came too late. */
  #named = 0;
  readonly #series = new Map<string, { readonly values: readonly string[]; readonly of: S }>();

  constructor(head: FamilyHead, make: () => S) {
    this.head = head;
    this.#make = make;
  }

  /**
   * The series with these values. Of very many combinations, those that come last share one series, whose values are all `other`.
   */
  of(...values: readonly string[]): S {
    const key = values.join(SEPARATOR);
    const known = this.#series.get(key);
    if (known !== undefined) return known.of;
    const isNamed = values.some((value) => value !== OTHER);
    if (isNamed && this.#named >= (this.head.maxSeries ?? MAX_LABELS))
      return this.of(...values.map(() => OTHER));
    if (isNamed) this.#named++;
    const of = this.#make();
    this.#series.set(key, { values, of });
    return of;
  }

  /** In the order in which they came. */
  [Symbol.iterator](): Iterator<{ readonly values: readonly string[]; readonly of: S }> {
    return this.#series.values();
  }
}

/** The head of an instrument's family. */
export function headOf(instrument: Instrument): FamilyHead {
  const { kind, unit, help, maxSeries } = instrument;
  const labels = instrument.labels.map((label) => label.replaceAll(".", "_"));
  return { name: pageName(instrument), kind, unit: pageUnit(unit), help, labels, maxSeries };
}

/** No label contains it, so that two combinations never have the same key. */
const SEPARATOR = "\u0000";
