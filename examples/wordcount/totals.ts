// What the run has to come to: a straight count of the text, and the comparison of the topology's counts with it.

/** The answer without any processes, taken while the text is read. */
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

/** Word by word: one that is missing does not make up for another that is there twice. */
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

/** The most frequent words; of those that are as frequent, the first in the alphabet of code units. */
export function top(
  counts: ReadonlyMap<string, number>,
  size: number,
): readonly (readonly [string, number])[] {
  return [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).slice(0, size);
}
