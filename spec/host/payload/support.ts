// For the tests of payloads.

import { UnstorableValueError } from "../../../lib/host/payload/errors.js";

/** The error with which something is refused. */
export function refusal(act: () => unknown): UnstorableValueError {
  try {
    act();
  } catch (error) {
    if (error instanceof UnstorableValueError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

/** Whether the same members are the same object in both: shared and circular references, which equality does not see. */
export function sameGraph(one: unknown, other: unknown, twins: Map<unknown, unknown> = new Map()): boolean {
  if (typeof one !== "object" || one === null || typeof other !== "object" || other === null) return true;
  if (twins.has(one)) return twins.get(one) === other;
  if ([...twins.values()].includes(other)) return false;
  twins.set(one, other);
  const members = (value: object): unknown[] =>
    value instanceof Map ? [...value].flat() : value instanceof Set ? [...value] : Object.values(value);
  const [left, right] = [members(one), members(other)];
  return left.length === right.length && left.every((member, i) => sameGraph(member, right[i], twins));
}
