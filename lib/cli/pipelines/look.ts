// Commands that look at executions, and change nothing.

import { labelOf } from "../../host/versions.js";
import { missingText } from "../../pipeline/definition/missing.js";
import {
  EXECUTION_STATUSES,
  type ExecutionDetails,
  type ExecutionSummary,
  type Lineage,
  type MessageRecord,
} from "../../pipeline/operations/operations.js";
import { oneLine } from "../../process/printable.js";
import { Misuse } from "../shell/arguments.js";
import { EXIT } from "../shell/exit.js";
import { factLines, momentText } from "../shell/facts.js";
import { LIST_LIMIT, printItems } from "../shell/kit.js";
import { count, firstLine, lengthOf, valueText, whenText } from "../shell/style.js";
import { type Column, column, figure, renderTable, some } from "../shell/table.js";
import { moment, most, statuses } from "../shell/values.js";
import { type CommandContext, kit, type PipelinesCommands } from "./context.js";

const list = kit.pages({
  summary: "lists executions, the newest first",
  name: "executions",
  none: "no executions",
  options: {
    status: statuses(EXECUTION_STATUSES),
    pipeline: { value: "NAME", help: "only executions of this pipeline" },
    id: { value: "PREFIX", help: "only executions whose ids begin with this", gives: "idPrefix" },
    "created-after": { ...moment('a time, or an age such as "2 hours"'), gives: "createdFrom" },
    "created-before": { ...moment("likewise"), gives: "createdBelow" },
    oldest: { help: "lists the oldest first", gives: "order", read: () => "oldest" as const },
    limit: most(`most executions. Default ${LIST_LIMIT}`),
    cursor: { value: "CURSOR", help: "the cursor that the previous page printed" },
  },
  page: (on, given) => on.list(given),
  columns,
});

function columns({ style, host }: CommandContext): readonly Column<ExecutionSummary>[] {
  const now = host.now();
  return [
    column("ID", ({ id }) => id),
    column("PIPELINE", ({ pipeline }) => pipeline),
    { title: "VERSION", cell: ({ version }) => String(version ?? ""), align: "right" },
    {
      title: "STATUS",
      cell: ({ status, stranded }) => (stranded === undefined ? status : `${status}, stranded`),
      paint: (text, { status }) => style.status(text, status),
    },
    figure("INPUTS", ({ inputs }) => inputs, count),
    figure("DONE", ({ done }) => done, count),
    figure("PENDING", ({ pending }) => pending),
    figure("DEAD", ({ dead }) => dead, some, style.bad),
    figure("DROPPED", ({ dropped = 0 }) => dropped),
    { title: "STARTED", cell: ({ created }) => whenText(created, now) },
    { title: "TOOK", cell: ({ created, ended }) => (ended === undefined ? "" : lengthOf(ended - created)) },
    column("REPLAYS", ({ replays }) => replays),
  ];
}

const get = kit.ask({
  words: ["ID"],
  summary: "shows an execution with its queues, sources and frozen configuration",
  ask: (on, [id]) => on.inspect(id),
  text: details,
});

function details(found: ExecutionDetails, { host, style }: CommandContext): string {
  const now = host.now();
  const moment = (at: number | undefined): string => momentText(at, now, host);
  const lines = factLines([
    ["execution", found.id],
    ["pipeline", labelOf(found.pipeline, found.version)],
    ["status", found.status, (text) => style.status(text, found.status)],
    ["stranded", missingText(found.stranded ?? []), style.bad],
    ["replays", found.replays ?? ""],
    ["started", moment(found.created)],
    ["ended", moment(found.ended)],
    ["inputs", count(found.inputs)],
    ["done", count(found.done)],
    ["pending", some(found.pending)],
    ["dead", some(found.dead), style.bad],
    ["replayed", some(found.replayed ?? 0)],
    ["dropped", some(found.dropped ?? 0)],
    ["input", valueText(found.input)],
    ["error", valueText(found.error), style.bad],
  ]);
  const queues = renderTable<ExecutionDetails["queues"][number]>(
    [
      { title: "QUEUE", cell: ({ queue }) => queue },
      { title: "ROUTE", cell: ({ route = "" }) => route },
      figure("READY", ({ ready }) => ready, count),
      figure("DELAYED", ({ delayed }) => delayed),
      figure("DEAD", ({ dead }) => dead, some, style.bad),
    ],
    found.queues,
    host.columns,
  );
  const sources = found.sources.map(
    ({ name, given, open, dropped }) =>
      `  ${oneLine(name)}: ${count(given)} given${open ? ", and it may give more" : ""}${dropped === undefined ? "" : `, given up: ${oneLine(dropped)}`}`,
  );
  return [
    ...lines,
    ...(found.sources.length > 0 ? ["sources", ...sources] : []),
    ...(found.queues.length > 0 ? ["", queues] : []),
    ...heartbeatLines(found),
    "",
    `configuration ${valueText(found.configuration)}`,
  ].join("\n");
}

/** How far adapters are with their messages. */
function heartbeatLines({ heartbeats = [] }: ExecutionDetails): string[] {
  if (heartbeats.length === 0) return [];
  const lines = heartbeats.map(
    ({ message, queue, heartbeats: said }) => `  ${message} of ${oneLine(queue)}: ${valueText(said)}`,
  );
  return ["", "heartbeats", ...lines];
}

const RANGE = {
  after: { value: "MESSAGE", help: "only messages after this id" },
  limit: most("most messages. Default: all"),
} as const;

const lineage = kit.command({
  words: ["ID", "[MESSAGE]"],
  summary:
    "shows what became of a message, its ancestors and children; without MESSAGE, all that was settled",
  options: {
    ...RANGE,
    route: { value: "ROUTE", help: "without MESSAGE: only messages that this route has settled" },
    children: { help: "lists all children of MESSAGE" },
    batch: { help: "lists the messages of its batch" },
  },
  run: async ([id, message], given, context) => {
    const { route, children, batch, ...range } = given;
    const show = async (messages: AsyncIterable<MessageRecord>): Promise<number> =>
      printItems("messages", messages, context, (one) => messageLine(one, context));
    const on = await context.operations();
    if (message === undefined) {
      if (children || batch) throw new Misuse("--children and --batch need a MESSAGE");
      return show(on.messages(id, { ...range, ...(route !== undefined && { route }) }));
    }
    if (route !== undefined) throw new Misuse("--route cannot be combined with a MESSAGE");
    if (children && batch) throw new Misuse("--children cannot be combined with --batch");
    if (children) return show(on.children(id, message, range));
    if (batch) return show(on.batch(id, message, range));
    for (const option of Object.keys(range)) throw new Misuse(`--${option} needs --children or --batch`);
    const found = await on.lineage(id, message);
    context.show(found, () => lineageText(found, context));
    return EXIT.fine;
  },
});

function messageLine(message: MessageRecord, { style }: CommandContext): string {
  const { id, status, route, queue, attempt, children, batch, errors, setback } = message;
  const where = route ?? queue ?? "";
  const facts = [
    ...(attempt > 1 || status === "delayed" ? [`attempt ${attempt}`] : []),
    ...(children > 0 ? [`${count(children)} children`] : []),
    ...(batch === undefined ? [] : [`batch of ${batch}`]),
    ...(setback === undefined ? [] : [`held up by its store ${count(setback.times)} times`]),
  ];
  const last = setback?.error ?? errors.at(-1);
  const text = `${id}  ${status === "dead" ? style.bad(status) : status}  ${oneLine(where)}`;
  const more = facts.length === 0 ? "" : `  ${style.dim(facts.join(", "))}`;
  return `${text}${more}${last === undefined ? "" : `  ${style.bad(firstLine(last))}`}`;
}

function lineageText({ message, chain, children }: Lineage, context: CommandContext): string {
  const calls = message.calls.map(({ adapter, status, tookMs, gave, input, output, error }) => {
    const hashes = input === undefined && output === undefined ? "" : `, ${input ?? "-"} → ${output ?? "-"}`;
    const what = `    ${oneLine(adapter)}: ${status}, ${tookMs.toFixed(3)} ms, gave ${gave}${hashes}`;
    return error === undefined ? what : `${what}  ${context.style.bad(firstLine(error))}`;
  });
  const part = (title: string, of: readonly MessageRecord[]): string[] =>
    of.length === 0 ? [] : [title, ...of.map((one) => `  ${messageLine(one, context)}`)];
  const failed = message.errors.map(
    (error, i) => `    attempt ${i + 1}: ${context.style.bad(firstLine(error))}`,
  );
  const changes = (message.changes ?? []).map(
    ({ what, at, queue, by, reason }) =>
      `    ${what} in the queue ${oneLine(queue)} by ${oneLine(by)}, ${context.host.iso(at)}${reason === undefined ? "" : `: ${oneLine(reason)}`}`,
  );
  return [
    ...part("comes from", chain),
    "message",
    `  ${messageLine(message, context)}`,
    ...calls,
    ...failed,
    ...changes,
    ...part("children", children),
    ...(message.children > children.length ? ["  … --children lists all"] : []),
  ].join("\n");
}

const failures = kit.lines({
  words: ["ID"],
  summary: "lists the messages with a failed attempt, also those that succeeded later",
  options: { ...RANGE, route: { value: "ROUTE", help: "only messages of this route" } },
  name: "messages",
  items: (on, [id], given) => on.failures(id, given),
  line: messageLine,
});

export const LOOK: PipelinesCommands = { list, get, lineage, failures };
