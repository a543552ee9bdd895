// One table during the planning of a group: its rows as the sets accepted so far leave them, and the changes that lead there. A
// refused set is undone. For speed all of it changes in place; one plan alone sees it.

import { show } from "../process/show.js";
import { ConflictError, ValueError } from "./errors.js";
import type { Ranges } from "./ranges.js";
import type { Statement } from "./statement.js";
import type { AnyRow, Value } from "./table.js";
import {
  type IndexShape,
  isIn,
  isTouched,
  sameValue,
  type TableShape,
  textOf,
  valuesOf,
} from "./table-shape.js";
import { BlindChanges, Inserts, type UndoLog } from "./undo-log.js";
import type { Expectation, Key, RowWrite } from "./write-set.js";

/** The change of one row. */
interface Change {
  readonly key: Key;
  /** The row before the change; `unknown` where no set needed to read it. */
  readonly before: AnyRow | undefined | "unknown";
  readonly after: AnyRow | undefined;
  /** The row is written with all its columns. */
  readonly whole: boolean;
  /** The columns that changed, otherwise. */
  readonly columns: ReadonlySet<string>;
}

/** Changes of which no order matters, up to the next clear. */
interface Segment {
  readonly changes: Map<string, Change>;
  readonly blind: BlindChanges<Change>;
  readonly inserts: Inserts;
  clear: Extract<Statement, { type: "clear" }> | undefined;
}

const NO_COLUMNS: ReadonlySet<string> = new Set();

function newSegment(): Segment {
  const changes = new Map<string, Change>();
  return { changes, blind: new BlindChanges(changes), inserts: new Inserts(), clear: undefined };
}

export class Overlay {
  readonly #shape: TableShape;
  readonly #undo: UndoLog;
  readonly #ranges: Ranges;
  /** The rows that are there, as far as they were read or written: by key; rows without a number yet as `+1`, `+2`, … */
  readonly #rows = new Map<string, AnyRow>();
  /** The keys that were looked for, found or not. */
  readonly #known: ReadonlySet<string>;
  /** By unique index: the rows that have some values, by these values. */
  readonly #owners = new Map<string, Map<string, string>>();
  readonly #segments: Segment[] = [];
  #segment: Segment = newSegment();
  #unnumbered = 0;

  constructor(
    shape: TableShape,
    known: ReadonlySet<string>,
    found: readonly AnyRow[],
    ranges: Ranges,
    undo: UndoLog,
  ) {
    this.#shape = shape;
    this.#ranges = ranges;
    this.#known = known;
    this.#undo = undo;
    for (const index of shape.unique) this.#owners.set(index.name, new Map());
    for (const row of found) {
      const text = textOf(valuesOf(row, shape.key));
      this.#rows.set(text, row);
      for (const index of shape.unique) this.#own(index, row, text);
    }
  }

  /** Inserts only add rows that no set of the group looks at. */
  get appends(): boolean {
    return this.#shape.appends && this.#ranges.isEmpty;
  }

  /** An insert into a table that only grows. */
  append(row: AnyRow, results: number[], at: number): void {
    const { inserts } = this.#segment;
    inserts.push(row, results, at);
    this.#undo.push(inserts);
  }

  /** @throws ConflictError unless it holds */
  expect(one: Expectation): void {
    if ("prefix" in one) {
      this.#ranges.expect(one);
      return;
    }
    const { key, is } = one;
    const row = this.#rows.get(textOf(key));
    if (is === "absent" ? row === undefined : row !== undefined && (is === "present" || hasValues(row, is)))
      return;
    const { name } = this.#shape.table;
    throw new ConflictError(
      name,
      key,
      typeof is === "string" ? (is === "absent" ? "no row" : "a row") : formatRow(is),
      row === undefined ? "no row" : formatRow(row, typeof is === "string" ? undefined : Object.keys(is)),
    );
  }

  /** Whether there is a row with this key and these values. */
  has(key: Key, values: AnyRow): boolean {
    const row = this.#rows.get(textOf(key));
    return row !== undefined && hasValues(row, values);
  }

  /** Applies one write, and puts its result into place, or has the driver do so. @throws ConflictError, ValueError */
  write(write: RowWrite, results: number[], at: number): void {
    switch (write.type) {
      case "insert":
        this.#add(write.row, results, at);
        return;
      case "offer":
        if (this.#conflict(write.row) === undefined) this.#add(write.row, results, at);
        else results[at] = 0;
        return;
      case "put":
        this.#put(write.row);
        results[at] = 1;
        return;
      case "update":
        results[at] = this.#update(write);
        return;
      case "delete":
        results[at] = this.#remove(textOf(write.key), write.key, write.blind === true) ? 1 : 0;
        return;
      default:
        this.#clear(write.index ?? "", write.prefix, results, at);
    }
  }

  /** The statements that the driver has to run. */
  statements(): Statement[] {
    return [...this.#segments, this.#segment].flatMap((segment) => this.#statementsOf(segment));
  }

  #add(row: AnyRow, results: number[], at: number): void {
    const shape = this.#shape;
    const conflict = this.#conflict(row);
    if (conflict !== undefined) throw conflict;
    if (shape.counted === undefined) {
      const key = valuesOf(row, shape.key);
      this.#change(textOf(key), key, row, true, NO_COLUMNS);
      results[at] = 1;
      return;
    }
    this.append(row, results, at);
    const text = `+${++this.#unnumbered}`;
    this.#see(text, row);
  }

  /** Why this row cannot be added. */
  #conflict(row: AnyRow, besides?: string): ConflictError | undefined {
    const shape = this.#shape;
    if (besides === undefined && shape.counted === undefined) {
      const key = valuesOf(row, shape.key);
      const there = this.#rows.get(textOf(key));
      if (there !== undefined) return new ConflictError(shape.table.name, key, "no row", formatRow(there));
    }
    for (const index of shape.unique) {
      const values = valuesOf(row, index.columns);
      const owner = values.includes(null) ? undefined : this.#owners.get(index.name)?.get(textOf(values));
      if (owner === undefined || owner === besides) continue;
      const there = formatRow(this.#rows.get(owner) ?? {}, shape.key);
      return new ConflictError(shape.table.name, values, `no row with these values of ${index.name}`, there);
    }
    return undefined;
  }

  #put(row: AnyRow): void {
    const key = valuesOf(row, this.#shape.key);
    const text = textOf(key);
    if (this.#isUnseen(text)) {
      this.#changeBlindly(text, key, row);
      return;
    }
    const conflict = this.#conflict(row, text);
    if (conflict !== undefined) throw conflict;
    this.#change(text, key, row, true, NO_COLUMNS);
  }

  #update({ key, set, add }: Extract<RowWrite, { type: "update" }>): number {
    const shape = this.#shape;
    const text = textOf(key);
    const row = this.#rows.get(text);
    if (row === undefined) return 0;
    const after: Record<string, Value> = { ...row, ...set };
    for (const name in add) after[name] = this.#sum(name, row[name], add[name] as number);
    const isUnique = shape.unique.some((index) => isTouched(index, set, add));
    const conflict = isUnique ? this.#conflict(after, text) : undefined;
    if (conflict !== undefined) throw conflict;
    // A row whose unique values change is written as a whole: see `statementsOf`.
    this.#change(text, key, after, isUnique, new Set([...Object.keys(set ?? {}), ...Object.keys(add ?? {})]));
    return 1;
  }

  /** Null counts as 0. */
  #sum(name: string, value: Value | undefined, more: number): number {
    const sum = ((value ?? 0) as number) + more;
    const isWhole = this.#shape.byName.get(name)?.kind === "integer";
    if (isWhole ? Number.isSafeInteger(sum) : Number.isFinite(sum)) return sum;
    throw new ValueError(this.#shape.table.name, name, sum, isWhole ? "at most 2^53 - 1 in size" : "finite");
  }

  #remove(text: string, key: Key, blind: boolean): boolean {
    if (blind && this.#isUnseen(text)) {
      this.#changeBlindly(text, key, undefined);
      return true;
    }
    const isThere = this.#rows.has(text);
    if (isThere || (blind && !this.#known.has(text))) this.#change(text, key, undefined, true, NO_COLUMNS);
    return isThere || blind;
  }

  #clear(name: string, prefix: Key, results: number[], at: number): void {
    const shape = this.#shape;
    const segment = this.#segment;
    const index = shape.indexes.get(name) as IndexShape;
    for (const [text, row] of this.#rows) if (isIn(index, prefix, row)) this.#see(text, undefined);
    this.#ranges.cleared(name, prefix);
    segment.clear = {
      type: "clear",
      table: shape.table,
      index: name,
      prefix,
      slots: { results: [results], at: [at] },
    };
    this.#segments.push(segment);
    this.#segment = newSegment();
    this.#undo.push(() => {
      this.#segments.pop();
      segment.clear = undefined;
      this.#segment = segment;
    });
  }

  /** No set of the group looks at the row. The keys of rows that a set looks at are known. */
  #isUnseen(text: string): boolean {
    return this.#shape.unique.length === 0 && this.#ranges.isEmpty && !this.#known.has(text);
  }

  /** Changes or removes a row that no set of the group looks at: the last change counts. */
  #changeBlindly(text: string, key: Key, row: AnyRow | undefined): void {
    const { blind } = this.#segment;
    blind.set(text, { key, before: "unknown", after: row, whole: true, columns: NO_COLUMNS });
    this.#undo.push(blind);
  }

  /** Changes a row, or removes it. */
  #change(
    text: string,
    key: Key,
    row: AnyRow | undefined,
    whole: boolean,
    columns: ReadonlySet<string>,
  ): void {
    const { changes } = this.#segment;
    const earlier = changes.get(text);
    const there = this.#rows.get(text);
    const before = there ?? (this.#known.has(text) ? undefined : "unknown");
    changes.set(text, {
      key,
      before: earlier === undefined ? before : earlier.before,
      after: row,
      whole: whole || earlier?.whole === true,
      columns: earlier === undefined ? columns : new Set([...earlier.columns, ...columns]),
    });
    this.#undo.push(() => {
      if (earlier === undefined) changes.delete(text);
      else changes.set(text, earlier);
    });
    this.#see(text, row);
  }

  /** From here on, others see this row. */
  #see(text: string, row: AnyRow | undefined): void {
    const before = this.#rows.get(text);
    const show = (now: AnyRow | undefined, then: AnyRow | undefined): void => {
      for (const index of this.#shape.unique) {
        if (then !== undefined) this.#disown(index, then, text);
        if (now !== undefined) this.#own(index, now, text);
      }
      this.#ranges.changed(then, now);
      if (now === undefined) this.#rows.delete(text);
      else this.#rows.set(text, now);
    };
    show(row, before);
    this.#undo.push(() => show(before, row));
  }

  #own(index: IndexShape, row: AnyRow, text: string): void {
    const values = valuesOf(row, index.columns);
    if (!values.includes(null)) this.#owners.get(index.name)?.set(textOf(values), text);
  }

  #disown(index: IndexShape, row: AnyRow, text: string): void {
    const values = textOf(valuesOf(row, index.columns));
    const owners = this.#owners.get(index.name);
    if (owners?.get(values) === text) owners.delete(values);
  }

  #statementsOf({ changes, inserts, clear }: Segment): Statement[] {
    const { table } = this.#shape;
    const sorted: Sorted = { deletes: [], puts: [], rows: [], updates: new Map() };
    for (const change of changes.values()) this.#sort(change, sorted);
    const statements: Statement[] = [];
    // Deletes come first: they free the unique values that others take.
    if (sorted.deletes.length > 0) statements.push({ type: "delete", table, keys: sorted.deletes });
    for (const { columns, rows } of sorted.updates.values())
      statements.push({ type: "update", table, columns, rows });
    if (sorted.puts.length > 0) statements.push({ type: "put", table, rows: sorted.puts });
    if (sorted.rows.length > 0) statements.push({ type: "insert", table, rows: sorted.rows });
    if (inserts.rows.length > 0)
      statements.push({ type: "insert", table, rows: inserts.rows, slots: inserts });
    if (clear !== undefined) statements.push(clear);
    return statements;
  }

  #sort({ key, before, after, whole, columns }: Change, into: Sorted): void {
    if (after === undefined) {
      if (before !== undefined) into.deletes.push(key);
    } else if (before === undefined) into.rows.push(after);
    else if (before === "unknown") into.puts.push(after);
    else if (!whole) {
      const names = [...columns].sort();
      if (names.length === 0) return;
      const same = into.updates.get(names.join());
      if (same === undefined) into.updates.set(names.join(), { columns: names, rows: [after] });
      else same.rows.push(after);
    } else {
      // Rows may exchange their unique values within a group, and no order of updates would do.
      if (!this.#shape.unique.every((index) => hasSame(before, after, index.columns))) into.deletes.push(key);
      into.puts.push(after);
    }
  }
}

/** The changes of a segment by what the driver does about them. */
interface Sorted {
  readonly deletes: Key[];
  readonly puts: AnyRow[];
  readonly rows: AnyRow[];
  readonly updates: Map<string, { readonly columns: readonly string[]; readonly rows: AnyRow[] }>;
}

const hasValues = (row: AnyRow, values: AnyRow): boolean =>
  Object.keys(values).every((name) => sameValue(row[name] ?? null, values[name] ?? null));

const hasSame = (one: AnyRow, other: AnyRow, columns: readonly string[]): boolean =>
  columns.every((name) => sameValue(one[name] ?? null, other[name] ?? null));

/** A row in an error's text: some columns only, if there are so many. */
function formatRow(row: AnyRow, columns: readonly string[] = Object.keys(row)): string {
  return show(Object.fromEntries(columns.map((name) => [name, row[name] ?? null])));
}
