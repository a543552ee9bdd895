// What all rules have in common.

import type { Blueprint, Subscription } from "../definition/blueprint.js";
import type { StormFinding } from "./finding.js";

/** Looks at a topology, and says what it found. */
export type StormRule = (blueprint: Blueprint) => readonly StormFinding[];

/** A subscription as the place of a finding. */
export function placeOf({ from, stream, to }: Pick<Subscription, "from" | "stream" | "to">): string {
  return `${to} <- ${from}.${stream}`;
}
