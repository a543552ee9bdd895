// Tells whether many choices are spread evenly: Pearson's chi-square test.

/** How far the counts of `choose(0) … choose(draws - 1)` over the options are from even ones. */
export function chiSquare<O>(
  options: readonly O[],
  draws: number,
  choose: (i: number) => O | undefined,
): number {
  const counts = new Map<O | undefined, number>(options.map((one) => [one, 0]));
  for (let i = 0; i < draws; i++) {
    const chosen = choose(i);
    counts.set(chosen, (counts.get(chosen) ?? 0) + 1);
  }
  if (counts.size > options.length) return Number.POSITIVE_INFINITY;
  const even = draws / options.length;
  let sum = 0;
  for (const count of counts.values()) sum += (count - even) ** 2 / even;
  return sum;
}

/** What an even spread over so many options stays below, but for fewer than one in 10,000. */
export function limit(options: number): number {
  const freedom = options - 1;
  return freedom + 6 * Math.sqrt(2 * freedom) + 6;
}
