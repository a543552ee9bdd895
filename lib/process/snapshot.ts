// Copies of states for inspectors. A server changes its state in place, so what an inspector shows must not be the state itself.

/** Levels of nesting that are copied and compared. Deeper values are shared. */
const DEPTH = 64;

/**
 * A copy of plain data: objects without a class, arrays, Maps and Sets, nested, also if they contain themselves. Everything else,
 * such as pids, functions and instances of classes, is the same value as in the original.
 *
 * @throws what an accessor or a Proxy in the data throws
 */
export function snapshot<T>(value: T): T {
  const copies = new Map<object, unknown>();
  const copy = (item: unknown, depth: number): unknown => {
    if (typeof item !== "object" || item === null || depth === 0) return item;
    const known = copies.get(item);
    if (known !== undefined) return known;
    if (Array.isArray(item)) {
      const made: unknown[] = [];
      copies.set(item, made);
      for (const one of item) made.push(copy(one, depth - 1));
      return made;
    }
    if (item instanceof Map) {
      const made = new Map<unknown, unknown>();
      copies.set(item, made);
      for (const [key, one] of item) made.set(copy(key, depth - 1), copy(one, depth - 1));
      return made;
    }
    if (item instanceof Set) {
      const made = new Set<unknown>();
      copies.set(item, made);
      for (const one of item) made.add(copy(one, depth - 1));
      return made;
    }
    if (!isPlain(item)) return item;
    const made: Record<string, unknown> = Object.create(Object.getPrototypeOf(item));
    copies.set(item, made);
    for (const [key, one] of Object.entries(item))
      Object.defineProperty(made, key, {
        value: copy(one, depth - 1),
        enumerable: true,
        writable: true,
        configurable: true,
      });
    return made;
  };
  return copy(value, DEPTH) as T;
}

/** Whether two snapshots show the same. */
export function sameSnapshot(one: unknown, other: unknown, depth: number = DEPTH): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null || depth === 0)
    return false;
  const same = (a: unknown, b: unknown): boolean => sameSnapshot(a, b, depth - 1);
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, i) => same(item, other[i]));
  if (one instanceof Map && other instanceof Map) return same([...one], [...other]);
  if (one instanceof Set && other instanceof Set) return same([...one], [...other]);
  if (!isPlain(one) || !isPlain(other)) return false;
  return same(Object.entries(one), Object.entries(other));
}

function isPlain(item: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(item);
  return prototype === null || prototype === Object.prototype;
}
