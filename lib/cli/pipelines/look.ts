// Commands that look at executions, and change nothing.

import { labelOf } from "../../host/versions.js";
import { missingText } from "../../pipeline/definition/missing.js";
import {
  EXECUTION_STATUSES,
  type ExecutionDetails,
  type ExecutionListOptions,
  type ExecutionPage,
  type ExecutionSummary,
  type Lineage,
  type MessageRecord,
} from "../../pipeline/operations/operations.js";
import { oneLine } from "../../process/printable.js";
import { type Given, Misuse, type OptionSpecs } from "../shell/arguments.js";
import { printList } from "../shell/document.js";
import { EXIT } from "../shell/exit.js";
import { factLines, momentText } from "../shell/facts.js";
import { defined, LIST_LIMIT, limitGiven, pageText, readPages, statusesGiven } from "../shell/list.js";
import { count, firstLine, lengthOf, valueText, whenText } from "../shell/style.js";
import { type Column, renderTable } from "../shell/table.js";
import { momentGiven, numberGiven } from "../shell/values.js";
import { type CommandContext, defineCommand, type PipelinesCommand } from "./context.js";

const FILTERS = {
  status: {
    value: "STATUS",
    many: true,
    help: `only this status, may be repeated: ${EXECUTION_STATUSES.join(", ")}`,
  },
  pipeline: { value: "NAME", help: "only executions of this pipeline" },
  id: { value: "PREFIX", help: "only executions whose ids begin with this" },
  "created-after": { value: "WHEN", help: 'a time, or an age such as "2 hours"' },
  "created-before": { value: "WHEN", help: "likewise" },
  oldest: { help: "lists the oldest first" },
  limit: { value: "COUNT", help: `most executions. Default ${LIST_LIMIT}` },
  cursor: { value: "CURSOR", help: "the cursor that the previous page printed" },
} as const satisfies OptionSpecs;

function filterOf({ options }: Given<typeof FILTERS>, { host }: CommandContext): ExecutionListOptions {
  const when = (option: keyof typeof FILTERS, text: string | undefined): number | undefined =>
    text === undefined ? undefined : momentGiven(option, text, host);
  return defined({
    status: statusesGiven(options.status, EXECUTION_STATUSES),
    pipeline: options.pipeline,
    idPrefix: options.id,
    createdFrom: when("created-after", options["created-after"]),
    createdBelow: when("created-before", options["created-before"]),
    order: options.oldest ? "oldest" : undefined,
    cursor: options.cursor,
  });
}

const list = defineCommand({
  words: [],
  summary: "lists executions, the newest first",
  options: FILTERS,
  run: async (given, context) => {
    const limit = limitGiven(given.options.limit);
    const page = await listed(context, filterOf(given, context), limit);
    context.show(page, () =>
      pageText(columns(context), page.executions, page.next, "no executions", context),
    );
    return EXIT.fine;
  },
});

/** Pages until there are enough executions. */
async function listed(
  context: CommandContext,
  filter: ExecutionListOptions,
  limit: number,
): Promise<ExecutionPage> {
  const operations = await context.operations();
  const { items, rest } = await readPages(
    limit,
    filter.cursor,
    (range) => operations.list({ ...filter, ...range }),
    ({ executions }) => executions,
  );
  return { executions: items, ...rest };
}

const number = (n: number): string => (n === 0 ? "" : count(n));

function columns({ style, host }: CommandContext): readonly Column<ExecutionSummary>[] {
  const now = host.now();
  return [
    { title: "ID", cell: ({ id }) => id, shrinks: true },
    { title: "PIPELINE", cell: ({ pipeline }) => pipeline, shrinks: true },
    {
      title: "VERSION",
      cell: ({ version }) => (version === undefined ? "" : String(version)),
      align: "right",
    },
    {
      title: "STATUS",
      cell: ({ status, stranded }) => (stranded === undefined ? status : `${status}, stranded`),
      paint: (text, { status }) => style.status(text, status),
    },
    { title: "INPUTS", cell: ({ inputs }) => count(inputs), align: "right" },
    { title: "DONE", cell: ({ done }) => count(done), align: "right" },
    { title: "PENDING", cell: ({ pending }) => number(pending), align: "right" },
    { title: "DEAD", cell: ({ dead }) => number(dead), align: "right", paint: style.bad },
    { title: "DROPPED", cell: ({ dropped = 0 }) => number(dropped), align: "right" },
    { title: "STARTED", cell: ({ created }) => whenText(created, now) },
    { title: "TOOK", cell: ({ created, ended }) => (ended === undefined ? "" : lengthOf(ended - created)) },
    { title: "REPLAYS", cell: ({ replays = "" }) => replays, shrinks: true },
  ];
}

const get = defineCommand({
  words: ["ID"],
  summary: "shows an execution with its queues, sources and frozen configuration",
  options: {},
  run: async ({ words: [id] }, context) => {
    const found = await (await context.operations()).inspect(id as string);
    context.show(found, () => details(found, context));
    return EXIT.fine;
  },
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
    ["pending", number(found.pending)],
    ["dead", number(found.dead), style.bad],
    ["replayed", number(found.replayed ?? 0)],
    ["dropped", number(found.dropped ?? 0)],
    ["input", valueText(found.input)],
    ["error", valueText(found.error), style.bad],
  ]);
  const queues = renderTable(
    [
      { title: "QUEUE", cell: ({ queue }) => queue },
      { title: "ROUTE", cell: ({ route = "" }) => route },
      { title: "READY", cell: ({ ready }) => count(ready), align: "right" },
      { title: "DELAYED", cell: ({ delayed }) => number(delayed), align: "right" },
      { title: "DEAD", cell: ({ dead }) => number(dead), align: "right", paint: style.bad },
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
  limit: { value: "COUNT", help: "most messages. Default: all" },
} as const satisfies OptionSpecs;

function rangeOf({
  after,
  limit,
}: {
  readonly after: string | undefined;
  readonly limit: string | undefined;
}) {
  return {
    ...(after !== undefined && { after }),
    ...(limit !== undefined && { limit: numberGiven("limit", limit, 1) }),
  };
}

const lineage = defineCommand({
  words: ["ID", "[MESSAGE]"],
  summary:
    "shows what became of a message, its ancestors and children; without MESSAGE, all that was settled",
  options: {
    ...RANGE,
    route: { value: "ROUTE", help: "without MESSAGE: only messages that this route has settled" },
    children: { help: "lists all children of MESSAGE" },
    batch: { help: "lists the messages of its batch" },
  },
  run: async ({ words: [id, message], options }, context) => {
    const operations = await context.operations();
    const range = rangeOf(options);
    const { route, children, batch } = options;
    if (message === undefined) {
      if (children || batch) throw new Misuse("--children and --batch need a MESSAGE");
      const filter = route === undefined ? range : { ...range, route };
      return printMessages(operations.messages(id as string, filter), context);
    }
    if (route !== undefined) throw new Misuse("--route cannot be combined with a MESSAGE");
    if (children && batch) throw new Misuse("--children cannot be combined with --batch");
    if (children) return printMessages(operations.children(id as string, message, range), context);
    if (batch) return printMessages(operations.batch(id as string, message, range), context);
    for (const option of Object.keys(range)) throw new Misuse(`--${option} needs --children or --batch`);
    const found = await operations.lineage(id as string, message);
    context.show(found, () => lineageText(found, context));
    return EXIT.fine;
  },
});

async function printMessages(
  messages: AsyncIterable<MessageRecord>,
  context: CommandContext,
): Promise<number> {
  if (context.json) await printList(context.host, "messages", messages);
  else for await (const message of messages) context.host.print(messageLine(message, context));
  return EXIT.fine;
}

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

const failures = defineCommand({
  words: ["ID"],
  summary: "lists the messages with a failed attempt, also those that succeeded later",
  options: { ...RANGE, route: { value: "ROUTE", help: "only messages of this route" } },
  run: async ({ words: [id], options }, context) => {
    const { route } = options;
    const filter = { ...rangeOf(options), ...(route !== undefined && { route }) };
    return printMessages((await context.operations()).failures(id as string, filter), context);
  },
});

export const LOOK: Readonly<Record<string, PipelinesCommand>> = { list, get, lineage, failures };
