// Passing errors of a store that a message met one after another: how they are counted, and how its row keeps them. Pure.

import type { Setback } from "./ledger.js";

/** The last setback of a message after a retry: an attempt that failed for another reason ends the row of setbacks. */
export function setbackAfter(
  message: { readonly setback?: Setback | undefined },
  error: string | undefined,
  setback: Setback | undefined,
): Setback | undefined {
  if (error !== undefined) return undefined;
  return setback ?? message.setback;
}

/** A setback as its row holds it. */
export function setbackText(setback: Setback | undefined): string | null {
  return setback === undefined ? null : JSON.stringify(setback);
}

/** The setback that the row of a message holds. */
export function setbackOf(text: string | null): Setback | undefined {
  return text === null ? undefined : (JSON.parse(text) as Setback);
}
