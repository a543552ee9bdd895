// Commands about the queues and the schedules of flows.

import type { QueueInfo } from "../../flow/queues/info.js";
import type { ScheduleInfo } from "../../flow/schedules/schedules.js";
import { lengthOf, whenText } from "../shell/style.js";
import { type Column, column, figure, renderTable } from "../shell/table.js";
import { type CommandContext, type FlowsCommands, kit } from "./context.js";

const schedules = kit.ask({
  summary: "lists the schedules, with their next times and the flows that they started last",
  options: {
    pause: { value: "NAME", many: true, help: "first pauses this schedule" },
    resume: { value: "NAME", many: true, help: "first resumes this schedule" },
  },
  ask: async (on, _words, { pause = [], resume = [] }) => {
    for (const name of pause) await on.pauseSchedule(name);
    for (const name of resume) await on.resumeSchedule(name);
    return { schedules: await on.schedules() };
  },
  text: ({ schedules: found }, context) =>
    found.length === 0 ? "no schedules" : schedulesText(found, context),
});

function schedulesText(found: readonly ScheduleInfo[], { host }: CommandContext): string {
  const now = host.now();
  return renderTable<ScheduleInfo>(
    [
      column("SCHEDULE", ({ name }) => name),
      column("FLOW", ({ flow }) => flow),
      column("RULE", ruleOf),
      { title: "NEXT", cell: ({ paused, due }) => (paused ? "paused" : whenText(due, now)) },
      { title: "LAST", cell: ({ fired }) => whenText(fired, now) },
      column("LAST FLOW", ({ last }) => last),
      figure("SKIPPED", ({ skipped }) => skipped),
    ],
    found,
    host.columns,
  );
}

function ruleOf({ rules: { cron, timeZone, everyMs, at } }: ScheduleInfo): string {
  if (cron !== undefined) return `${cron} ${timeZone ?? ""}`;
  return everyMs === undefined ? `${at?.length ?? 0} times` : `every ${lengthOf(everyMs)}`;
}

const queues = kit.ask({
  summary: "lists the queues, their limits, and how many flows run, wait, and are held back by the rate",
  ask: async (on) => ({ queues: await on.queues() }),
  text: ({ queues: found }, { host }) =>
    found.length === 0 ? "no queues" : renderTable(QUEUE_COLUMNS, found, host.columns),
});

const QUEUE_COLUMNS: readonly Column<QueueInfo>[] = [
  column("QUEUE", ({ name }) => name),
  column("LIMITS", limitsText),
  figure("RUNNING", ({ running }) => running, String),
  figure("WAITING", ({ waiting }) => waiting, String),
  figure("HELD BY RATE", ({ heldByRate }) => heldByRate, String),
];

function limitsText({ limits }: QueueInfo): string {
  if (limits === undefined) return "unknown";
  const { concurrency, perHost, rate, perKey, keyRate } = limits;
  const one = (what: string, limit: number | undefined): string[] =>
    limit === undefined ? [] : [`${limit}${what}`];
  const per = (what: string, of: typeof rate): string[] =>
    of === undefined ? [] : [`${of.limit} in ${lengthOf(of.periodMs)}${what}`];
  const all = [
    ...one(" at once", concurrency),
    ...one(" a host", perHost),
    ...per("", rate),
    ...one(" a key", perKey),
    ...per(" a key", keyRate),
  ];
  return all.length === 0 ? "none" : all.join(", ");
}

export const PARTS: FlowsCommands = { schedules, queues };
