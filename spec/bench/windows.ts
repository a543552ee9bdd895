// How messages and questions go out in the programs of two processes: the same for every library.

/** Messages between two questions how many there were. */
const BATCH = 1_000;
/** Senders, each with such a question open: a window, as any sender of many messages has one. */
const SENDERS = 8;

/**
 * Sends `count` messages, and adds up how many arrived.
 *
 * @param ask - how many arrived since it was last asked
 */
export async function sendAll(
  count: number,
  send: (n: number) => void,
  ask: () => Promise<number>,
): Promise<number> {
  let left = count;
  let arrived = 0;
  const sender = async (): Promise<void> => {
    while (left > 0) {
      const now = Math.min(left, BATCH);
      left -= now;
      for (let i = 0; i < now; i++) send(i);
      const more = await ask();
      arrived += more;
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, sender));
  return arrived;
}

/** Asks `count` times, `open` at once, and adds up the answers. Each question is a number, and its answer should be the same. */
export async function askAll(
  count: number,
  open: number,
  ask: (n: number) => Promise<number>,
): Promise<number> {
  let next = 0;
  let sum = 0;
  const asker = async (): Promise<void> => {
    while (next < count) {
      const answer = await ask(++next);
      sum += answer;
    }
  };
  await Promise.all(Array.from({ length: open }, asker));
  return sum;
}

/** The sum of the answers to `count` questions. */
export const sumOf = (count: number): number => (count * (count + 1)) / 2;

/** One question after the other: the sum of the answers, and how long each took, in microseconds, the shortest first. */
export async function timeAll(
  count: number,
  ask: (n: number) => Promise<number>,
): Promise<{ readonly sum: number; readonly us: Float64Array }> {
  const us = new Float64Array(count);
  let sum = 0;
  for (let n = 1; n <= count; n++) {
    const before = performance.now();
    const answer = await ask(n);
    us[n - 1] = (performance.now() - before) * 1_000;
    sum += answer;
  }
  return { sum, us: us.sort() };
}

/** @param sorted - the least one first */
export const percentile = (sorted: Float64Array, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
