// Commands about dead letters: they list them, and put them back, edit them, or give them up.

import type { DeedOptions, DeedResult } from "../../pipeline/messages/dead-options.js";
import type {
  DeadChoice,
  DeadMessage,
  DeadMessageRecord,
  PipelineOperations,
} from "../../pipeline/operations/operations.js";
import { oneLine } from "../../process/printable.js";
import { Misuse, type OptionSpecs } from "../shell/arguments.js";
import { printList } from "../shell/document.js";
import { EXIT } from "../shell/exit.js";
import { defined } from "../shell/list.js";
import { valueText } from "../shell/style.js";
import { jsonGiven, momentGiven, numberGiven } from "../shell/values.js";
import { type CommandContext, defineCommand, type PipelinesCommand } from "./context.js";
import { firstLine } from "./look.js";
import { count } from "./progress.js";

const dead = defineCommand({
  words: ["ID"],
  summary: "lists the dead letters of an execution, with their values and errors",
  options: {
    limit: { value: "COUNT", help: "most letters. Default: all" },
    route: { value: "ROUTE", help: "only those of this route" },
    records: {
      help: "lists the letters that are no longer dead: replayed, put back or dropped, by whom, when and why",
    },
  },
  run: async ({ words: [id], options: { route, limit, records } }, context) => {
    const most = defined({ limit: limit === undefined ? undefined : numberGiven("limit", limit, 1) });
    const operations = await context.operations();
    if (records) {
      if (route !== undefined) throw new Misuse("--route cannot be combined with --records");
      return printed("records", operations.deadRecords(id as string, most), recordText, context);
    }
    const letters = operations.deadLetters(id as string, { ...most, ...defined({ route }) });
    return printed("deadLetters", letters, letterText, context);
  },
});

async function printed<T>(
  name: string,
  items: AsyncIterable<T>,
  textOf: (item: T, context: CommandContext) => string,
  context: CommandContext,
): Promise<number> {
  if (context.json) await printList(context.host, name, items);
  else for await (const item of items) context.host.print(textOf(item, context));
  return EXIT.fine;
}

function letterText(letter: DeadMessage, { style, host }: CommandContext): string {
  const { id, queue, route, adapter, value, key, errors, at } = letter;
  const where = [route ?? queue, ...(adapter === undefined ? [] : [adapter])].join(" / ");
  const head = `${id}  ${oneLine(where)}  ${style.dim(host.iso(at))}${key === undefined ? "" : `  key ${oneLine(key)}`}`;
  return [
    head,
    `    ${valueText(value)}`,
    ...errors.map((error, i) => `    ${i + 1}. ${style.bad(firstLine(error))}`),
  ].join("\n");
}

function recordText(record: DeadMessageRecord, { style, host }: CommandContext): string {
  const { id, queue, turn, fate, by, reason, at, into, value } = record;
  const where = into === undefined ? "" : ` into ${oneLine(into)}`;
  const why = reason === undefined ? "" : `: ${oneLine(reason)}`;
  const again = turn === 1 ? "" : `  turn ${turn}`;
  return [
    `${id}  ${oneLine(queue)}${again}  ${fate}${where} by ${oneLine(by)}${why}  ${style.dim(host.iso(at))}`,
    `    ${valueText(value)}`,
  ].join("\n");
}

const DEED = {
  by: { value: "NAME", help: "your name, for the record. Default: the user of this terminal" },
  reason: { value: "TEXT", help: "the reason, for the record" },
} as const satisfies OptionSpecs;

const CHOICE = {
  all: { help: "without MESSAGE: all dead letters that the other options allow" },
  route: { value: "ROUTE", help: "without MESSAGE: only those of this route" },
  error: { value: "TEXT", help: "without MESSAGE: only those whose last error contains this" },
  before: { value: "WHEN", help: 'without MESSAGE: given up before a time, or an age such as "2 hours"' },
  limit: { value: "COUNT", help: "without MESSAGE: most letters. Default: all" },
} as const satisfies OptionSpecs;

/** Most letters of one request. */
const AT_ONCE = 1_000;

interface Choice {
  readonly all: boolean;
  readonly route: string | undefined;
  readonly error: string | undefined;
  readonly before: string | undefined;
  readonly limit: string | undefined;
}

function deedOf(
  { by, reason }: { readonly by: string | undefined; readonly reason: string | undefined },
  { host }: CommandContext,
): DeedOptions {
  const { USER, USERNAME } = host.env;
  return defined({ by: by ?? USER ?? USERNAME, reason });
}

/** Does the same with the messages that are named, or with those that options choose: page by page, so that each request is short. */
async function eachLetter(
  messages: readonly string[],
  choice: Choice,
  { host }: CommandContext,
  act: (which: readonly string[] | DeadChoice) => Promise<DeedResult>,
): Promise<number> {
  const { all, route, error, before, limit } = choice;
  const filter = defined({
    ...{ route, error },
    before: before === undefined ? undefined : momentGiven("before", before, host),
  });
  const isChosen = all || limit !== undefined || Object.keys(filter).length > 0;
  if (messages.length > 0) {
    if (isChosen) throw new Misuse("name messages, or choose them with options: not both");
    return (await act(messages)).letters;
  }
  if (!isChosen) throw new Misuse("name messages, or choose them with --route, --error, --before or --all");
  let left = limit === undefined ? Number.POSITIVE_INFINITY : numberGiven("limit", limit, 1);
  let letters = 0;
  for (let cursor: string | undefined; left > 0; ) {
    const done = await act({ ...filter, ...defined({ cursor }), limit: Math.min(left, AT_ONCE) });
    letters += done.letters;
    left -= done.letters;
    cursor = done.next;
    if (cursor === undefined) break;
  }
  return letters;
}

type Act = (
  on: PipelineOperations,
  id: string,
  which: readonly string[] | DeadChoice,
  deed: DeedOptions,
) => Promise<DeedResult>;

function ofLetters(summary: string, done: string, needsReason: boolean, act: Act): PipelinesCommand {
  return defineCommand({
    words: ["ID", "[MESSAGE…]"],
    summary,
    options: { ...CHOICE, ...DEED },
    run: async ({ words: [id, ...messages], options }, context) => {
      const deed = deedOf(options, context);
      if (needsReason && deed.reason === undefined) throw new Misuse("--reason is missing: say why");
      const on = await context.operations();
      const letters = await eachLetter(messages, options, context, (which) =>
        act(on, id as string, which, deed),
      );
      context.show({ letters }, () => `${count(letters)} dead letters ${done}`);
      return EXIT.fine;
    },
  });
}

const edit = defineCommand({
  words: ["ID", "MESSAGE", "VALUE"],
  summary: "puts a dead letter back with another value, which is JSON",
  options: DEED,
  run: async ({ words: [id, message, value], options }, context) => {
    const given = jsonGiven("VALUE", value as string);
    const on = await context.operations();
    await on.editDead(id as string, message as string, given, deedOf(options, context));
    context.show({ letters: 1 }, () => oneLine(`${message}: goes on with ${valueText(given)}`));
    return EXIT.fine;
  },
});

export const DEAD: Readonly<Record<string, PipelinesCommand>> = {
  dead,
  retry: ofLetters(
    "puts dead letters back into their queues with all attempts left; a completed execution runs again",
    "go on",
    false,
    (on, id, which, deed) => on.retryDead(id, which, deed),
  ),
  edit,
  drop: ofLetters("drops dead letters for good, with a reason", "are dropped", true, (on, id, which, deed) =>
    on.dropDead(id, which, { reason: "", ...deed }),
  ),
};
