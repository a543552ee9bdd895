// The supervision tree at a time: who stands below whom, and what had gone wrong by then. The structure comes from the supervisors, today's or
// those of that time; what happened comes from the incidents that the system keeps.

import type { Incident } from "../../../admin/history/operations.js";
import type { PastChild, PastSupervisor } from "../../../admin/history/past-tree.js";
import type { ChildSummary, SupervisorSummary } from "../../../admin/system/operations.js";

/** A supervisor of the tree, now or at a time: of the past, it has its children with it. */
export type TreeSupervisor = Omit<PastSupervisor, "listed"> &
  Partial<Pick<PastSupervisor, "listed">> & {
    readonly restarts?: SupervisorSummary["restarts"] | undefined;
  };

/** A child of the tree, now or at a time. */
export type TreeChild = Pick<ChildSummary, "id" | "status" | "pid"> &
  Partial<Pick<PastChild, "reason" | "ended">>;

/** How far back the tree shows what went wrong. */
export const LOOK_BACK_MS = 600_000;

/** Supervisors that stand below no other one, in their order. */
export function rootsOf(supervisors: readonly TreeSupervisor[]): readonly TreeSupervisor[] {
  const pids = new Set(supervisors.map(({ pid }) => pid));
  return supervisors.filter(({ parent }) => parent === undefined || parent === null || !pids.has(parent));
}

/** Supervisors that are shown with their children at first: from the top down, as many as there is room for. */
export function openAtFirst(supervisors: readonly TreeSupervisor[], most: number): ReadonlySet<string> {
  const open = new Set<string>();
  let level = rootsOf(supervisors);
  while (level.length > 0 && open.size < most) {
    for (const { pid } of level.slice(0, most - open.size)) open.add(pid);
    const above = new Set(level.map(({ pid }) => pid));
    level = supervisors.filter(({ parent }) => typeof parent === "string" && above.has(parent));
  }
  return open;
}

/** What the slider reaches. */
export interface SliderRange {
  readonly from: number;
  readonly to: number;
  /** It ends where the history begins, and not ten minutes ago. */
  readonly isShort: boolean;
}

/** @param since - from when on the tree is known. Undefined: that is not known yet */
export function sliderRange(now: number, since: number | undefined): SliderRange {
  const known = Math.max(0, now - (since ?? now - LOOK_BACK_MS));
  // By whole minutes: the bars above the slider would move otherwise.
  const length = Math.min(LOOK_BACK_MS, Math.max(1, Math.ceil(known / MINUTE_MS)) * MINUTE_MS);
  return { from: now - length, to: now, isShort: known < LOOK_BACK_MS };
}

const MINUTE_MS = 60_000;

/** What had happened to a child, or to a supervisor's children. */
export interface Marks {
  readonly restarts: number;
  /** The latest one of the time that is looked at. */
  readonly latest: Incident | undefined;
}

/** The incidents by the time `at`, as far back as the tree looks, the oldest first. */
export function until(incidents: readonly Incident[], at: number): readonly Incident[] {
  return incidents
    .filter((one) => one.at <= at && one.lastAt > at - LOOK_BACK_MS)
    .sort((a, b) => a.number - b.number);
}

/** What had happened to a child by the time. @param past - what `until` gives for that time */
export function marksOf(past: readonly Incident[], supervisor: string, id: string): Marks {
  const restarts = past.filter(({ restart }) => restart?.supervisor === supervisor && hits(restart, id));
  return { restarts: restarts.reduce((sum, { count }) => sum + count, 0), latest: restarts.at(-1) };
}

/** A child is restarted by its own end, or with the one that ended. */
function hits({ id, siblings }: NonNullable<Incident["restart"]>, child: string): boolean {
  return id === child || siblings.includes(child);
}

/** Restarts of the supervisor's intensity that were used by the time. Undefined: there is no limit, or it is not known. */
export function usedAt(
  past: readonly Incident[],
  { pid, intensity, periodMs }: Pick<SupervisorSummary, "pid" | "intensity" | "periodMs">,
  at: number,
): number | undefined {
  if (typeof intensity !== "number" || typeof periodMs !== "number") return undefined;
  return past
    .filter(({ restart, lastAt }) => restart?.supervisor === pid && lastAt > at - periodMs)
    .reduce((sum, { count }) => sum + count, 0);
}

/** A crash, and what followed. */
export interface Story {
  readonly crash: Incident;
  readonly restarts: readonly Incident[];
  readonly reroutes: readonly Incident[];
  /** What else came from it. */
  readonly others: readonly Incident[];
}

/** The crash with this number, or the one that the incident with this number came from, with all that followed. */
export function storyOf(incidents: readonly Incident[], number: number): Story | undefined {
  const byNumber = new Map(incidents.map((one) => [one.number, one]));
  let crash = byNumber.get(number);
  // A cause has a lower number, so this ends.
  for (;;) {
    const cause: Incident | undefined = crash?.cause === undefined ? undefined : byNumber.get(crash.cause);
    if (cause === undefined || crash === undefined || cause.number >= crash.number) break;
    crash = cause;
  }
  if (crash === undefined) return undefined;
  const came = new Set([crash.number]);
  const followed = [...incidents]
    .sort((a, b) => a.number - b.number)
    .filter((one) => {
      const isSo = one.cause !== undefined && came.has(one.cause);
      if (isSo) came.add(one.number);
      return isSo;
    });
  return {
    crash,
    restarts: followed.filter(({ kind }) => kind === "restart"),
    reroutes: followed.filter(({ kind }) => kind === "reroute"),
    others: followed.filter(({ kind }) => kind !== "restart" && kind !== "reroute"),
  };
}

/** How many incidents there were in each of `parts` equal parts of the time from `from` to `to`. */
export function histogram(
  incidents: readonly Incident[],
  from: number,
  to: number,
  parts: number,
): readonly number[] {
  const counts = new Array<number>(parts).fill(0);
  for (const { at, count } of incidents) {
    const place = Math.floor(((at - from) / (to - from)) * parts);
    if (place >= 0 && place < parts) counts[place] = (counts[place] as number) + count;
  }
  return counts;
}
