// Re-routes of a dispatch group: how many, how fast, and from whom. Pure.

import type { Incident } from "../../../admin/history/operations.js";

/** A dispatch that went to another consumer, because the first one ended. */
export type Reroute = Incident & { readonly reroute: NonNullable<Incident["reroute"]> };

export interface RerouteFigures {
  readonly reroutes: readonly Reroute[];
  /** Median and longest time from the end of the consumer to the next attempt. Undefined: none is known. */
  readonly medianMs: number | undefined;
  readonly longestMs: number | undefined;
  /** Dispatches that found no other consumer. */
  readonly unplaced: number;
}

/** @param group - undefined: of all groups */
export function rerouteFigures(incidents: readonly Incident[], group: string | undefined): RerouteFigures {
  const reroutes = incidents.filter(
    (one): one is Reroute =>
      one.reroute !== undefined && (group === undefined || one.reroute.group === group),
  );
  const times = reroutes
    .flatMap(({ reroute: { tookMs } }) => (tookMs === undefined ? [] : [tookMs]))
    .sort((a, b) => a - b);
  return {
    reroutes,
    medianMs: times[Math.floor((times.length - 1) / 2)],
    longestMs: times.at(-1),
    unplaced: reroutes.filter(({ reroute: { to } }) => to === undefined).length,
  };
}
