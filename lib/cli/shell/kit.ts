// The forms of commands on operations: a question with its answer, the same with many ids, items line by line, a table of items, and a page of
// a list. A command says which operation it asks, with which options, and how the result is shown to people. `--json` shows the result itself.

import { oneLine, printable } from "../../process/printable.js";
import type { Given, OptionSpecs } from "./arguments.js";
import type { Command, Words } from "./commands.js";
import type { CommandContext } from "./context.js";
import { printList } from "./document.js";
import { EXIT } from "./exit.js";
import { jsonText } from "./json-text.js";
import { type Column, renderTable } from "./table.js";
import { most } from "./values.js";

type Named<W extends readonly string[], O extends OptionSpecs> = Omit<Command<never, W, O>, "run">;

/** A question, or a change, with one answer. */
interface Ask<Context, On, W extends readonly string[], O extends OptionSpecs, Answer> extends Named<W, O> {
  ask(on: On, words: Words<W>, given: Given<O>, context: Context): Promise<Answer>;
  text(answer: Answer, context: Context): string;
  /** Whether the answer is yes. Default: always. */
  isYes?(answer: Answer): boolean;
}

/** The same with each of the ids that are given. */
interface Each<On, O extends OptionSpecs> {
  readonly summary: string;
  readonly options?: O;
  /** The text behind an id when all went well. */
  readonly done: string;
  act(on: On, id: string, given: Given<O>): Promise<unknown>;
}

/** Items that are printed as they come. */
interface Lines<Context, On, W extends readonly string[], O extends OptionSpecs, Item> extends Named<W, O> {
  /** The name of the list in the document of `--json`. */
  readonly name: string;
  items(on: On, words: Words<W>, given: Given<O>): AsyncIterable<Item>;
  line(item: Item, context: Context): string;
}

/** Items in a table, read until there are enough. */
interface Table<Context, On, W extends readonly string[], O extends OptionSpecs, Item> extends Named<W, O> {
  readonly name: string;
  /** Stands for an empty list. */
  readonly none: string;
  /** The options, of which `after` says where the list begins. */
  readonly options: O & { readonly after: OptionSpecs[string] };
  /** Most items unless the user says otherwise. Default: all. */
  readonly limit?: number;
  /** The help of `--limit`. */
  readonly most: string;
  items(on: On, words: Words<W>, range: Given<O> & { readonly limit?: number }): AsyncIterable<Item>;
  columns(context: Context): readonly Column<Item>[];
  /** The text of `--after` that continues behind an item. */
  placeOf(item: Item): string | number;
}

/** A page of a list, and the cursor of the next page. */
interface Pages<Context, On, O extends OptionSpecs, Item, Name extends string> {
  readonly summary: string;
  readonly name: Name;
  readonly none: string;
  readonly options: O;
  page(
    on: On,
    given: Given<O> & Range,
  ): Promise<{ readonly next?: string } & { readonly [N in Name]: readonly Item[] }>;
  columns(context: Context): readonly Column<Item>[];
}

interface Range {
  readonly cursor?: string;
  readonly limit: number;
}

/** Most items of a page that are printed unless the user says otherwise. */
export const LIST_LIMIT = 50;
/** Most items that are asked for at once. */
const PAGE_LIMIT = 1_000;

/** The forms of commands, for the operations and the context of a subcommand. */
export class CommandKit<Context extends CommandContext<On>, On> {
  /** A command of a form of its own. */
  command<const W extends readonly string[], const O extends OptionSpecs>(
    command: Command<Context, W, O>,
  ): Command<Context> {
    return command as unknown as Command<Context>;
  }

  ask<const W extends readonly string[], const O extends OptionSpecs, Answer>({
    ask,
    text,
    isYes = () => true,
    ...named
  }: Ask<Context, On, W, O, Answer>): Command<Context> {
    return this.command<W, O>({
      ...named,
      run: async (words, given, context) => {
        const answer = await ask(await context.operations(), words, given, context);
        context.show(answer, () => text(answer, context));
        return isYes(answer) ? EXIT.fine : EXIT.no;
      },
    });
  }

  /** Says of each id whether it was done. One that fails does not keep the others from it. The exit code is the worst one. */
  each<const O extends OptionSpecs>({ done, act, ...named }: Each<On, O>): Command<Context> {
    return this.command<["ID…"], O>({
      words: ["ID…"],
      ...named,
      run: async (ids, given, { host, json, operations }, exitOf) => {
        const on = (await operations()) as On;
        const results: { id: string; ok: boolean; error?: string }[] = [];
        let exit = EXIT.fine;
        for (const id of ids) {
          try {
            await act(on, id, given);
            results.push({ id, ok: true });
            if (!json) host.print(oneLine(`${id}: ${done}`));
          } catch (error) {
            const { message } = error as Error;
            exit = Math.max(exit, exitOf(error));
            results.push({ id, ok: false, error: message });
            if (!json) host.complain(printable(`signalbox: ${message}`));
          }
        }
        if (json) host.print(jsonText(results));
        return exit;
      },
    });
  }

  lines<const W extends readonly string[], const O extends OptionSpecs, Item>({
    name,
    items,
    line,
    ...named
  }: Lines<Context, On, W, O, Item>): Command<Context> {
    return this.command<W, O>({
      ...named,
      run: async (words, given, context) => {
        const found = items(await context.operations(), words, given);
        return printItems(name, found, context, (item) => line(item, context));
      },
    });
  }

  table<const W extends readonly string[], const O extends OptionSpecs, Item>({
    name,
    none,
    limit: usual,
    most: help,
    items,
    columns,
    placeOf,
    ...named
  }: Table<Context, On, W, O, Item>): Command<Context> {
    return this.command<W, OptionSpecs>({
      ...named,
      options: { ...named.options, limit: most(help) },
      run: async (words, given, context) => {
        const { limit = usual, ...rest } = given as { readonly limit?: number };
        const range = limit === undefined ? rest : { ...rest, limit: limit + 1 };
        const found: Item[] = [];
        for await (const item of items(await context.operations(), words, range as never)) found.push(item);
        const shown = found.slice(0, limit);
        const last = shown.length < found.length ? shown.at(-1) : undefined;
        const next = last === undefined ? undefined : placeOf(last);
        return showTable({ name, none, columns: columns(context) }, shown, "--after", next, context);
      },
    });
  }

  pages<const O extends OptionSpecs, Item, const Name extends string>({
    name,
    none,
    page,
    columns,
    ...named
  }: Pages<Context, On, O, Item, Name>): Command<Context> {
    return this.command<[], O>({
      ...named,
      run: async (_words, given, context) => {
        const on = (await context.operations()) as On;
        const { limit = LIST_LIMIT, cursor } = given as Partial<Range>;
        const items: Item[] = [];
        let next = cursor;
        do {
          const range = {
            limit: Math.min(limit - items.length, PAGE_LIMIT),
            ...(next !== undefined && { cursor: next }),
          };
          const found = await page(on, { ...given, ...range });
          items.push(...found[name]);
          next = found.next;
        } while (next !== undefined && items.length < limit);
        return showTable({ name, none, columns: columns(context) }, items, "--cursor", next, context);
      },
    });
  }
}

/** Prints a list item by item. @param name - of the list in the document of `--json` */
export async function printItems<T>(
  name: string,
  items: AsyncIterable<T>,
  { host, json }: Pick<CommandContext<unknown>, "host" | "json">,
  lineOf: (item: T) => string,
): Promise<number> {
  if (json) await printList(host, name, items);
  else for await (const item of items) host.print(lineOf(item));
  return EXIT.fine;
}

/** Shows items as a table. @param option - continues behind them with the place `next` */
function showTable<Row>(
  {
    name,
    none,
    columns,
  }: { readonly name: string; readonly none: string; readonly columns: readonly Column<Row>[] },
  rows: readonly Row[],
  option: string,
  next: string | number | undefined,
  { host, style, show }: CommandContext<unknown>,
): number {
  show({ [name]: rows, ...(next !== undefined && { next }) }, () => {
    if (rows.length === 0 && next === undefined) return none;
    const table = renderTable(columns, rows, host.columns);
    return next === undefined ? table : `${table}\n${style.dim(`more: ${option} ${next}`)}`;
  });
  return EXIT.fine;
}
