// A set that costs nothing while empty and no allocation for its first member: most processes have one link.

/** Nothing, one member, or a Set of them. Members must not be Sets themselves. */
export type OneOrMany<T extends object> = T | Set<T> | undefined;

/** The set with `item` in it; keep what it returns. */
export function include<T extends object>(set: OneOrMany<T>, item: T): T | Set<T> {
  if (set === undefined || set === item) return item;
  if (set instanceof Set) return set.add(item);
  return new Set<T>().add(set).add(item);
}

/** The set without `item`; keep what it returns. */
export function exclude<T extends object>(set: OneOrMany<T>, item: T): OneOrMany<T> {
  if (set === item) return undefined;
  if (set instanceof Set) {
    set.delete(item);
    if (set.size === 0) return undefined;
  }
  return set;
}

export function includes<T extends object>(set: OneOrMany<T>, item: T): boolean {
  return set === item || (set instanceof Set && set.has(item));
}

/** The members, for a loop that takes members out as it goes. */
export function each<T extends object>(set: OneOrMany<T>): Iterable<T> {
  return set instanceof Set ? set : members(set);
}

/** The members in the order in which they came, as a fresh array. */
export function members<T extends object>(set: OneOrMany<T>): T[] {
  if (set === undefined) return [];
  return set instanceof Set ? [...set] : [set];
}
