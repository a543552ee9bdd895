// Schedules as a fast-check arbitrary: they shrink towards the ordinary schedule. fast-check does the searching.

import * as fc from "fast-check";

/** Removals of single choices that are tried; by then lists are mostly shorter. */
const MOST_REMOVALS = 64;

class Schedules extends fc.Arbitrary<readonly number[]> {
  readonly #length: number;
  readonly #most: number;

  constructor(length: number, most: number) {
    super();
    this.#length = length;
    this.#most = most;
  }

  generate(random: fc.Random): fc.Value<readonly number[]> {
    const length = random.nextInt(0, this.#length);
    const choices = Array.from({ length }, () =>
      random.nextInt(0, 3) === 0 ? random.nextInt(0, this.#most) : 0,
    );
    return new fc.Value(trimmed(choices), undefined);
  }

  canShrinkWithoutContext(value: unknown): value is readonly number[] {
    return Array.isArray(value) && value.every((one) => Number.isInteger(one) && one >= 0);
  }

  shrink(value: readonly number[]): fc.Stream<fc.Value<readonly number[]>> {
    return fc.stream(simpler(trimmed(value))).map((choices) => new fc.Value(choices, undefined));
  }
}

/**
 * Schedules for properties that also vary the input; run them with {@link simulate}. They shrink to fewer and smaller
 * deviations from the ordinary schedule.
 *
 * @param length - most choices
 * @example
 * await fc.assert(
 *   fc.asyncProperty(arbitrarySchedules(), fc.array(fc.nat()), async (choices, orders) => {
 *     await simulate((sim) => serve(sim, orders), { choices });
 *   }),
 * );
 */
export function arbitrarySchedules(length = 200): fc.Arbitrary<readonly number[]> {
  return new Schedules(length, 7);
}

/** Simpler lists, the simplest first: all ordinary, half of the deviations, shorter, smaller deviations. */
function* simpler(choices: readonly number[]): IterableIterator<readonly number[]> {
  const deviations = choices.flatMap((choice, index) => (choice > 0 ? [index] : []));
  for (let size = deviations.length; size >= 1; size = size >> 1) {
    // The last deviations first: those after the cause of the failure are the likeliest to be irrelevant.
    for (let end = deviations.length; end > 0; end -= size) {
      const gone = new Set(deviations.slice(Math.max(0, end - size), end));
      yield trimmed(choices.map((choice, index) => (gone.has(index) ? 0 : choice)));
    }
  }
  for (let index = 0; index < Math.min(choices.length, MOST_REMOVALS); index++)
    yield trimmed([...choices.slice(0, index), ...choices.slice(index + 1)]);
  for (const index of deviations) {
    const choice = choices[index] as number;
    for (const less of new Set([1, choice >> 1, choice - 1])) {
      if (less > 0 && less < choice) yield choices.map((one, at) => (at === index ? less : one));
    }
  }
}

/** The list without ordinary choices at its end. */
export function trimmed(choices: readonly number[]): readonly number[] {
  let end = choices.length;
  while (end > 0 && choices[end - 1] === 0) end--;
  return end === choices.length ? choices : choices.slice(0, end);
}

/**
 * Returns the simplest list found for which `fails` still holds.
 *
 * @param most - most lists to try
 */
export async function shrinkChoices(
  choices: readonly number[],
  fails: (choices: readonly number[]) => Promise<boolean>,
  most: number,
): Promise<readonly number[]> {
  let tried = 0;
  const property = fc.asyncProperty(new Schedules(choices.length, 1), async (candidate) => {
    if (tried >= most) return true;
    tried++;
    return !(await fails(candidate));
  });
  const result = await fc.check(property, { examples: [[trimmed(choices)]], numRuns: 1 });
  return result.counterexample?.[0] ?? choices;
}
