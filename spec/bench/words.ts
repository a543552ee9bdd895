// Sentences whose words are counted, and what a right count of them is.

/** Each of eight words. */
const TEXT = [
  "a signal box stands where two lines meet",
  "the night train waits outside for a clear",
  "one lever moves the points another the arm",
  "no lever moves while a train stands there",
  "the bell rings twice and the line is",
  "each train is written down with its time",
  "when a wire breaks the arm falls to",
  "the morning train is late and nobody minds",
] as const;

export const WORDS = 8;
/** Tuples of a sentence: itself and its words. */
export const EDGES: number = 1 + WORDS;

export function sentence(number: number): string {
  return TEXT[number % TEXT.length] as string;
}

/** Compares with a straight count of the first sentences; each word has to be counted in one place. */
export function isCountOf(sentences: number, found: readonly (readonly [string, number])[]): boolean {
  const straight = new Map<string, number>();
  for (let at = 0; at < TEXT.length; at++) {
    const times = Math.floor((sentences + TEXT.length - 1 - at) / TEXT.length);
    for (const word of sentence(at).split(" ")) straight.set(word, (straight.get(word) ?? 0) + times);
  }
  const wanted = [...straight].filter(([, times]) => times > 0);
  return found.length === wanted.length && found.every(([word, times]) => straight.get(word) === times);
}
