// Finds what repeats at the end of a list: the cycle of a schedule that does not end.

/** The end of a list that repeats. */
export interface Cycle {
  /** Index at which the repeating part begins. */
  readonly start: number;
  /** Length of one round. */
  readonly period: number;
  /** Whole rounds from `start` to the end. */
  readonly times: number;
}

/** A part that comes this often in a row is a cycle. */
const LEAST_TIMES = 3;
/** A cycle takes up at least this share of the list: a short repetition at the end of a long list is chance. */
const LEAST_SHARE = 1 / 4;

/**
 * The longest end of the list that consists of one part repeated, with the shortest such part. The end may begin or stop in the
 * middle of a round. Takes time in proportion to the list.
 */
export function findCycle(list: readonly (string | number)[]): Cycle | undefined {
  const { length } = list;
  const matches = suffixMatches(list);
  let found: Cycle | undefined;
  let longest = 0;
  for (let period = 1; period * LEAST_TIMES <= length; period++) {
    const covered = period + (matches[period] as number);
    if (covered <= longest || covered < Math.max(period * LEAST_TIMES, length * LEAST_SHARE)) continue;
    longest = covered;
    found = { start: length - covered, period, times: Math.floor(covered / period) };
  }
  return found;
}

/** For each shift: how many entries at the end of the list equal those that stand `shift` places earlier (the Z function). */
function suffixMatches(list: readonly (string | number)[]): Int32Array {
  const { length } = list;
  const back = (index: number): string | number | undefined => list[length - 1 - index];
  const matches = new Int32Array(length);
  let [left, right] = [0, 0];
  for (let shift = 1; shift < length; shift++) {
    let same = shift < right ? Math.min(right - shift, matches[shift - left] as number) : 0;
    while (shift + same < length && back(same) === back(shift + same)) same++;
    matches[shift] = same;
    if (shift + same > right) [left, right] = [shift, shift + same];
  }
  return matches;
}
