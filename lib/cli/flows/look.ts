// Commands that look at flows, and change nothing.

import {
  FLOW_STATUSES,
  type FlowDetails,
  type FlowMetrics,
  type FlowStatus,
  type FlowSummary,
  type HistoryEvent,
} from "../../flow/operations/operations.js";
import type { FlowEvent } from "../../flow/runtime/event-page.js";
import { oneLine } from "../../process/printable.js";
import { factLines, momentText } from "../shell/facts.js";
import { LIST_LIMIT } from "../shell/kit.js";
import { lengthOf, valueText, whenText } from "../shell/style.js";
import { type Column, column, figure, renderTable } from "../shell/table.js";
import { moment, most, statuses, whole } from "../shell/values.js";
import { type CommandContext, type FlowsCommands, kit } from "./context.js";

const PAGE = {
  limit: most(`most flows. Default ${LIST_LIMIT}`),
  cursor: { value: "CURSOR", help: "the cursor that the previous page printed" },
} as const;

const list = kit.pages({
  summary: "lists flows, the newest first",
  name: "flows",
  none: "no flows",
  options: {
    status: statuses(FLOW_STATUSES),
    name: { value: "NAME", help: "only flows of this definition" },
    version: whole("VERSION", 1, "only flows of this version of it"),
    id: { value: "PREFIX", help: "only flows whose ids begin with this", gives: "idPrefix" },
    queue: { value: "QUEUE", help: "only flows of this queue" },
    parent: { value: "ID", help: "only flows that this one started" },
    "created-after": { ...moment('a time, or an age such as "2 hours"'), gives: "createdFrom" },
    "created-before": { ...moment("likewise"), gives: "createdBelow" },
    "updated-after": { ...moment("likewise"), gives: "updatedFrom" },
    "updated-before": { ...moment("likewise"), gives: "updatedBelow" },
    oldest: { help: "lists the oldest first", gives: "order", read: () => "oldest" as const },
    ...PAGE,
  },
  page: (on, given) => on.list(given),
  columns,
});

function columns({ style, host }: CommandContext): readonly Column<FlowSummary>[] {
  const now = host.now();
  return [
    column("ID", ({ id }) => id),
    column("NAME", ({ name, version }) => (version === 1 ? name : `${name} v${version}`)),
    {
      title: "STATUS",
      cell: ({ status, wish }) => (wish === undefined ? status : `${status}, ${wish}`),
      paint: (text, { status }) => style.status(text, status),
    },
    column("QUEUE", ({ queue }) => queue),
    { title: "STARTED", cell: ({ createdAt }) => whenText(createdAt, now) },
    { title: "CHANGED", cell: ({ updatedAt }) => whenText(updatedAt, now) },
    { title: "DUE", cell: ({ dueAt }) => whenText(dueAt, now) },
    column("PROBLEM", ({ problem }) => problem, style.bad),
  ];
}

const hospital = kit.pages({
  summary: "lists the failed flows in the hospital, and the error of each",
  name: "flows",
  none: "no flows",
  options: PAGE,
  page: (on, given) => on.list({ ...given, status: "hospitalized" }),
  columns,
});

const show = kit.ask({
  words: ["ID"],
  summary: "shows a flow, with its waits and unread messages",
  ask: (on, [id]) => on.inspect(id),
  text: details,
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

const history = kit.lines({
  words: ["ID"],
  summary: "prints what a flow has done, one line for each entry of its journal",
  options: {
    after: whole("NUMBER", -1, "only entries after this one"),
    limit: most("most entries. Default: all"),
  },
  name: "events",
  items: (on, [id], given) => on.history(id, given),
  line: eventLine,
});

const events = kit.lines({
  words: ["ID"],
  summary: "prints what a flow has published, one line for each event",
  options: {
    topic: { value: "TOPIC", help: "only events of this topic" },
    after: whole("POSITION", 0, "only events after this one"),
    follow: { help: "waits for further events, until the flow has ended" },
  },
  name: "events",
  items: (on, [id], given) => on.events(id, { follow: false, ...given }),
  line: publishedLine,
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

const metrics = kit.ask({
  summary: "shows how many flows are in which state, and how late they are",
  ask: (on) => on.metrics(),
  text: metricsText,
});

function metricsText({ counts, oldestPendingMs, lagMs }: FlowMetrics, { style }: CommandContext): string {
  const columns: readonly Column<FlowStatus>[] = [
    { title: "STATUS", cell: (status) => status, paint: style.status },
    figure("FLOWS", (status) => counts[status], String),
  ];
  const table = renderTable(columns, FLOW_STATUSES, undefined);
  const oldest = oldestPendingMs === undefined ? "none" : lengthOf(oldestPendingMs);
  return `${table}\n\noldest pending  ${oldest}\nlag             ${lengthOf(lagMs)}`;
}

export const LOOK: FlowsCommands = {
  list,
  show,
  history,
  events,
  hospital,
  metrics,
};
