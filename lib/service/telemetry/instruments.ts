// The definition of a metric, for the page for Prometheus and for OpenTelemetry alike. A room of this floor that measures
// something lists its instruments in a file `metrics.ts`, and calls the taps:
//
//     kernel.taps?.count(POOL_JOBS, 1, label, "fulfilled");
//
// Values that are read, and not counted, come from sources.ts.

/** One metric. Names and units are those of OpenTelemetry; {@link pageName} makes Prometheus' name of them. */
export interface Instrument {
  /** Words with dots, such as `signalbox.pool.jobs`. */
  readonly name: string;
  /** A counter only grows, a gauge goes up and down, a histogram has how often values fell between bounds. */
  readonly kind: "counter" | "gauge" | "histogram";
  /** The unit, as UCUM writes it: `s`, `By`, or `1` for a share. A plain count has a name in braces: `{job}`. */
  readonly unit: string;
  /** One sentence. */
  readonly help: string;
  /** The labels that distinguish the series of the metric. A page has underscores for their dots. */
  readonly labels: readonly string[];
  /** Most series, beside the one of all others. Default: MAX_LABELS in options.ts. */
  readonly maxSeries?: number;
}

/** The instruments of one file. */
export type Instruments<Name extends string> = Readonly<Record<Name, Instrument>>;

/** The receiver of the numbers: a page, or OpenTelemetry's meter. */
export interface MetricSink {
  count(instrument: Instrument, by: number, labels: readonly string[]): void;
  observe(instrument: Instrument, value: number, labels: readonly string[]): void;
}

declare module "../../process/taps.js" {
  interface Taps {
    /** Adds to a counter. @param labels - the values of its labels, in their order */
    count(instrument: Instrument, by: number, ...labels: readonly string[]): void;
    /** Adds a value, in the unit of the instrument, to a histogram. */
    observe(instrument: Instrument, value: number, ...labels: readonly string[]): void;
  }
}

const UNITS: Readonly<Record<string, string>> = { s: "_seconds", By: "_bytes", "1": "_ratio" };

/** The unit of an instrument, as its name on a page ends; "" for what is merely counted. */
export function pageUnit(unit: string): string {
  return UNITS[unit]?.slice(1) ?? "";
}

/**
 * The name of an instrument on a page, as OpenTelemetry's specification derives it: `signalbox.pool.job.duration` in `s` is
 * `signalbox_pool_job_duration_seconds`.
 *
 * @see https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/
 */
export function pageName({ name, kind, unit }: Pick<Instrument, "name" | "kind" | "unit">): string {
  const base = name.replaceAll(".", "_");
  const suffix = UNITS[unit] ?? "";
  const named = base.endsWith(suffix) ? base : `${base}${suffix}`;
  return kind === "counter" ? `${named}_total` : named;
}
