// The rules of schedules and the limits of queues of flows in words. Pure.

import type { QueueLimitsInfo } from "../../../flow/queues/declared.js";
import type { QueueInfo } from "../../../flow/queues/info.js";
import type { ScheduleInfo } from "../../../flow/schedules/schedules.js";
import { countText, durationText, plural } from "./format.js";

/** When a schedule is due. */
export function ruleWords({ cron, timeZone, everyMs, at = [] }: ScheduleInfo["rules"]): string {
  if (cron !== undefined) return `${cron} (${timeZone})`;
  return everyMs === undefined ? plural(at.length, "single time") : `every ${durationText(everyMs)}`;
}

const MISSED: Readonly<Record<ScheduleInfo["rules"]["missed"], string>> = {
  skip: "start nothing",
  last: "start one flow, for the last of them",
  all: "start a flow each",
};
const OVERLAP: Readonly<Record<ScheduleInfo["rules"]["overlap"], string>> = {
  allow: "starts the next one beside it",
  skip: "starts nothing",
  cancel: "cancels it and starts the next one",
};

/** What a schedule does about due times that passed while no host ran, and about a flow that still runs. */
export function exceptionWords({ missed, overlap, graceMs, backfill }: ScheduleInfo["rules"]): {
  readonly missed: string;
  readonly overlap: string;
} {
  const most = missed === "all" ? `, the last ${countText(backfill)} at most` : "";
  return {
    missed: `Due times that hosts see more than ${durationText(graceMs)} late ${MISSED[missed]}${most}.`,
    overlap: `A due time while the flow of the one before runs ${OVERLAP[overlap]}.`,
  };
}

/** The limits of a queue. */
export function limitWords(limits: QueueLimitsInfo | undefined): string {
  if (limits === undefined) return "unknown: no host has declared it";
  const { concurrency, perHost, rate, perKey, keyRate } = limits;
  const at = (what: string, limit: number | undefined): string[] =>
    limit === undefined ? [] : [`${countText(limit)} ${what}`];
  const per = (what: string, of: QueueLimitsInfo["rate"]): string[] =>
    of === undefined ? [] : [`${countText(of.limit)} in ${durationText(of.periodMs)}${what}`];
  const all = [
    ...at("at once", concurrency),
    ...at("on a host", perHost),
    ...per("", rate),
    ...at("of a key at once", perKey),
    ...per(" of a key", keyRate),
  ];
  return all.length === 0 ? "none" : all.join(", ");
}

/** Why flows of a queue wait. Undefined: none does, or the queue does not say. */
export function waitWords({ waiting, running, heldByRate, recent, limits }: QueueInfo): string | undefined {
  if (waiting === 0) return undefined;
  if (limits === undefined)
    return "No host has declared this queue: its flows wait until one does that has their definitions.";
  const { concurrency, rate } = limits;
  if (concurrency !== undefined && running >= concurrency)
    return concurrency === 1 ? "Its slot is taken." : `All of its ${countText(concurrency)} slots are taken.`;
  if (rate !== undefined && heldByRate > 0)
    return `${countText(recent ?? rate.limit)} of ${countText(rate.limit)} flows have started in ${durationText(rate.periodMs)}: the rate holds ${countText(heldByRate)} back.`;
  return "Its own limits let more start: those of their keys or of a host hold them back, or no host has their definitions.";
}
