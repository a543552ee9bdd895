// Finds the reason why a value cannot be sent to another thread. Threads get the source of `deeper` and `uncloneablePart`, so these
// use only the language and the host.

/**
 * Levels of arrays and objects that a value may have. The thread that reads a message does so with a stack of its own: it would
 * fail in reading, not the sender in sending.
 */
export const MOST_LEVELS = 1_000;
/** The error text for a value that has more. */
export const TOO_DEEP = "it is nested more than 1,000 levels deep";

/** @throws RangeError for a value that the other side could not read */
export function checkLevels(value: unknown): void {
  if (deeper(value, MOST_LEVELS)) throw new RangeError(TOO_DEEP);
}

/**
 * Whether a clone of the value would go deeper than so many levels: from each part into those of its parts that it has not met.
 * Few values are deep, so the first look goes down a few levels and remembers nothing.
 */
export function deeper(value: unknown, levels: number): boolean {
  const SHALLOW = 50;
  /** Shared parts are looked at again each time, which must not take for ever. */
  let looks = 1_000_000;
  const partsOf = (of: object): readonly unknown[] => {
    if (Array.isArray(of)) return of;
    if (of instanceof Map) return [...of].flat();
    if (of instanceof Set) return [...of];
    return ArrayBuffer.isView(of) || of instanceof ArrayBuffer ? [] : Object.values(of);
  };
  const isShallow = (of: object, left: number): boolean => {
    if (left === 0) return false;
    for (const part of partsOf(of))
      if (typeof part === "object" && part !== null && (--looks < 0 || !isShallow(part, left - 1)))
        return false;
    return true;
  };
  if (typeof value !== "object" || value === null || isShallow(value, SHALLOW)) return false;
  const met = new Set<object>([value]);
  const path = [partsOf(value).values()];
  for (let inner = path.at(-1); inner !== undefined; inner = path.at(-1)) {
    const { done, value: part } = inner.next();
    if (done === true) path.pop();
    else if (typeof part === "object" && part !== null && !met.has(part)) {
      if (path.length === levels) return true;
      met.add(part);
      path.push(partsOf(part).values());
    }
  }
  return false;
}

/**
 * The path of the first part that structured clone refuses; `path` itself if no part is to blame alone, or none among the first
 * 100,000 and 1,000 levels. A part that cannot be read is one that cannot be sent. Each part is looked at once, those of fewer steps
 * first. Of a long path, the steps in the middle are left out.
 *
 * @param transfer - objects that move to the other thread instead of being cloned
 * @param isProxy - structured clone refuses every Proxy
 */
export function uncloneablePart(
  value: unknown,
  path: string,
  transfer: readonly unknown[],
  isProxy: (value: object) => boolean,
): string {
  interface Part {
    readonly value: unknown;
    readonly step: string;
    readonly of: Part | undefined;
    readonly level: number;
  }
  const MOST_PARTS = 100_000;
  const DEEPEST = 1_000;
  const SHOWN_STEPS = 20;
  const parts: Part[] = [{ value, step: path, of: undefined, level: 0 }];
  const met = new Set<unknown>(transfer);
  const add = (of: Part, step: string, read: () => unknown): void => {
    let part: unknown = Symbol("unreadable");
    try {
      part = read();
    } catch {
      // Refused below, as every symbol is.
    }
    parts.push({ value: part, step, of, level: of.level + 1 });
  };
  const pathOf = (part: Part): string => {
    const steps: string[] = [];
    for (let at: Part | undefined = part; at !== undefined; at = at.of) steps.push(at.step);
    steps.reverse();
    if (steps.length > 2 * SHOWN_STEPS) steps.splice(SHOWN_STEPS, steps.length - 2 * SHOWN_STEPS, "…");
    return steps.join("");
  };
  const isRefused = (leaf: unknown): boolean => {
    try {
      structuredClone(leaf);
      return false;
    } catch {
      return true;
    }
  };
  const stepOf = (key: string): string => (/^[\w$]+$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`);
  /** Adds the parts of an object, as far as there is room. False if it has none. */
  const open = (part: Part, of: object): boolean => {
    const room = MOST_PARTS - parts.length;
    if (room <= 0) return true;
    const before = parts.length;
    if (of instanceof Map) {
      let i = 0;
      for (const [key, one] of of) {
        if (i === room) break;
        add(part, `[${i}][0]`, () => key);
        add(part, `[${i++}][1]`, () => one);
      }
    } else if (of instanceof Set) {
      let i = 0;
      for (const one of of) if (i < room) add(part, `[${i++}]`, () => one);
    }
    const isList = Array.isArray(of);
    for (const key of Object.keys(of)) {
      if (parts.length >= MOST_PARTS) break;
      add(
        part,
        isList && /^\d+$/.test(key) ? `[${key}]` : stepOf(key),
        () => (of as Record<string, unknown>)[key],
      );
    }
    return parts.length > before;
  };
  try {
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i] as Part;
      const { value: one, level } = part;
      if (level > DEEPEST) break;
      if (typeof one === "function" || typeof one === "symbol") {
        if (!met.has(one)) return pathOf(part);
      } else if (typeof one === "object" && one !== null && !met.has(one)) {
        met.add(one);
        if (isProxy(one)) return pathOf(part);
        const isLeaf = ArrayBuffer.isView(one) || one instanceof ArrayBuffer || one instanceof Error;
        // Leaves are small but for buffers, and cloned to find out. Of an object with parts, the parts are looked at.
        if ((isLeaf || !open(part, one)) && isRefused(one)) return pathOf(part);
      }
    }
  } catch {
    // Not even the names of its parts can be read.
  }
  return path;
}
