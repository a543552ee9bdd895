// Reads the answer of a routing function: one of the candidates, or a value that an error names.

import { show } from "../process/show.js";
import { isThenable } from "../process/thenable.js";
import type { Member } from "./member.js";

/** The candidate that the answer is, or whose id it is. */
export function findChosen(candidates: readonly Member[], chosen: unknown): Member | undefined {
  if (typeof chosen === "string") return candidates.find((one) => one.id === chosen);
  return candidates.includes(chosen as Member) ? (chosen as Member) : undefined;
}

/** The answer as text, for an error. */
export function describeChosen(chosen: unknown): string {
  if (isThenable(chosen)) return "a promise (a routing function answers at once)";
  const id = typeof chosen === "object" && chosen !== null ? (chosen as { id?: unknown }).id : undefined;
  return show(typeof id === "string" ? id : chosen);
}
