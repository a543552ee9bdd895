// Whether two inputs are the same: as they are stored, or as values, with their properties in any order.

import type { Stored } from "../journal/entry.js";

/** @param decode - makes the value again */
export async function isSameInput(
  one: Stored,
  other: Stored,
  decode: (stored: Stored) => unknown,
): Promise<boolean> {
  return isSame(one, other) || isSame(await decode(one), await decode(other));
}

/** Arrays, bytes, dates and plain objects by what they hold; all else by identity. */
function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  const kind: unknown = Object.getPrototypeOf(one);
  if (kind !== Object.getPrototypeOf(other)) return false;
  if (kind === Map.prototype)
    return isSame([...(one as Map<unknown, unknown>)], [...(other as Map<unknown, unknown>)]);
  if (kind === Set.prototype) return isSame([...(one as Set<unknown>)], [...(other as Set<unknown>)]);
  if (Object.hasOwn(kind ?? {}, "getTime"))
    return (one as { getTime(): number }).getTime() === (other as { getTime(): number }).getTime();
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every(
      (name) =>
        Object.hasOwn(other, name) &&
        isSame((one as Record<string, unknown>)[name], (other as Record<string, unknown>)[name]),
    )
  );
}
