// The journal: a file of facts, one a line. A fact counts once it is on the disk, and what the shop knows after a crash is what
// the journal says. Writing a fact again changes nothing, so whoever does not know whether a fact was written writes it again.

import { type FileHandle, open } from "node:fs/promises";
import {
  type Caller,
  type Context,
  defer,
  defineServer,
  refuse,
  type ServerDefinition,
  type ServerRef,
} from "signalbox";
import { type Fact, type Facts, isSettled, type Order } from "./order.js";

/** Facts that may wait for the disk. With more, the shop is too busy to accept orders. */
const MOST_WAITING = 10_000;

/** The disk does not keep up. */
export class JournalBusyError extends Error {
  override readonly name = "JournalBusyError";
}

interface Writing {
  readonly fact: Fact;
  readonly caller: Caller<Fact>;
}

interface State {
  readonly ctx: Context<unknown>;
  readonly file: FileHandle;
  readonly book: Map<string, Facts>;
  waiting: Writing[];
  writing: boolean;
}

/** How many orders there are, by what has become of them. */
export interface Counts {
  readonly accepted: number;
  readonly shipped: number;
  readonly refused: number;
}

type Calls = {
  /** Resolves with the fact as it is written: the first of its kind for the order. */
  append(state: State, fact: Fact): Fact | ReturnType<typeof defer<Fact>> | ReturnType<typeof refuse>;
  facts(state: State, id: string): Facts;
  /** The orders for which something is left to do. */
  open(state: State): readonly Order[];
  /** Orders whose articles are reserved or gone. */
  holding(state: State): readonly Order[];
  counts(state: State): Counts;
};

export type JournalRef = ServerRef<Calls, Record<never, never>>;

export const Journal: ServerDefinition<[path: string], Calls, Record<never, never>> = defineServer({
  label: "journal",
  init: async (ctx: Context<unknown>, path: string): Promise<State> => {
    const file = await open(path, "a+");
    ctx.signal.addEventListener("abort", () => void file.close());
    const text = await file.readFile("utf8");
    // A crash of the machine may have cut off the last line.
    if (text !== "" && !text.endsWith("\n")) await file.appendFile("\n");
    return { ctx, file, book: bookOf(text), waiting: [], writing: false };
  },
  calls: {
    append: (state, fact) => {
      const known = state.book.get(fact.id)?.[fact.type];
      if (known !== undefined) return known;
      if (state.waiting.length >= MOST_WAITING)
        return refuse(new JournalBusyError("the disk does not keep up"));
      return defer<Fact>((caller) => {
        state.waiting.push({ fact, caller });
        // A failure of the disk is a rejection that nobody awaits: the journal crashes, and opens the file again.
        if (!state.writing) void write(state);
      });
    },
    facts: ({ book }, id) => book.get(id) ?? {},
    open: ({ book }) => ordersOf(book, (facts) => !isSettled(facts)),
    holding: ({ book }) =>
      ordersOf(book, ({ reserved, refused }) => reserved !== undefined && refused === undefined),
    counts: ({ book }) => {
      const all = [...book.values()];
      return {
        accepted: all.length,
        shipped: all.filter(({ shipped }) => shipped !== undefined).length,
        refused: all.filter(({ refused }) => refused !== undefined).length,
      };
    },
  },
});

/** Writes all that waits, and what comes meanwhile: one sync for many facts. */
async function write(state: State): Promise<void> {
  state.writing = true;
  while (state.waiting.length > 0) {
    const batch = state.waiting;
    state.waiting = [];
    await state.file.appendFile(batch.map(({ fact }) => `${JSON.stringify(fact)}\n`).join(""));
    // A journal that was killed has closed its file, and answers nobody.
    if (!state.ctx.alive) return;
    await state.file.datasync();
    for (const { fact, caller } of batch) caller.reply(note(state.book, fact));
  }
  state.writing = false;
}

/** What a journal says, by the id of the order. */
export function bookOf(text: string): Map<string, Facts> {
  const book = new Map<string, Facts>();
  for (const line of text.split("\n")) {
    const fact = factOf(line);
    if (fact !== undefined) note(book, fact);
  }
  return book;
}

/** Returns the fact as it is known: the first of its kind. */
function note(book: Map<string, Facts>, fact: Fact): Fact {
  const facts = book.get(fact.id) ?? {};
  const known = facts[fact.type];
  if (known !== undefined) return known;
  book.set(fact.id, { ...facts, [fact.type]: fact });
  return fact;
}

function factOf(line: string): Fact | undefined {
  try {
    return JSON.parse(line) as Fact;
  } catch {
    return undefined;
  }
}

function ordersOf(book: ReadonlyMap<string, Facts>, fits: (facts: Facts) => boolean): readonly Order[] {
  return [...book.values()].flatMap((facts) =>
    facts.accepted !== undefined && fits(facts) ? [facts.accepted.order] : [],
  );
}
