// Carries out decisions about dead letters, on the tables of pipelines or of queues: one commit for some letters, which proves that each is
// dead still, leaves its record, and puts back those that become live again. Of two callers that change a letter at the same time, one is
// refused.

import {
  type AnyRow,
  ConflictError,
  type Expectation,
  type Key,
  type Store,
  type Table,
  type Write,
} from "../../store/index.js";
import { decide, type Fate, type LetterEffect, type LetterEvent } from "./dead-machine.js";
import {
  type CheckedFilter,
  type Chosen,
  cursorOf,
  type Deed,
  type DeedResult,
  type LetterPlace,
} from "./dead-options.js";
import { type RecordFields, recordFields } from "./dead-records.js";
import { DeadLetterNotFoundError } from "./errors.js";
import { DEAD_LIMITS } from "./limits.js";

/** A row of a dead letter. */
export interface LetterRow extends LetterPlace {
  readonly body: string | Uint8Array;
  readonly tag: string | null;
  readonly history: string | null;
  /** When it was given up, by the clock of the store. */
  readonly at: number;
}

/** The parts of a commit about letters besides the letters and their records. */
export interface Consequences {
  readonly expect?: readonly Expectation[];
  readonly writes: readonly Write[];
  readonly notify?: readonly string[];
}

/** A letter with what was decided about it. */
export interface Judged<L> {
  readonly letter: L;
  readonly effects: readonly LetterEffect[];
}

/** Where dead letters are. */
export interface Shelf<L extends LetterRow> {
  readonly store: Store;
  /** For errors: `queue orders`. */
  readonly label: string;
  /** The letters and their records. Keys of records are those of letters with the turn behind them. */
  readonly tables: { readonly dead: Table; readonly records: Table };
  keyOf(place: LetterPlace): Key;
  /** The dead letters with these ids, in their order. */
  find(ids: readonly string[]): Promise<readonly (L | undefined)[]>;
  /** Dead letters in the order of queues and ids. */
  page(behind: LetterPlace | undefined, limit: number): Promise<readonly L[]>;
  /** The fate of a letter that is dead no more. Undefined: it never was one, as far as is known. */
  became(id: string): Promise<Fate | undefined>;
  /** The errors of a letter, the oldest first. */
  errorsOf(letter: L): readonly string[];
  /** Further columns of the records of letters that are put back. Default: none. */
  extras?(letters: readonly L[]): Promise<readonly AnyRow[]>;
  /** The clock of the store. */
  now(): Promise<number>;
  /** What follows for the tables around: of the messages that are put back, and of the counts. @throws when nothing may change now */
  consequences(judged: readonly Judged<L>[], body: L["body"] | undefined): Promise<Consequences>;
}

/** An act on some letters. */
export interface Act {
  readonly event: LetterEvent;
  readonly deed: Deed;
  /** The new value of letters that are edited. */
  readonly body?: LetterRow["body"];
}

/** Does the same with all letters that are chosen. @throws DeadLetterNotFoundError, and what `consequences` throws */
export async function settleLetters<L extends LetterRow>(
  shelf: Shelf<L>,
  chosen: Chosen,
  act: Act,
): Promise<DeedResult> {
  if (chosen.type === "filter") return settleFiltered(shelf, chosen.filter, act);
  const { ids } = chosen;
  const found = await shelf.find(ids);
  const missing = found.indexOf(undefined);
  if (missing >= 0) throw await notFound(shelf, ids[missing] as string);
  let letters = 0;
  for (let at = 0; at < found.length; at += DEAD_LIMITS.page)
    letters += await settle(shelf, found.slice(at, at + DEAD_LIMITS.page) as L[], act);
  if (letters === 0) throw await notFound(shelf, ids[0] as string);
  return { letters };
}

async function notFound(shelf: Pick<Shelf<never>, "label" | "became">, id: string): Promise<Error> {
  return new DeadLetterNotFoundError(shelf.label, id, await shelf.became(id));
}

async function settleFiltered<L extends LetterRow>(
  shelf: Shelf<L>,
  { error, before, limit, behind }: CheckedFilter,
  act: Act,
): Promise<DeedResult> {
  const isMeant = (letter: L): boolean =>
    letter.at < before && (error === undefined || (shelf.errorsOf(letter).at(-1)?.includes(error) ?? false));
  let letters = 0;
  let chosen = 0;
  let place = behind;
  for (let examined = 0; chosen < limit && examined < DEAD_LIMITS.examined; ) {
    const rows = await shelf.page(place, DEAD_LIMITS.page);
    const some: L[] = [];
    for (const row of rows) {
      if (chosen === limit) break;
      place = { queue: row.queue, id: row.id };
      examined++;
      if (!isMeant(row)) continue;
      some.push(row);
      chosen++;
    }
    letters += await settle(shelf, some, act);
    if (rows.length < DEAD_LIMITS.page && rows.at(-1)?.id === place?.id) return { letters };
    if (rows.length === 0) return { letters };
  }
  return { letters, ...(place !== undefined && { next: cursorOf(place) }) };
}

/** Gives of how many letters it was this call that did it. */
async function settle<L extends LetterRow>(shelf: Shelf<L>, some: readonly L[], act: Act): Promise<number> {
  if (some.length === 0) return 0;
  try {
    await shelf.store.commit(await setOf(shelf, some, act));
    return some.length;
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error;
  }
  // Another caller has changed one of them, or the place around them has changed: one by one.
  let letters = 0;
  for (const one of some) if (await settleAlone(shelf, one, act)) letters++;
  return letters;
}

async function settleAlone<L extends LetterRow>(shelf: Shelf<L>, one: L, act: Act): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    const [letter] = await shelf.find([one.id]);
    // Given up again since: that is another letter, which the caller has not chosen.
    if (letter === undefined || letter.at !== one.at || letter.history !== one.history) return false;
    try {
      await shelf.store.commit(await setOf(shelf, [letter], act));
      return true;
    } catch (error) {
      if (!(error instanceof ConflictError) || attempt === DEAD_LIMITS.attempts) throw error;
    }
  }
}

async function setOf<L extends LetterRow>(
  shelf: Shelf<L>,
  letters: readonly L[],
  { event, deed, body }: Act,
): Promise<Consequences> {
  const turns = await turnsOf(shelf, letters);
  const judged = letters.map((letter, i): Judged<L> => {
    const [, effects] = decide({ turn: turns[i] as number, dead: true, fate: undefined }, event);
    return { letter, effects };
  });
  const isBack = event.type === "retry" || event.type === "edit";
  const extras = isBack ? await shelf.extras?.(letters) : undefined;
  const { expect, writes } = recordsOf(shelf, judged, deed, await shelf.now(), (i) => extras?.[i]);
  const more = await shelf.consequences(judged, body);
  return {
    ...more,
    expect: [...expect, ...(more.expect ?? [])],
    writes: [...writes, ...more.writes],
  };
}

/** The part of a commit that takes letters out of the dead state. The rest of the commit puts them, or copies of them, elsewhere. */
export function recordsOf<L extends LetterRow>(
  { tables: { dead, records }, keyOf }: Pick<Shelf<L>, "tables" | "keyOf">,
  judged: readonly Judged<L>[],
  deed: Deed,
  now: number,
  more: (i: number) => AnyRow | undefined = () => undefined,
): { readonly expect: readonly Expectation[]; readonly writes: readonly Write[] } {
  const expect: Expectation[] = [];
  const writes: Write[] = [];
  for (const [i, { letter, effects }] of judged.entries())
    for (const effect of effects) {
      if (effect.type !== "record") continue;
      const key = keyOf(letter);
      expect.push({ table: dead, key, is: { at: letter.at } });
      writes.push({ type: "delete", table: dead, key });
      const fields = recordFields(effect.turn, effect.fate, deed, now);
      // Refused if another caller was faster, and the message was given up again since.
      writes.push({
        type: "insert",
        table: records,
        row: { ...(letter as unknown as AnyRow), ...fields, ...more(i) },
      });
    }
  return { expect, writes };
}

/** Which time each of the letters was given up. */
export async function turnsOf(
  { store, tables: { records }, keyOf }: Pick<Shelf<never>, "store" | "tables" | "keyOf">,
  places: readonly LetterPlace[],
): Promise<number[]> {
  const last = await Promise.all(
    places.map((place) => store.scan(records, { prefix: keyOf(place), reverse: true, limit: 1 })),
  );
  return last.map(([row]) => ((row as unknown as RecordFields | undefined)?.turn ?? 0) + 1);
}
