// How the tests reach an entrance of the library: one line for each, by the name that spec/support/entrances.ts gives it.

/** What to call, and arguments that are right. Tests put wrong ones in their place. */
export type Reached = readonly [call: (...given: never[]) => unknown, ...given: unknown[]];

/** One line for each entrance. Each is reached anew for each wrong argument. */
export type Lines = Readonly<Record<string, () => Reached | Promise<Reached>>>;

/** A method, called on its object. */
export const on =
  (object: object, method: string): ((...given: unknown[]) => unknown) =>
  (...given) =>
    (object as Record<string, (...given: unknown[]) => unknown>)[method]?.(...given);

/** A constructor, called with `new`. */
export const made =
  (what: unknown): ((...given: unknown[]) => unknown) =>
  (...given) =>
    new (what as new (...given: unknown[]) => unknown)(...given);

/** A function that nobody has to know. */
export const nothing = (): undefined => undefined;

/** Calls whose promise settles whatever they are given: the test waits for their end. */
export const settling: WeakSet<object> = new WeakSet();

/** Most turns of the host in which an entrance refuses what it is given: one that waits took it. */
const TURNS = 100;

/** How a call ended: with an error, with a result, or not within the turns that an entrance has. */
export interface End {
  readonly how: "refused" | "taken" | "waiting";
  readonly error?: unknown;
}

/** Calls an entrance, and waits for its promise or the first value of its stream. */
export async function endOf(
  [call, ...given]: readonly [Reached[0], ...unknown[]],
  mostTurns: number = TURNS,
): Promise<End> {
  try {
    const made = call(...(given as never[]));
    const result = isStream(made) ? made[Symbol.asyncIterator]().next() : made;
    const end = Promise.resolve(result).then((): End => ({ how: "taken" }), refused);
    return await (settling.has(call) ? end : Promise.race([end, turns(mostTurns)]));
  } catch (error) {
    return refused(error);
  }
}

const refused = (error: unknown): End => ({ how: "refused", error: error ?? new Error("nothing") });

const isStream = (made: unknown): made is AsyncIterable<unknown> =>
  typeof made === "object" && made !== null && Symbol.asyncIterator in made;

async function turns(most: number): Promise<End> {
  for (let i = 0; i < most; i++) await new Promise((resolve) => setImmediate(resolve));
  return { how: "waiting" };
}
