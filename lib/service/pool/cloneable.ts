// Which part of a value keeps it from being sent to another thread.

/**
 * The path of the first part that structured clone refuses; `path` itself if no part is to blame alone. Threads get the source of
 * this function, so it uses nothing but what the host has.
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
  const seen = new Set<unknown>();
  let found = path;
  let part = value;
  while (typeof part === "object" && part !== null && !seen.has(part)) {
    seen.add(part);
    const inner =
      part instanceof Map
        ? [...part].flatMap(([key, one], i) => [
            [`[key ${i}]`, key],
            [`[${i}]`, one],
          ])
        : part instanceof Set
          ? [...part].map((one, i) => [`[${i}]`, one])
          : Object.keys(part).map((key) => [
              Array.isArray(part)
                ? `[${key}]`
                : /^[\w$]+$/.test(key)
                  ? `.${key}`
                  : `[${JSON.stringify(key)}]`,
              (part as Record<string, unknown>)[key],
            ]);
    const culprit = inner.find(([, one]) => !seen.has(one) && refuses(one));
    if (culprit === undefined) return found;
    found += culprit[0] as string;
    part = culprit[1];
  }
  return found;
}
