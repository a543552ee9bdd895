// Work for a processor, which needs nothing but a loop.

/** Its result shows that it was done: a linear congruential generator. */
export function compute(rounds: number): number {
  let seed = 1;
  for (let i = 0; i < rounds; i++) seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return seed;
}
