// What flows of trivial steps return, on each side.

/** What a flow of trivial steps returns: `from`, `from + 1` and so on, added up. */
export const sumOf = (from: number, steps: number): number => steps * from + (steps * (steps - 1)) / 2;

/** What the flows that begin with 0, 1, 2 and so on return in all. */
export const sumOfAll = (flows: number, steps: number): number =>
  Array.from({ length: flows }, (_, from) => sumOf(from, steps)).reduce((a, b) => a + b, 0);
