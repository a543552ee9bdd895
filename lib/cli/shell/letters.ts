// What commands about dead letters share, those of pipelines and those of durable queues: which letters, by whom, and how they are shown.

import type { DeedOptions, DeedResult, LetterFilter } from "../../pipeline/messages/dead-options.js";
import type { DeadLetterRecord } from "../../pipeline/messages/dead-records.js";
import { oneLine } from "../../process/printable.js";
import { Misuse } from "./arguments.js";
import type { Showing, StoreCommandHost } from "./context.js";
import { printList } from "./document.js";
import { EXIT } from "./exit.js";
import { defined } from "./list.js";
import { count, firstLine, valueText } from "./style.js";
import { jsonGiven, momentGiven, numberGiven } from "./values.js";

interface TextOption {
  readonly value: string;
  readonly help: string;
}

/** The options that say who acts on letters, and why. */
export const DEED: { readonly by: TextOption; readonly reason: TextOption } = {
  by: { value: "NAME", help: "your name, for the record. Default: the user of this terminal" },
  reason: { value: "TEXT", help: "the reason, for the record" },
};

/** The options that choose letters, where none is named. */
export const CHOICE: {
  readonly all: { readonly help: string };
  readonly error: TextOption;
  readonly before: TextOption;
  readonly limit: TextOption;
} = {
  all: { help: "without MESSAGE: all dead letters that the other options allow" },
  error: { value: "TEXT", help: "without MESSAGE: only those whose last error contains this" },
  before: { value: "WHEN", help: 'without MESSAGE: given up before a time, or an age such as "2 hours"' },
  limit: { value: "COUNT", help: "without MESSAGE: most letters. Default: all" },
};

/** A terminal whose user is known. */
export interface LetterHost extends StoreCommandHost {
  /** The variables of the environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

function deedOf(
  { by, reason }: { readonly by: string | undefined; readonly reason: string | undefined },
  { env: { USER, USERNAME } }: LetterHost,
): DeedOptions {
  return defined({ by: by ?? USER ?? USERNAME, reason });
}

/** What the options of {@link CHOICE} say. */
interface LetterChoice {
  readonly all: boolean;
  readonly error: string | undefined;
  readonly before: string | undefined;
  readonly limit: string | undefined;
  readonly route?: string | undefined;
}

/** Most letters of one request. */
const AT_ONCE = 1_000;

/** Does the same with the messages that are named, or with those that options choose: page by page, so that each request is short. */
async function eachLetter(
  messages: readonly string[],
  choice: LetterChoice,
  host: LetterHost,
  act: (which: readonly string[] | (LetterFilter & { readonly route?: string })) => Promise<DeedResult>,
): Promise<number> {
  const { all, error, before, limit } = choice;
  const filter = defined({
    route: choice.route,
    error,
    before: before === undefined ? undefined : momentGiven("before", before, host),
  });
  const isChosen = all || limit !== undefined || Object.keys(filter).length > 0;
  if (messages.length > 0) {
    if (isChosen) throw new Misuse("name messages, or choose them with options: not both");
    return (await act(messages)).letters;
  }
  const route = "route" in choice ? "--route, " : "";
  if (!isChosen) throw new Misuse(`name messages, or choose them with ${route}--error, --before or --all`);
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

/** Acts on the letters that are named or chosen, and says of how many. */
export async function actOnLetters<Host extends LetterHost, Status extends string>(
  messages: readonly string[],
  options: LetterChoice & { readonly by: string | undefined; readonly reason: string | undefined },
  { host, show }: Showing<Host, Status>,
  { done, needsReason }: { readonly done: string; readonly needsReason: boolean },
  act: (which: Parameters<Parameters<typeof eachLetter>[3]>[0], deed: DeedOptions) => Promise<DeedResult>,
): Promise<number> {
  const deed = deedOf(options, host);
  if (needsReason && deed.reason === undefined) throw new Misuse("--reason is missing: say why");
  const letters = await eachLetter(messages, options, host, (which) => act(which, deed));
  show({ letters }, () => `${count(letters)} dead letters ${done}`);
  return EXIT.fine;
}

/** Puts a letter back with another value, as JSON says it. */
export async function editLetter<Host extends LetterHost, Status extends string>(
  message: string,
  value: string,
  options: { readonly by: string | undefined; readonly reason: string | undefined },
  { host, show }: Showing<Host, Status>,
  act: (value: unknown, deed: DeedOptions) => Promise<void>,
): Promise<number> {
  const given = jsonGiven("VALUE", value);
  await act(given, deedOf(options, host));
  show({ letters: 1 }, () => oneLine(`${message}: goes on with ${valueText(given)}`));
  return EXIT.fine;
}

/** Prints a list item by item. @param name - of the list in the document of `--json` */
export async function printItems<T, Host extends StoreCommandHost, Status extends string>(
  name: string,
  items: AsyncIterable<T>,
  { host, json }: Showing<Host, Status>,
  textOf: (item: T) => string,
): Promise<number> {
  if (json) await printList(host, name, items);
  else for await (const item of items) host.print(textOf(item));
  return EXIT.fine;
}

/** A letter as some lines. @param where - it was, in one line */
export function letterText<Host extends StoreCommandHost, Status extends string>(
  letter: {
    readonly id: string;
    readonly value: unknown;
    readonly key?: string | undefined;
    readonly at: number;
  },
  where: string,
  errors: readonly string[],
  { style, host }: Showing<Host, Status>,
): string {
  const { id, value, key, at } = letter;
  const head = `${oneLine(id)}  ${oneLine(where)}  ${style.dim(host.iso(at))}${key === undefined ? "" : `  key ${oneLine(key)}`}`;
  const lines = errors.map((error, i) => `    ${i + 1}. ${style.bad(firstLine(error))}`);
  return [head, `    ${valueText(value)}`, ...lines].join("\n");
}

/** What became of a letter, as some lines. */
export function recordText<Host extends StoreCommandHost, Status extends string>(
  record: DeadLetterRecord & { readonly into?: string },
  { style, host }: Showing<Host, Status>,
): string {
  const { id, queue, turn, fate, by, reason, at, into, value } = record;
  const where = into === undefined ? "" : ` into ${oneLine(into)}`;
  const why = reason === undefined ? "" : `: ${oneLine(reason)}`;
  const again = turn === 1 ? "" : `  turn ${turn}`;
  return [
    `${oneLine(id)}  ${oneLine(queue)}${again}  ${fate}${where} by ${oneLine(by)}${why}  ${style.dim(host.iso(at))}`,
    `    ${valueText(value)}`,
  ].join("\n");
}
