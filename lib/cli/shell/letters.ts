// The commands about dead letters, of pipelines and of durable queues: they list them, and put them back, edit them, or give them up.

import type { DeedOptions, DeedResult, LetterFilter } from "../../pipeline/messages/dead-options.js";
import type { DeadLetterRecord } from "../../pipeline/messages/dead-records.js";
import { oneLine } from "../../process/printable.js";
import { type Given, Misuse, type OptionSpecs } from "./arguments.js";
import type { Commands } from "./commands.js";
import type { CommandContext, StoreCommandHost } from "./context.js";
import { EXIT } from "./exit.js";
import { type CommandKit, printItems } from "./kit.js";
import { count, firstLine, valueText } from "./style.js";
import { jsonGiven, moment, most, type ReadOption } from "./values.js";

type Choice = LetterFilter & { readonly route?: string };

/** The operations on dead letters that pipelines and queues have. */
interface LetterOperations {
  deadRecords(of: string, filter: { readonly limit?: number }): AsyncIterable<DeadLetterRecord>;
  retryDead(of: string, which: readonly string[] | Choice, deed: DeedOptions): Promise<DeedResult>;
  editDead(of: string, message: string, value: unknown, deed: DeedOptions): Promise<void>;
  dropDead(
    of: string,
    which: readonly string[] | Choice,
    deed: DeedOptions & { readonly reason: string },
  ): Promise<DeedResult>;
}

interface TextOption {
  readonly value: string;
  readonly help: string;
}

/** A terminal whose user is known. */
export interface LetterHost extends StoreCommandHost {
  /** The variables of the environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The options that say who acts on letters, and why. */
const DEED: { readonly by: TextOption; readonly reason: TextOption } = {
  by: { value: "NAME", help: "your name, for the record. Default: the user of this terminal" },
  reason: { value: "TEXT", help: "the reason, for the record" },
};

/** The same, where a reason is needed. */
const REASONED = {
  by: DEED.by,
  reason: { ...DEED.reason, needed: "--reason is missing: say why" },
} as const satisfies OptionSpecs;

/** The options that choose letters, where none is named. */
const CHOICE: {
  readonly error: TextOption;
  readonly before: ReadOption<number>;
  readonly limit: ReadOption<number>;
} = {
  error: { value: "TEXT", help: "without MESSAGE: only those whose last error contains this" },
  before: moment('without MESSAGE: given up before a time, or an age such as "2 hours"'),
  limit: most("without MESSAGE: most letters. Default: all"),
};
const ALL: OptionSpecs = { all: { help: "without MESSAGE: all dead letters that the other options allow" } };

type DeedGiven = Given<typeof DEED>;
type Chosen = Given<typeof CHOICE> & { readonly all?: true; readonly route?: string };

const deedOf = ({ by, reason }: DeedGiven, { env: { USER, USERNAME } }: LetterHost): DeedOptions => {
  const who = by ?? USER ?? USERNAME;
  return { ...(who !== undefined && { by: who }), ...(reason !== undefined && { reason }) };
};

/** Most letters of one request. */
const AT_ONCE = 1_000;

/** Does the same with the messages that are named, or with those that options choose: page by page, so that each request is short. */
async function eachLetter(
  messages: readonly string[],
  { all, limit = Number.POSITIVE_INFINITY, ...filter }: Chosen,
  choices: string,
  act: (which: readonly string[] | Choice) => Promise<DeedResult>,
): Promise<number> {
  const isChosen = all || limit < Number.POSITIVE_INFINITY || Object.keys(filter).length > 0;
  if (messages.length > 0) {
    if (isChosen) throw new Misuse("name messages, or choose them with options: not both");
    return (await act(messages)).letters;
  }
  if (!isChosen) throw new Misuse(`name messages, or choose them with ${choices}`);
  let left = limit;
  let letters = 0;
  for (let cursor: string | undefined; left > 0; ) {
    const page = { limit: Math.min(left, AT_ONCE), ...(cursor !== undefined && { cursor }) };
    const done = await act({ ...filter, ...page });
    letters += done.letters;
    left -= done.letters;
    cursor = done.next;
    if (cursor === undefined) break;
  }
  return letters;
}

/** How the commands of a subcommand differ. */
interface Kind<Context, On, Letter> {
  /** The word for the owner of the letters: `ID` or `QUEUE`. */
  readonly word: string;
  /** The owner in a sentence, with its article. */
  readonly owner: string;
  /** The help of `dead --limit`, of `dead --records`, and the summary of `retry`. */
  readonly limit: string;
  readonly records: string;
  readonly retry: string;
  /** Whether letters have routes, which `dead --route` and others choose. */
  readonly hasRoutes: boolean;
  letters(
    on: On,
    of: string,
    filter: { readonly limit?: number; readonly route?: string },
  ): AsyncIterable<Letter>;
  text(letter: Letter, context: Context): string;
}

/** The commands `dead`, `retry`, `edit` and `drop`. */
export function letterCommands<
  Context extends CommandContext<On, LetterHost>,
  On extends LetterOperations,
  Letter,
>(
  kit: CommandKit<Context, On>,
  { word, owner, limit, records, retry, hasRoutes, letters, text }: Kind<Context, On, Letter>,
): Commands<Context> {
  const route = (help: string): OptionSpecs => (hasRoutes ? { route: { value: "ROUTE", help } } : {});
  const choices = `${hasRoutes ? "--route, " : ""}--error, --before or --all`;
  const dead = kit.command({
    words: [word],
    summary: `lists the dead letters of ${owner}, with their values and errors`,
    options: { limit: most(limit), ...route("only those of this route"), records: { help: records } },
    run: async ([of = ""], given, context) => {
      const { records: gone, ...filter } = given as {
        readonly records?: true;
        readonly limit?: number;
        readonly route?: string;
      };
      const on = await context.operations();
      if (!gone)
        return printItems("deadLetters", letters(on, of, filter), context, (one) => text(one, context));
      if (filter.route !== undefined) throw new Misuse("--route cannot be combined with --records");
      return printItems("records", on.deadRecords(of, filter), context, (one) => recordText(one, context));
    },
  });
  const chosen = { ...ALL, ...route("without MESSAGE: only those of this route"), ...CHOICE };
  /** Acts on the letters that are named or chosen, and says of how many. */
  const act = async (
    messages: readonly (string | undefined)[],
    { by: _by, reason: _reason, ...choice }: DeedGiven & Chosen,
    context: Context,
    done: string,
    one: (on: On, which: readonly string[] | Choice) => Promise<DeedResult>,
  ): Promise<number> => {
    const found = await eachLetter(messages as readonly string[], choice, choices, async (which) =>
      one(await context.operations(), which),
    );
    context.show({ letters: found }, () => `${count(found)} dead letters ${done}`);
    return EXIT.fine;
  };
  const retryLetters = kit.command({
    words: [word, "[MESSAGE…]"],
    summary: retry,
    options: { ...chosen, ...DEED },
    run: ([of = "", ...messages], given, context) =>
      act(messages, given, context, "go on", (on, which) =>
        on.retryDead(of, which, deedOf(given, context.host)),
      ),
  });
  const drop = kit.command({
    words: [word, "[MESSAGE…]"],
    summary: "drops dead letters for good, with a reason",
    options: { ...chosen, ...REASONED },
    run: ([of = "", ...messages], given, context) =>
      act(messages, given, context, "are dropped", (on, which) =>
        on.dropDead(of, which, { ...deedOf(given, context.host), reason: given.reason }),
      ),
  });
  const edit = kit.command({
    words: [word, "MESSAGE", "VALUE"],
    summary: "puts a dead letter back with another value, which is JSON",
    options: DEED,
    run: async ([of, message, text], given, context) => {
      const value = jsonGiven("VALUE", text);
      await (await context.operations()).editDead(of, message, value, deedOf(given, context.host));
      context.show({ letters: 1 }, () => oneLine(`${message}: goes on with ${valueText(value)}`));
      return EXIT.fine;
    },
  });
  return {
    dead,
    retry: retryLetters,
    edit,
    drop,
  };
}

/** A letter as some lines. @param where - it was, in one line */
export function letterText(
  letter: {
    readonly id: string;
    readonly value: unknown;
    readonly key?: string | undefined;
    readonly at: number;
  },
  where: string,
  errors: readonly string[],
  { style, host }: CommandContext<unknown>,
): string {
  const { id, value, key, at } = letter;
  const head = `${oneLine(id)}  ${oneLine(where)}  ${style.dim(host.iso(at))}${key === undefined ? "" : `  key ${oneLine(key)}`}`;
  const lines = errors.map((error, i) => `    ${i + 1}. ${style.bad(firstLine(error))}`);
  return [head, `    ${valueText(value)}`, ...lines].join("\n");
}

/** The fate of a letter, as some lines. */
function recordText(
  record: DeadLetterRecord & { readonly into?: string },
  { style, host }: CommandContext<unknown>,
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
