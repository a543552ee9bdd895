// What a routing function answered: one of the candidates that it was given, or something that an error is to name.

import { show } from "../process/show.js";
import { isThenable } from "../process/thenable.js";
import type { Member } from "./member.js";

/** The candidate that was chosen, itself or by id. */
export function findChosen(candidates: readonly Member[], chosen: unknown): Member | undefined {
  if (typeof chosen === "string") return candidates.find((one) => one.id === chosen);
  return candidates.includes(chosen as Member) ? (chosen as Member) : undefined;
}

/** What was chosen, for the text of an error. */
export function describeChosen(chosen: unknown): string {
  if (isThenable(chosen)) return "a promise (a routing function answers at once)";
  const id = typeof chosen === "object" && chosen !== null ? (chosen as { id?: unknown }).id : undefined;
  return show(typeof id === "string" ? id : chosen);
}
