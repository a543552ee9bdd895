// A parser of Prometheus' text format, written from its specification: it accepts what the format allows, and nothing else.
// https://prometheus.io/docs/instrumenting/exposition_formats/

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface ParsedFamily {
  readonly help: string;
  readonly type: string;
  readonly samples: Sample[];
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*/;
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"/;
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  histogram: ["_bucket", "_sum", "_count"],
  counter: [""],
  gauge: [""],
};

/** @throws SyntaxError naming the line */
export function parseExposition(text: string): Map<string, ParsedFamily> {
  const families = new Map<string, ParsedFamily>();
  if (!text.endsWith("\n")) throw new SyntaxError("the last line has to end with a line feed");
  const lines = text.slice(0, -1).split("\n");
  let current: { readonly name: string; readonly family: ParsedFamily } | undefined;
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] as string;
    const wrong = (why: string): SyntaxError => new SyntaxError(`line ${i + 1}: ${why}: ${line}`);
    const help = /^# HELP (\S+) (.+)$/.exec(line);
    if (help !== null) {
      const [, name, words] = help as unknown as [string, string, string];
      const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(lines[++i] ?? "");
      if (type?.[1] !== name || NAME.exec(name)?.[0] !== name)
        throw wrong("no TYPE of the same name follows");
      if (families.has(name)) throw wrong("the family comes a second time");
      current = { name, family: { help: words, type: type[2] as string, samples: [] } };
      families.set(name, current.family);
      continue;
    }
    if (current === undefined) throw wrong("a sample before HELP and TYPE");
    const sample = parseSample(line);
    if (sample === undefined) throw wrong("no sample");
    const { family, name } = current;
    if (!(SUFFIXES[family.type] ?? []).some((suffix) => sample.name === name + suffix))
      throw wrong("not of the family above");
    family.samples.push(sample);
  }
  for (const [name, family] of families) checkFamily(name, family);
  return families;
}

/**
 * The same for OpenMetrics, as far as the library writes it.
 *
 * @see https://prometheus.io/docs/specs/om/open_metrics_spec/
 */
export function parseOpenMetrics(text: string): Map<string, ParsedFamily> {
  if (!text.endsWith("# EOF\n")) throw new SyntaxError("the end is missing");
  const units = new Map<string, string>();
  const counters = new Set<string>();
  const lines: string[] = [];
  for (const line of text.slice(0, -"# EOF\n".length).split("\n")) {
    const [, name, unit] = /^# UNIT (\S+) (\S+)$/.exec(line) ?? [];
    if (name === undefined || unit === undefined) lines.push(line);
    else if (name.endsWith(`_${unit}`)) units.set(name, unit);
    else throw new SyntaxError(`${name} does not end with its unit ${unit}`);
    const [, counter] = /^# TYPE (\S+) counter$/.exec(line) ?? [];
    if (counter !== undefined) counters.add(counter);
  }
  // A counter's samples have an ending that the name of its family does not have.
  const plain = lines.map((line) => {
    const [all, name = ""] = /^([a-zA-Z0-9_]+)_total[{ ]/.exec(line) ?? [];
    return all !== undefined && counters.has(name) ? line.replace(`${name}_total`, name) : line;
  });
  for (const line of lines)
    if (counters.has(NAME.exec(line)?.[0] ?? "")) throw new SyntaxError(`no _total: ${line}`);
  for (const name of units.keys())
    if (!lines.some((line) => line.startsWith(`# TYPE ${name} `))) throw new SyntaxError(`no family ${name}`);
  return parseExposition(plain.join("\n"));
}

function parseSample(line: string): Sample | undefined {
  const name = NAME.exec(line)?.[0];
  if (name === undefined) return undefined;
  let rest = line.slice(name.length);
  const labels: Record<string, string> = {};
  if (rest.startsWith("{")) {
    rest = rest.slice(1);
    while (!rest.startsWith("}")) {
      const label = LABEL.exec(rest);
      if (label === null) return undefined;
      const [all, key, value] = label as unknown as [string, string, string];
      if (Object.hasOwn(labels, key)) return undefined;
      labels[key] = value.replace(/\\(.)/g, (_, one) => (one === "n" ? "\n" : one));
      rest = rest.slice(all.length);
      if (rest.startsWith(",")) rest = rest.slice(1);
      else if (!rest.startsWith("}")) return undefined;
    }
    rest = rest.slice(1);
  }
  const value = /^ (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|\+Inf|-Inf|NaN)$/.exec(rest)?.[1];
  if (value === undefined) return undefined;
  return { name, labels, value: value === "+Inf" ? Number.POSITIVE_INFINITY : Number(value) };
}

/** No series twice; buckets ascend in bound and count, and end with +Inf, which equals the count. */
function checkFamily(name: string, { type, samples }: ParsedFamily): void {
  const seen = new Set<string>();
  for (const sample of samples) {
    const key = sample.name + JSON.stringify(Object.entries(sample.labels).sort());
    if (seen.has(key)) throw new SyntaxError(`${key} comes twice`);
    seen.add(key);
  }
  if (type !== "histogram") return;
  for (const count of samples.filter((one) => one.name === `${name}_count`)) {
    const series = JSON.stringify(count.labels);
    const buckets = samples
      .filter((one) => one.name === `${name}_bucket`)
      .map(({ labels: { le, ...labels }, value }) => ({
        le: Number(le?.replace("+Inf", "Infinity")),
        labels,
        value,
      }))
      .filter(({ labels }) => JSON.stringify(labels) === series);
    const isRight = buckets.every(({ le, value }, i) => {
      const before = buckets[i - 1];
      return before === undefined || (before.le < le && before.value <= value);
    });
    const last = buckets.at(-1);
    if (!isRight || last?.le !== Number.POSITIVE_INFINITY || last.value !== count.value)
      throw new SyntaxError(`the buckets of ${series} do not add up`);
  }
}
