// Counters, gauges and histograms of the user's own, on the page of their system.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { text } from "../../process/options.js";
import { checkBounds } from "./metrics.js";
import type { MetricRegistry } from "./registry.js";
import { Counter, Family, type FamilyHead, Gauge, Histogram } from "./series.js";

/** The description of a metric of your own. */
export interface OwnMetricOptions<Label extends string = never> {
  /**
   * Words with underscores, such as `orders_paid`. The page adds the unit, and `_total` to a counter. Names that begin like those of
   * the library (`signalbox_`, `http_server_`, `nodejs_`, `v8js_`, `process_`) are refused.
   */
  readonly name: string;
  /** One sentence for people. */
  readonly help: string;
  /** The base unit, in the plural: `seconds`, `bytes`. It becomes the end of the name. Default: none. */
  readonly unit?: string;
  /** The labels that distinguish the series of the metric. Default: one series. */
  readonly labels?: readonly Label[];
}

/** Options of a gauge of your own. */
export interface OwnGaugeOptions<Label extends string = never> extends OwnMetricOptions<Label> {
  /** Called before each page, to set the gauge to what is true now. When it throws or rejects, the system reports the error. */
  readonly read?: (gauge: GaugeMetric<Label>) => void;
}

/** Options of a histogram of your own. */
export interface OwnHistogramOptions<Label extends string = never> extends OwnMetricOptions<Label> {
  /** Upper bounds of the buckets, ascending. Default: the bounds of the page, which are meant for seconds. */
  readonly buckets?: readonly number[];
}

/** The labels of a metric, each with its value. Left out for a metric without labels. */
export type LabelArguments<Label extends string> = [Label] extends [never]
  ? []
  : [labels: Readonly<Record<Label, string | number | boolean>>];

/** A counter of your own: a number that only grows. */
export interface CounterMetric<Label extends string = never> {
  /** Adds to the counter. @throws OptionError when `by` is below 0, or labels are not those of the metric */
  add(by: number, ...labels: LabelArguments<Label>): void;
}

/** A gauge of your own: a number that goes up and down. */
export interface GaugeMetric<Label extends string = never> {
  /** Sets the gauge. @throws OptionError when labels are not those of the metric */
  set(value: number, ...labels: LabelArguments<Label>): void;
  /** Adds, or takes away when `by` is below 0. @throws OptionError when labels are not those of the metric */
  add(by: number, ...labels: LabelArguments<Label>): void;
}

/** A histogram of your own: how often values fell between bounds. */
export interface HistogramMetric<Label extends string = never> {
  /** Counts a value. @throws OptionError when labels are not those of the metric */
  observe(value: number, ...labels: LabelArguments<Label>): void;
}

/** Longest value of a label. A longer one is cut. */
const MAX_VALUE = 200;
const NAME = /^[a-zA-Z][a-zA-Z0-9_]*$/;
const RESERVED = /^(signalbox|http_server|nodejs|v8js|process)_/;
/** The formats add these to names by themselves. */
const ENDING = /_(total|bucket|count|sum|created|info)$/;

const HEAD = ["name", "help", "unit", "labels"] as const;

export class OwnCounter implements CounterMetric<string> {
  readonly #family: Family<Counter>;

  constructor(registry: MetricRegistry, options: OwnMetricOptions<string>) {
    this.#family = registry.add(new Family(ownHead(options, "counter"), () => new Counter()));
  }

  add(by: number, ...given: readonly [unknown?]): void {
    if (!(Number.isFinite(by) && by >= 0)) throw new OptionError("by", by, "a number, 0 or more");
    seriesOf(this.#family, given).value += by;
  }
}

export class OwnGauge implements GaugeMetric<string> {
  readonly #family: Family<Gauge>;
  /** Sets it to what is true now. */
  readonly read: ((gauge: GaugeMetric<never>) => void) | undefined;

  constructor(registry: MetricRegistry, options: OwnGaugeOptions<string>) {
    only("", options, [...HEAD, "read"]);
    const { read, ...rest } = options;
    if (read !== undefined && typeof read !== "function") throw new OptionError("read", read, "a function");
    this.read = read as OwnGauge["read"];
    this.#family = registry.add(new Family(ownHead(rest, "gauge"), () => new Gauge()));
  }

  set(value: number, ...given: readonly [unknown?]): void {
    seriesOf(this.#family, given).value = checkNumber(value);
  }

  add(by: number, ...given: readonly [unknown?]): void {
    seriesOf(this.#family, given).value += checkNumber(by);
  }
}

export class OwnHistogram implements HistogramMetric<string> {
  readonly #family: Family<Histogram>;

  constructor(
    registry: MetricRegistry,
    options: OwnHistogramOptions<string>,
    defaultBounds: readonly number[],
  ) {
    only("", options, [...HEAD, "buckets"]);
    const { buckets = defaultBounds, ...rest } = options;
    const bounds = checkBounds("buckets", buckets);
    const head = ownHead(rest, "histogram");
    if (head.labels.includes("le")) throw new OptionError("labels", head.labels, "names other than le");
    this.#family = registry.add(new Family(head, () => new Histogram(bounds)));
  }

  observe(value: number, ...given: readonly [unknown?]): void {
    seriesOf(this.#family, given).observe(checkNumber(value));
  }
}

/** @throws OptionError */
function ownHead(options: OwnMetricOptions<string>, kind: FamilyHead["kind"]): FamilyHead {
  only("", options, HEAD);
  const { unit = "", labels = [] } = options;
  const name = text("name", options.name);
  const help = text("help", options.help);
  if (!NAME.test(name)) throw new OptionError("name", name, "letters, digits and underscores");
  if (RESERVED.test(name))
    throw new OptionError("name", name, "a name that does not begin like the library's");
  if (ENDING.test(name))
    throw new OptionError("name", name, `a name that does not end with ${ENDING.exec(name)?.[0]}`);
  if (unit !== "" && !NAME.test(text("unit", unit)))
    throw new OptionError("unit", unit, "a word such as seconds");
  if (!Array.isArray(labels) || new Set(labels).size < labels.length)
    throw new OptionError("labels", labels, "an array of different names");
  for (const label of labels)
    if (typeof label !== "string" || !NAME.test(label) || label === "system")
      throw new OptionError("labels", label, "names of letters, digits and underscores, other than system");
  const measured = unit === "" || name.endsWith(`_${unit}`) ? name : `${name}_${unit}`;
  return { name: kind === "counter" ? `${measured}_total` : measured, kind, unit, help, labels: [...labels] };
}

function checkNumber(value: number): number {
  if (typeof value !== "number" || Number.isNaN(value)) throw new OptionError("value", value, "a number");
  return value;
}

/** @throws OptionError when the labels are not those of the metric */
function seriesOf<S>(family: Family<S>, [given = {}]: readonly [unknown?]): S {
  const { labels } = family.head;
  only("labels", given as object, labels);
  const values = labels.map((label) => {
    const value = (given as Readonly<Record<string, unknown>>)[label];
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean")
      throw new OptionError(`labels.${label}`, value, "a text, a number or a boolean");
    return bounded(String(value));
  });
  return family.of(...values);
}

/** Keys of series are joined by the character that is left out. */
function bounded(value: string): string {
  const short = value.length > MAX_VALUE ? value.slice(0, MAX_VALUE) : value;
  return short.includes("\u0000") ? short.replaceAll("\u0000", "") : short;
}
