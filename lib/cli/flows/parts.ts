// Commands about what flows wait in and are started by: queues and schedules.

import type { QueueInfo } from "../../flow/queues/info.js";
import type { ScheduleInfo } from "../../flow/schedules/schedules.js";
import { EXIT } from "../shell/exit.js";
import { lengthOf, whenText } from "../shell/style.js";
import { renderTable } from "../shell/table.js";
import { type CommandContext, defineCommand, type FlowsCommand } from "./context.js";

const schedules = defineCommand({
  words: [],
  summary: "lists the schedules, with their next times and the flows that they started last",
  options: {
    pause: { value: "NAME", many: true, help: "first pauses this schedule" },
    resume: { value: "NAME", many: true, help: "first resumes this schedule" },
  },
  run: async ({ options: { pause, resume } }, context) => {
    const { operations } = context;
    for (const name of pause) await operations.pauseSchedule(name);
    for (const name of resume) await operations.resumeSchedule(name);
    const found = await operations.schedules();
    context.show({ schedules: found }, () =>
      found.length === 0 ? "no schedules" : schedulesText(found, context),
    );
    return EXIT.fine;
  },
});

function schedulesText(found: readonly ScheduleInfo[], { host }: CommandContext): string {
  const now = host.now();
  return renderTable<ScheduleInfo>(
    [
      { title: "SCHEDULE", cell: ({ name }) => name, shrinks: true },
      { title: "FLOW", cell: ({ flow }) => flow, shrinks: true },
      { title: "RULE", cell: ruleOf, shrinks: true },
      { title: "NEXT", cell: ({ paused, due }) => (paused ? "paused" : whenText(due, now)) },
      { title: "LAST", cell: ({ fired }) => whenText(fired, now) },
      { title: "LAST FLOW", cell: ({ last = "" }) => last, shrinks: true },
      { title: "SKIPPED", cell: ({ skipped }) => (skipped === 0 ? "" : String(skipped)), align: "right" },
    ],
    found,
    host.columns,
  );
}

function ruleOf({ rules: { cron, timeZone, everyMs, at } }: ScheduleInfo): string {
  if (cron !== undefined) return `${cron} ${timeZone ?? ""}`;
  return everyMs === undefined ? `${at?.length ?? 0} times` : `every ${lengthOf(everyMs)}`;
}

const queues = defineCommand({
  words: [],
  summary: "lists the queues, their limits, and how many flows run, wait, and are held back by the rate",
  options: {},
  run: async (_given, context) => {
    const found = await context.operations.queues();
    context.show({ queues: found }, () => (found.length === 0 ? "no queues" : queuesText(found, context)));
    return EXIT.fine;
  },
});

function queuesText(found: readonly QueueInfo[], { host }: CommandContext): string {
  return renderTable<QueueInfo>(
    [
      { title: "QUEUE", cell: ({ name }) => name, shrinks: true },
      { title: "LIMITS", cell: limitsText, shrinks: true },
      { title: "RUNNING", cell: ({ running }) => String(running), align: "right" },
      { title: "WAITING", cell: ({ waiting }) => String(waiting), align: "right" },
      { title: "HELD BY RATE", cell: ({ heldByRate }) => String(heldByRate), align: "right" },
    ],
    found,
    host.columns,
  );
}

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

export const PARTS: Readonly<Record<string, FlowsCommand>> = { schedules, queues };
