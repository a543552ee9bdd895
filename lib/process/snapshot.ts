// Copies of states for inspectors. A server changes its state in place, so an inspector must show a copy, not the state itself.

/** Levels of nesting that are copied and compared. Deeper values are shared. */
const DEPTH = 64;

/** A value has more parts than may be copied. */
export class TooManyParts extends Error {}

/** A container whose copy is not complete: what is left of its items, and where they go. */
interface Open {
  readonly items: Iterator<unknown>;
  readonly depth: number;
  add(item: unknown, copy: (item: unknown) => unknown): void;
}

/**
 * A copy of plain data in the making: objects without a class, arrays, Maps and Sets, nested, also if they contain themselves.
 * Everything else, such as pids, functions and instances of classes, is the same value as in the original.
 *
 * A large value is copied in slices, so that the copying process may do something else in between.
 */
export class Copying<T> {
  /** Complete once {@link advance} has returned true. */
  readonly copy: T;
  readonly #most: number;
  readonly #copies = new Map<object, unknown>();
  readonly #open: Open[] = [];
  #parts = 0;

  /** @param most - parts that are copied: values in arrays, objects, Maps and Sets */
  constructor(value: T, most: number = Number.POSITIVE_INFINITY) {
    this.#most = most;
    this.copy = this.#copyOf(value, DEPTH) as T;
  }

  /**
   * Copies up to `count` further parts. True when the copy is complete.
   *
   * @throws TooManyParts, and what an accessor or a Proxy in the data throws
   */
  advance(count: number): boolean {
    for (let left = count; left > 0; left--) {
      const container = this.#open.at(-1);
      if (container === undefined) return true;
      const { done, value } = container.items.next();
      if (done === true) {
        this.#open.pop();
        continue;
      }
      if (++this.#parts > this.#most) throw new TooManyParts();
      container.add(value, (item) => this.#copyOf(item, container.depth - 1));
    }
    return this.#open.length === 0;
  }

  #copyOf(item: unknown, depth: number): unknown {
    if (typeof item !== "object" || item === null || depth === 0) return item;
    const known = this.#copies.get(item);
    if (known !== undefined) return known;
    if (Array.isArray(item)) {
      const made: unknown[] = [];
      return this.#begin(item, made, item.values(), depth, (one, copy) => made.push(copy(one)));
    }
    if (item instanceof Map) {
      const made = new Map<unknown, unknown>();
      return this.#begin(item, made, item.entries(), depth, (entry, copy) => {
        const [key, one] = entry as [unknown, unknown];
        made.set(copy(key), copy(one));
      });
    }
    if (item instanceof Set) {
      const made = new Set<unknown>();
      return this.#begin(item, made, item.values(), depth, (one, copy) => made.add(copy(one)));
    }
    if (!isPlain(item)) return item;
    const made: object = Object.create(Object.getPrototypeOf(item));
    const keys = Object.keys(item);
    if (keys.length > this.#most) throw new TooManyParts();
    return this.#begin(item, made, keys.values(), depth, (key, copy) =>
      Object.defineProperty(made, key as string, {
        value: copy((item as Record<string, unknown>)[key as string]),
        enumerable: true,
        writable: true,
        configurable: true,
      }),
    );
  }

  #begin<M>(
    item: object,
    made: M,
    items: Iterator<unknown>,
    depth: number,
    add: (item: unknown, copy: (item: unknown) => unknown) => unknown,
  ): M {
    this.#copies.set(item, made);
    this.#open.push({ items, depth, add });
    return made;
  }
}

/**
 * A copy of plain data, made at once; see {@link Copying}.
 *
 * @throws what an accessor or a Proxy in the data throws; TooManyParts
 */
export function snapshot<T>(value: T, most?: number): T {
  const copying = new Copying(value, most);
  copying.advance(Number.POSITIVE_INFINITY);
  return copying.copy;
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
