// The inputs of a kill test: lines of a file, and what has to become of each. Both follow from the seed and the number of the line.

import { Random } from "../../../lib/testing/kit/random.js";

/** A part of an input: what routes make of it is written in it. */
export interface Part {
  /** The number of its input. */
  readonly n: number;
  /** Its number among the parts of its input. */
  readonly p: number;
  /** How many attempts fail before one does not. */
  readonly fails: number;
  /** It is given up. */
  readonly isDead: boolean;
  /** It goes to the audit, too. */
  readonly isAudited: boolean;
  /** A batch with it and others fails. */
  readonly isSour: boolean;
  /** How long its adapter takes, in milliseconds. */
  readonly forMs: number;
}

/** A line of the file, if it is not damaged. */
export interface Input {
  readonly n: number;
  /** Of two inputs with the same key, one passes: the one that is settled first. */
  readonly key: string;
  /** It is given up at once. */
  readonly isRefused: boolean;
  readonly parts: readonly Part[];
}

const MOST_PARTS = 4;
const MOST_FAILS = 2;
const MOST_MS = 4;

/** Undefined: the line is damaged. */
export function inputOf(seed: number, n: number): Input | undefined {
  const random = new Random(seed, n + 1);
  const oneIn = (count: number): boolean => random.below(count) === 0;
  if (oneIn(25)) return undefined;
  const isRefused = oneIn(20);
  const parts = Array.from({ length: random.below(MOST_PARTS + 1) }, (_, p) => ({
    ...{ n, p, fails: oneIn(5) ? 1 + random.below(MOST_FAILS) : 0, isDead: oneIn(12), isAudited: oneIn(3) },
    ...{ isSour: oneIn(30), forMs: oneIn(3) ? random.below(MOST_MS) : 0 },
  }));
  const isTwin = n % 2 === 1 && oneIn(3);
  return { n, key: String(isTwin ? n - 1 : n), isRefused, parts };
}

/** The lines of the file. */
export function linesOf(seed: number, inputs: number): string {
  return Array.from({ length: inputs }, (_, n) => {
    const input = inputOf(seed, n);
    return `${input === undefined ? `{"n":${n},` : JSON.stringify(input)}\n`;
  }).join("");
}
