// The lines of the word counts, the same in each language, and what a right count of them is.

export const WORDS_OF_A_LINE = 10;
/** A line and its words. */
export const TUPLES_OF_A_LINE = 1 + WORDS_OF_A_LINE;
const DIFFERENT = 50;

/** Line n of a run is the one at n modulo their number. */
export const LINES = Array.from({ length: DIFFERENT }, (_, line) =>
  Array.from({ length: WORDS_OF_A_LINE }, (_, at) => `word${(line * 7 + at * 3) % DIFFERENT}`).join(" "),
);

/** How often each word is in the first lines. */
export function countsOf(lines) {
  const counts = new Map();
  for (const [at, text] of LINES.entries()) {
    const times = Math.floor((lines + LINES.length - 1 - at) / LINES.length);
    if (times === 0) continue;
    for (const word of text.split(" ")) counts.set(word, (counts.get(word) ?? 0) + times);
  }
  return counts;
}
