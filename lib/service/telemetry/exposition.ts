// Metrics as text: Prometheus' own format, and OpenMetrics.

import type { Metric } from "./registry.js";
import { type FamilyHead, Histogram } from "./series.js";

/** The formats of a page. */
export type MetricsFormat = "prometheus" | "openmetrics";

/** The content types of the formats. */
export const CONTENT_TYPES: Readonly<Record<MetricsFormat, string>> = {
  prometheus: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

/** The page of these families. `system` is a label of each sample. */
export function page(families: Iterable<Metric>, system: string, format: MetricsFormat): string {
  let text = "";
  for (const family of families) text += render(family, system, format);
  return format === "openmetrics" ? `${text}# EOF\n` : text;
}

/** The format that a client asks for with its header `accept`: OpenMetrics, if the client likes that at least as much. */
export function formatFor(accept: string | null | undefined): MetricsFormat {
  let open = 0;
  let plain = 0;
  for (const range of (accept ?? "").toLowerCase().split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
    const q = Number(parameters.find((one) => one.startsWith("q="))?.slice(2) ?? 1);
    const weight = Number.isNaN(q) ? 0 : q;
    if (type === "application/openmetrics-text") open = Math.max(open, weight);
    if (type === "text/plain") plain = Math.max(plain, weight);
  }
  return open > 0 && open >= plain ? "openmetrics" : "prometheus";
}

function render(family: Metric, system: string, format: MetricsFormat): string {
  const { head } = family;
  let lines = "";
  for (const { values, of } of family) {
    const set = [`system="${escaped(system)}"`];
    for (const [i, label] of head.labels.entries()) set.push(`${label}="${escaped(values[i] as string)}"`);
    lines +=
      of instanceof Histogram
        ? renderHistogram(head.name, set.join(","), of, format)
        : `${head.name}{${set.join(",")}} ${number(of.value)}\n`;
  }
  return lines === "" ? "" : `${renderHead(head, format)}${lines}`;
}

/** OpenMetrics has the name of a counter without `_total`, and the unit. */
function renderHead({ name, kind, unit, help }: FamilyHead, format: MetricsFormat): string {
  const isOpen = format === "openmetrics";
  const family = isOpen && kind === "counter" ? name.replace(/_total$/, "") : name;
  const text = help.replace(isOpen ? /[\\"\n]/g : /[\\\n]/g, escapeOne);
  const has = isOpen && unit !== "" ? `# UNIT ${family} ${unit}\n` : "";
  return `# HELP ${family} ${text}\n# TYPE ${family} ${kind}\n${has}`;
}

function renderHistogram(
  name: string,
  set: string,
  { bounds, counts, sum }: Histogram,
  format: MetricsFormat,
): string {
  let total = 0;
  let lines = "";
  for (const [i, n] of counts.entries()) {
    total += n;
    const bound = bounds[i];
    const le = bound === undefined ? "+Inf" : format === "openmetrics" ? float(bound) : number(bound);
    lines += `${name}_bucket{${set},le="${le}"} ${total}\n`;
  }
  return `${lines}${name}_sum{${set}} ${number(sum)}\n${name}_count{${set}} ${total}\n`;
}

function number(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  return value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value);
}

/** OpenMetrics writes a bound with its fraction. */
function float(value: number): string {
  return Number.isInteger(value) ? value.toFixed(1) : number(value);
}

/** A label value, with the three characters escaped that the formats name. */
function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, escapeOne);
}

function escapeOne(one: string): string {
  return one === "\n" ? "\\n" : `\\${one}`;
}
