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
