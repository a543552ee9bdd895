// The table of a measurement.

const median = (numbers) => {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

const thousands = (number) => (number / 1_000).toFixed(number < 100_000 ? 1 : 0);
const ms = (number) => number.toFixed(number < 0.1 ? 3 : 2);
const times = (number) => number.toFixed(number < 10 ? 2 : 1);

/** The median, the lowest and the highest. */
const spread = (numbers, shown) =>
  `${shown(median(numbers))} (${shown(Math.min(...numbers))} .. ${shown(Math.max(...numbers))})`;

/**
 * @param found - the runs by the name of the word count; the first ones are of the same turn, and so on
 * @param base - the word count that the others are compared with, turn by turn
 */
export function table(found, base) {
  const beside = (runs, figure) =>
    found.has(base) && runs !== found.get(base)
      ? spread(
          runs.map((run, turn) => run[figure] / found.get(base)[turn][figure]),
          times,
        )
      : "";
  const rows = [...found].map(([name, runs]) => {
    const of = (figure) => runs.map((run) => run[figure]);
    const processors = ["processorsOfJvms", "processorsOfPrograms"].map((figure) =>
      median(of(figure)).toFixed(2),
    );
    return [
      name,
      spread(of("aSecond"), thousands),
      beside(runs, "aSecond"),
      spread(of("aCpuSecond"), thousands),
      beside(runs, "aCpuSecond"),
      processors.join(" + "),
      spread(of("p50Ms"), ms),
      spread(of("p99Ms"), ms),
    ];
  });
  const head = [
    "word count",
    "k tuples/s",
    `x ${base}`,
    "k tuples/cpu s",
    `x ${base}`,
    "processors: JVMs + programs",
    "alone p50 ms",
    "alone p99 ms",
  ];
  const line = ["---", ...head.slice(1).map(() => "---:")];
  return [head, line, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
