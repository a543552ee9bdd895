// The form of a built-in grouping as plain data, under a key that every copy of the library has: another host has groupings of its own,
// and the copy that describes a topology to that host need not be the one that made the groupings.

import type { RoutingFunction } from "../../dispatch/route.js";

/** The built-in groupings. */
export const GROUPING_KINDS = [
  "shuffle",
  "fields",
  "partialKey",
  "all",
  "global",
  "direct",
  "localOrShuffle",
  "none",
] as const;
export type GroupingKind = (typeof GROUPING_KINDS)[number];

/** A built-in grouping, and the fields by which it chooses. */
export interface GroupingForm {
  readonly kind: GroupingKind;
  readonly fields: readonly string[];
}

/** The key of a grouping's form. */
export const GROUPING: unique symbol = Symbol.for("signalbox.grouping") as never;

/** The form of a grouping; undefined for a function that is no built-in grouping. */
export function formOf(grouping: object): GroupingForm | undefined {
  return (grouping as { readonly [GROUPING]?: GroupingForm })[GROUPING];
}

/** The name of a grouping for people. */
export function groupingLabel(grouping: RoutingFunction<never>): string {
  if (grouping.everyone === true) return "all";
  return grouping.label || grouping.name || "custom";
}
