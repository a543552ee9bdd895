// All metrics of a page: families by name. Those of the library come into being when they are first counted.

import { OptionError } from "../../process/errors.js";
import type { Instrument, MetricSink } from "./instruments.js";
import { Counter, Family, type FamilyHead, Gauge, Histogram, headOf } from "./series.js";
import type { TakeGauge } from "./sources.js";

export type Metric = Family<Counter> | Family<Gauge> | Family<Histogram>;

export class MetricRegistry implements MetricSink {
  readonly #bounds: readonly number[];
  readonly #families = new Map<string, Metric>();
  readonly #ofInstruments = new Map<Instrument, Metric>();

  /** @param bounds - of the buckets of histograms that have none of their own, in seconds */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
  }

  counter(instrument: Instrument): Family<Counter> {
    return this.#instrument(instrument, (head) => new Family(head, () => new Counter()));
  }

  histogram(instrument: Instrument): Family<Histogram> {
    return this.#instrument(instrument, (head) => new Family(head, () => new Histogram(this.#bounds)));
  }

  count(instrument: Instrument, by: number, labels: readonly string[]): void {
    this.counter(instrument).of(...labels).value += by;
  }

  observe(instrument: Instrument, value: number, labels: readonly string[]): void {
    this.histogram(instrument)
      .of(...labels)
      .observe(value);
  }

  /** Adds a family of the user. @throws OptionError when the name is taken */
  add<F extends Metric>(family: F): F {
    const { name } = family.head;
    // OpenMetrics has a counter without its ending.
    const key = name.replace(/_total$/, "");
    if (this.#families.has(key))
      throw new OptionError("name", name, "a name that no other metric of the system has");
    this.#families.set(key, family);
    return family;
  }

  /** The counted values, and the values that `ask` reads now. A counter's values that are read are added to its counted ones. */
  read(ask: (take: TakeGauge) => void): readonly Metric[] {
    const read = new Map<Instrument, Family<Gauge | Counter>>();
    const begin = (instrument: Instrument): Family<Gauge | Counter> => {
      const make = (): Gauge | Counter => (instrument.kind === "gauge" ? new Gauge() : new Counter());
      const family = new Family(headOf(instrument), make);
      const counted = this.#ofInstruments.get(instrument) as Family<Counter> | undefined;
      for (const { values, of } of counted ?? []) family.of(...values).value = of.value;
      read.set(instrument, family);
      return family;
    };
    ask((instrument, value, ...labels) => {
      const family = read.get(instrument) ?? begin(instrument);
      family.of(...labels).value += value;
    });
    const replaced = new Set([...read.keys()].map((instrument) => this.#ofInstruments.get(instrument)));
    return [...read.values(), ...[...this.#families.values()].filter((one) => !replaced.has(one))];
  }

  #instrument<F extends Metric>(instrument: Instrument, make: (head: FamilyHead) => F): F {
    const known = this.#ofInstruments.get(instrument);
    if (known !== undefined) return known as F;
    const family = make(headOf(instrument));
    this.#families.set(family.head.name, family);
    this.#ofInstruments.set(instrument, family);
    return family;
  }
}
