// The expected result: a plain count of the text, and the comparison with the topology's counts.

/** The expected counts, taken without processes while the text is read. */
export class StraightCount {
  lines = 0;
  words = 0;
  readonly counts: Map<string, number> = new Map();

  add(words: readonly string[]): void {
    this.lines++;
    this.words += words.length;
    for (const word of words) this.counts.set(word, (this.counts.get(word) ?? 0) + 1);
  }
}

export interface Verdict {
  /** Words of the text that are missing from the counts. */
  readonly lost: number;
  /** Words in the counts beyond those of the text. */
  readonly surplus: number;
}

/** Compares word by word, so that a missing word does not hide a duplicate of another one. */
export function compare(wanted: ReadonlyMap<string, number>, found: ReadonlyMap<string, number>): Verdict {
  let lost = 0;
  let surplus = 0;
  for (const word of new Set([...wanted.keys(), ...found.keys()])) {
    const difference = (found.get(word) ?? 0) - (wanted.get(word) ?? 0);
    if (difference < 0) lost -= difference;
    else surplus += difference;
  }
  return { lost, surplus };
}

/** The most frequent words. Equally frequent words are in the order of their code units. */
export function top(
  counts: ReadonlyMap<string, number>,
  size: number,
): readonly (readonly [string, number])[] {
  return [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).slice(0, size);
}
