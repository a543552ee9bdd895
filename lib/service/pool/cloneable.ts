// Which part of a value keeps it from being sent to another thread.

/**
 * The path of the first part that structured clone refuses; `path` itself if no part is to blame alone. A part that cannot be read
 * is one that cannot be sent. Threads get the source of this function, so it uses nothing but what the host has.
 *
 * @param transfer - objects that move to the other thread instead of being cloned
 */
export function uncloneablePart(value: unknown, path: string, transfer: readonly unknown[]): string {
  const refuses = (part: unknown): boolean => {
    if (transfer.includes(part)) return false;
    try {
      structuredClone(part);
      return false;
    } catch {
      return true;
    }
  };
  const step = (of: object, key: string): string => {
    if (Array.isArray(of)) return `[${key}]`;
    return /^[\w$]+$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
  };
  /** The first part that is refused, with the step to it. */
  const culprit = (of: object): readonly [step: string, part: unknown] | undefined => {
    if (of instanceof Map) {
      for (const [i, entry] of [...of].entries())
        for (const [n, part] of entry.entries()) if (refuses(part)) return [`[${i}][${n}]`, part];
    } else if (of instanceof Set) {
      for (const [i, part] of [...of].entries()) if (refuses(part)) return [`[${i}]`, part];
    }
    for (const key of Object.keys(of)) {
      try {
        const part = (of as Record<string, unknown>)[key];
        if (refuses(part)) return [step(of, key), part];
      } catch {
        return [step(of, key), undefined];
      }
    }
    return undefined;
  };
  const seen = new Set<unknown>();
  let found = path;
  let part = value;
  try {
    while (typeof part === "object" && part !== null && !seen.has(part)) {
      seen.add(part);
      const next = culprit(part);
      if (next === undefined) return found;
      found += next[0];
      part = next[1];
    }
  } catch {
    // Not even the names of its parts can be read.
  }
  return found;
}
