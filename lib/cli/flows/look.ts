// Commands that look at flows, and change nothing.

import {
  FLOW_STATUSES,
  type FlowDetails,
  type FlowListOptions,
  type FlowMetrics,
  type FlowPage,
  type FlowSummary,
  type HistoryEvent,
} from "../../flow/operations/operations.js";
import type { FlowEvent } from "../../flow/runtime/event-page.js";
import { oneLine } from "../../process/printable.js";
import type { Given, OptionSpecs } from "../shell/arguments.js";
import { printList } from "../shell/document.js";
import { EXIT } from "../shell/exit.js";
import { factLines, momentText } from "../shell/facts.js";
import { defined, LIST_LIMIT, limitGiven, pageText, readPages, statusesGiven } from "../shell/list.js";
import { lengthOf, valueText, whenText } from "../shell/style.js";
import { type Column, renderTable } from "../shell/table.js";
import { momentGiven, numberGiven } from "../shell/values.js";
import { type CommandContext, defineCommand, type FlowsCommand } from "./context.js";

const FILTERS = {
  status: {
    value: "STATUS",
    many: true,
    help: `only this status, may be repeated: ${FLOW_STATUSES.join(", ")}`,
  },
  name: { value: "NAME", help: "only flows of this definition" },
  version: { value: "VERSION", help: "only flows of this version of it" },
  id: { value: "PREFIX", help: "only flows whose ids begin with this" },
  queue: { value: "QUEUE", help: "only flows of this queue" },
  parent: { value: "ID", help: "only flows that this one started" },
  "created-after": { value: "WHEN", help: 'a time, or an age such as "2 hours"' },
  "created-before": { value: "WHEN", help: "likewise" },
  "updated-after": { value: "WHEN", help: "likewise" },
  "updated-before": { value: "WHEN", help: "likewise" },
  oldest: { help: "lists the oldest first" },
  limit: { value: "COUNT", help: `most flows. Default ${LIST_LIMIT}` },
  cursor: { value: "CURSOR", help: "the cursor that the previous page printed" },
} as const satisfies OptionSpecs;

function filterOf({ options }: Given<typeof FILTERS>, { host }: CommandContext): FlowListOptions {
  const when = (option: keyof typeof FILTERS, text: string | undefined): number | undefined =>
    text === undefined ? undefined : momentGiven(option, text, host);
  return defined({
    status: statusesGiven(options.status, FLOW_STATUSES),
    name: options.name,
    version: options.version === undefined ? undefined : numberGiven("version", options.version, 1),
    idPrefix: options.id,
    queue: options.queue,
    parent: options.parent,
    createdFrom: when("created-after", options["created-after"]),
    createdBelow: when("created-before", options["created-before"]),
    updatedFrom: when("updated-after", options["updated-after"]),
    updatedBelow: when("updated-before", options["updated-before"]),
    order: options.oldest ? "oldest" : undefined,
    cursor: options.cursor,
  });
}

/** Pages until there are enough flows. */
async function listed(context: CommandContext, filter: FlowListOptions, limit: number): Promise<FlowPage> {
  const { items, rest } = await readPages(
    limit,
    filter.cursor,
    (range) => context.operations.list({ ...filter, ...range }),
    ({ flows }) => flows,
  );
  return { flows: items, ...rest };
}

function columns({ style, host }: CommandContext): readonly Column<FlowSummary>[] {
  const now = host.now();
  return [
    { title: "ID", cell: ({ id }) => id, shrinks: true },
    {
      title: "NAME",
      cell: ({ name, version }) => (version === 1 ? name : `${name} v${version}`),
      shrinks: true,
    },
    {
      title: "STATUS",
      cell: ({ status, wish }) => (wish === undefined ? status : `${status}, ${wish}`),
      paint: (text, { status }) => style.status(text, status),
    },
    { title: "QUEUE", cell: ({ queue = "" }) => queue, shrinks: true },
    { title: "STARTED", cell: ({ createdAt }) => whenText(createdAt, now) },
    { title: "CHANGED", cell: ({ updatedAt }) => whenText(updatedAt, now) },
    { title: "DUE", cell: ({ dueAt }) => whenText(dueAt, now) },
    { title: "PROBLEM", cell: ({ problem = "" }) => problem, shrinks: true, paint: style.bad },
  ];
}

function showPage(context: CommandContext, page: FlowPage): number {
  context.show(page, () => pageText(columns(context), page.flows, page.next, "no flows", context));
  return EXIT.fine;
}

const list = defineCommand({
  words: [],
  summary: "lists flows, the newest first",
  options: FILTERS,
  run: async (given, context) => {
    const limit = limitGiven(given.options.limit);
    return showPage(context, await listed(context, filterOf(given, context), limit));
  },
});

const hospital = defineCommand({
  words: [],
  summary: "lists the failed flows in the hospital, and the error of each",
  options: { limit: FILTERS.limit, cursor: FILTERS.cursor },
  run: async ({ options: { limit, cursor } }, context) => {
    const filter = { status: "hospitalized", ...(cursor !== undefined && { cursor }) } as const;
    return showPage(context, await listed(context, filter, limitGiven(limit)));
  },
});

const show = defineCommand({
  words: ["ID"],
  summary: "shows a flow, with its waits and unread messages",
  options: {},
  run: async ({ words: [id] }, context) => {
    const flow = await context.operations.inspect(id as string);
    context.show(flow, () => details(flow, context));
    return EXIT.fine;
  },
});

function details(flow: FlowDetails, { host, style }: CommandContext): string {
  const now = host.now();
  const moment = (at: number | undefined): string => momentText(at, now, host);
  const lines = factLines([
    ["flow", flow.id],
    ["definition", `${flow.name}, version ${flow.version}`],
    ["status", flow.status, (text) => style.status(text, flow.status)],
    ["asked for", flow.wish ?? ""],
    ["problem", flow.problem ?? "", style.bad],
    ["started", moment(flow.createdAt)],
    ["changed", moment(flow.updatedAt)],
    ["ended", moment(flow.finishedAt)],
    ["due", moment(flow.dueAt)],
    ["parent", flow.parent ?? ""],
    ["queue", flow.queue ?? ""],
    ["host", flow.holder === undefined ? "" : `token ${flow.holder}`],
    [
      "journal",
      `${flow.entries} entries${flow.generation > 0 ? `, begun anew ${flow.generation} times` : ""}`,
    ],
    ["input", valueText(flow.input)],
    ["progress", valueText(flow.progress)],
    ["heartbeats", valueText(flow.heartbeats)],
    ["result", valueText(flow.result)],
    ["error", valueText(flow.error), style.bad],
  ]);
  const waits = flow.pending.map(
    ({ kind, key, dueAt, attempts }) =>
      `  ${oneLine(`${kind} ${key}`)}${attempts === undefined ? "" : `, ${attempts} failed`}${dueAt === undefined ? "" : `, due ${whenText(dueAt, now)}`}`,
  );
  const mail = flow.mail.map(
    ({ topic, at, sender }) =>
      `  ${oneLine(topic)}, ${whenText(at, now)}${sender === undefined ? "" : `, from ${oneLine(sender)}`}`,
  );
  const children = flow.children.map(
    ({ id, name, status }) => `  ${oneLine(`${id}, ${name}`)}: ${style.status(status, status)}`,
  );
  const part = (title: string, of: readonly string[]): string[] => (of.length > 0 ? [title, ...of] : []);
  return [
    ...lines,
    ...part("waits for", waits),
    ...part("unread messages", mail),
    ...part("children", children),
  ].join("\n");
}

const history = defineCommand({
  words: ["ID"],
  summary: "prints what a flow has done, one line for each entry of its journal",
  options: {
    after: { value: "NUMBER", help: "only entries after this one" },
    limit: { value: "COUNT", help: "most entries. Default: all" },
  },
  run: async ({ words: [id], options: { after, limit } }, context) => {
    const options = {
      ...(after !== undefined && { after: numberGiven("after", after, -1) }),
      ...(limit !== undefined && { limit: numberGiven("limit", limit, 1) }),
    };
    const events = context.operations.history(id as string, options);
    if (context.json) await printList(context.host, "events", events);
    else for await (const event of events) context.host.print(eventLine(event, context));
    return EXIT.fine;
  },
});

const events = defineCommand({
  words: ["ID"],
  summary: "prints what a flow has published, one line for each event",
  options: {
    topic: { value: "TOPIC", help: "only events of this topic" },
    after: { value: "POSITION", help: "only events after this one" },
    follow: { help: "waits for further events, until the flow has ended" },
  },
  run: async ({ words: [id], options: { topic, after, follow } }, context) => {
    const found = context.operations.events(id as string, {
      follow: follow === true,
      ...(topic !== undefined && { topic }),
      ...(after !== undefined && { after: numberGiven("after", after, 0) }),
    });
    if (context.json) await printList(context.host, "events", found);
    else for await (const event of found) context.host.print(publishedLine(event, context));
    return EXIT.fine;
  },
});

function publishedLine({ position, at, topic, value }: FlowEvent, { style, host }: CommandContext): string {
  const shown = value === undefined ? "" : ` ${valueText(value)}`;
  return `${String(position).padStart(5)}  ${style.dim(host.iso(at))}  ${oneLine(`${topic}${shown}`)}`;
}

function eventLine(
  { seq, at, type, key, value, attempt, dueAt }: HistoryEvent,
  { style, host }: CommandContext,
): string {
  const time = style.dim(at === 0 ? "".padEnd(24) : host.iso(at));
  const what: Readonly<Record<HistoryEvent["type"], string>> = {
    done: "",
    error: style.bad("failed "),
    begun: "waits ",
    retry: style.bad(`attempt ${attempt ?? "?"} failed `),
    cancelled: "cancelled",
    unreadable: style.bad("unreadable "),
  };
  const due = dueAt === undefined ? "" : `, until ${host.iso(dueAt)}`;
  const shown = value === undefined ? "" : ` ${valueText(value)}`;
  const rest = oneLine(`${key ?? ""}${due}${shown}`);
  const room = host.columns === undefined ? rest.length : Math.max(20, host.columns - PLACE_WIDTH);
  return `${String(seq).padStart(5)}  ${time}  ${what[type]}${rest.length > room ? `${rest.slice(0, room - 1)}…` : rest}`;
}

/** The number and the time before an event, and the longest word about it. */
const PLACE_WIDTH = 55;

const metrics = defineCommand({
  words: [],
  summary: "shows how many flows are in which state, and how late they are",
  options: {},
  run: async (_given, context) => {
    const found = await context.operations.metrics();
    context.show(found, () => metricsText(found, context));
    return EXIT.fine;
  },
});

function metricsText({ counts, oldestPendingMs, lagMs }: FlowMetrics, { style }: CommandContext): string {
  const rows = FLOW_STATUSES.map((status) => ({ status, count: counts[status] }));
  const table = renderTable(
    [
      {
        title: "STATUS",
        cell: ({ status }) => status,
        paint: (text, { status }) => style.status(text, status),
      },
      { title: "FLOWS", cell: ({ count }) => String(count), align: "right" },
    ],
    rows,
    undefined,
  );
  const oldest = oldestPendingMs === undefined ? "none" : lengthOf(oldestPendingMs);
  return `${table}\n\noldest pending  ${oldest}\nlag             ${lengthOf(lagMs)}`;
}

export const LOOK: Readonly<Record<string, FlowsCommand>> = {
  list,
  show,
  history,
  events,
  hospital,
  metrics,
};
