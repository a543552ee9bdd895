// Carries out a group of write sets within a transaction: reads and locks, plans, writes.

import {
  type ClaimNeeds,
  type CommitOutcome,
  type Needs,
  needs,
  numbered,
  type Plan,
  plan,
  type Statement,
} from "../plan.js";
import { rangeScan } from "../scans.js";
import type { AnyRow, Table } from "../table.js";
import { textOf, valuesOf } from "../table-shape.js";
import type { Key, WriteSet } from "../write-set.js";
import type { Catalog } from "./catalog.js";
import { type Answer, type Command, type Connection, ServerError } from "./connection.js";
import type { TableSql } from "./table-sql.js";

/** The tools to carry out a group. */
export interface Writing {
  readonly connection: Connection;
  readonly catalog: Catalog;
  sqlOf(table: Table): TableSql;
}

/** The commands that are sent before the group itself. */
export interface First {
  readonly commands: readonly Command[];
  /** Looks at the answer to the last of them. Throws when the group must not go on. */
  check(answer: Answer): void;
}

/** Statements were sent for a set whose claim is lost: the transaction must be rolled back, and the group comes again. */
export const FENCED: unique symbol = Symbol("fenced");

/**
 * Carries out a group.
 *
 * @param hopeful - write before it is known whether claims are held, where nothing else has to be read: one round trip less
 */
export async function carryOut(
  on: Writing,
  sets: readonly WriteSet[],
  first: First,
  hopeful: boolean,
): Promise<readonly CommitOutcome[] | typeof FENCED> {
  const needed = needs(sets);
  const reads = readsOf(on, needed);
  const before = [...first.commands, ...reads.map(({ command }) => command)];
  if (hopeful && needed.tables.length === 0) return append(on, sets, needed, first, before);
  const answers = await on.connection.send(before);
  first.check(answers[first.commands.length - 1] as Answer);
  const found: Found = { rows: new Map(), counts: new Map(), claims: new Set() };
  for (const [i, read] of reads.entries()) read.take(answers[first.commands.length + i] as Answer, found);
  const decided = plan(sets, needed, {
    rows: found.rows,
    counts: found.counts,
    held: (claim) => found.claims.has(claimText(claim)),
  });
  const guards = guardsOf(on, sets, found.rows, decided);
  await write(on, guards, decided.statements);
  return decided.outcomes;
}

/** Sets that only append, in one round trip. */
async function append(
  on: Writing,
  sets: readonly WriteSet[],
  needed: Needs,
  first: First,
  before: readonly Command[],
): Promise<readonly CommitOutcome[] | typeof FENCED> {
  const { outcomes, statements } = plan(sets, needed, {
    rows: new Map(),
    counts: new Map(),
    held: () => true,
  });
  const commands = commandsOf(on, statements);
  const answers = await on.connection.send([...before, ...commands]);
  first.check(answers[first.commands.length - 1] as Answer);
  const fence = answers[first.commands.length] as Answer;
  if (needed.claims.length > 0 && fence.rows.length < needed.claims.length) return FENCED;
  take(statements, answers.slice(before.length));
  return outcomes;
}

/** The use of tables by a transaction, by their names. */
export type Touched = ReadonlyMap<string, "written" | "counted">;

/**
 * The tables that a group writes, and those of which it counts rows. While it counts, and until it has committed, no other transaction
 * writes to a counted table.
 */
export function touched(sets: readonly WriteSet[]): Touched {
  const tables = new Map<string, "written" | "counted">();
  // Most sets of a group write to the table of the one before.
  let last: Table | undefined;
  const written = (table: Table): void => {
    if (table === last) return;
    last = table;
    if (!tables.has(table.name)) tables.set(table.name, "written");
  };
  for (const { writes, expect = [] } of sets) {
    for (const write of writes) {
      if (write.type === "when") for (const { table } of write.writes) written(table);
      written(write.table);
    }
    for (const one of expect) if ("prefix" in one) tables.set(one.table.name, "counted");
  }
  return tables;
}

interface Found {
  readonly rows: Map<string, AnyRow[]>;
  readonly counts: Map<string, number[]>;
  readonly claims: Set<string>;
}

interface Read {
  readonly command: Command;
  take(answer: Answer, into: Found): void;
}

const claimText = ({ name, token }: ClaimNeeds): string => `${token} ${name}`;

/** The reads of a group, the claims first. */
function readsOf({ catalog, sqlOf }: Writing, { claims, tables }: Needs): Read[] {
  const reads: Read[] = [];
  if (claims.length > 0)
    reads.push({
      command: catalog.fence(claims),
      take: ({ rows }, into) => {
        for (const [name, token] of rows)
          into.claims.add(claimText({ name: name as string, token: token as number }));
      },
    });
  for (const { table, columns, keys, uniques, ranges } of tables) {
    const sql = sqlOf(table);
    const counts: number[] = [];
    for (const range of ranges)
      reads.push({
        command: sql.count(rangeScan(sql.shape, range)),
        take: ({ rows }, into) => {
          counts.push(Number(rows[0]?.[0]));
          into.counts.set(table.name, counts);
        },
      });
    const take: Read["take"] = ({ rows }, into) => {
      const found = into.rows.get(table.name) ?? [];
      for (const row of rows) found.push(sql.row(row, 0, columns));
      into.rows.set(table.name, found);
    };
    if (keys.length > 0) reads.push({ command: sql.locked(columns, table.key, keys), take });
    for (const { index, values } of uniques)
      reads.push({ command: sql.locked(columns, sql.shape.indexes.get(index)?.columns ?? [], values), take });
  }
  return reads;
}

/**
 * A row that is expected to be absent cannot be locked, unless the set itself adds it. So this adds and removes a row with its key: a
 * transaction that adds one waits for the end of this one. A row that was found is locked: an earlier set of the group removes it.
 */
function guardsOf(
  { sqlOf }: Writing,
  sets: readonly WriteSet[],
  found: ReadonlyMap<string, readonly AnyRow[]>,
  { outcomes, statements }: Plan,
): Command[] {
  const guarded = new Map<string, { readonly table: Table; readonly keys: Map<string, Key> }>();
  for (const [i, { expect = [] }] of sets.entries())
    for (const one of expect) {
      if ("prefix" in one) continue;
      const { table, key, is } = one;
      if (is !== "absent" || outcomes[i] instanceof Error || table.counted !== undefined) continue;
      const of = guarded.get(table.name) ?? { table, keys: new Map<string, Key>() };
      of.keys.set(textOf(key), key);
      guarded.set(table.name, of);
    }
  for (const statement of statements) {
    const of = guarded.get(statement.table.name);
    if (of === undefined || (statement.type !== "insert" && statement.type !== "put")) continue;
    for (const row of statement.rows) of.keys.delete(textOf(valuesOf(row, statement.table.key)));
  }
  for (const { table, keys } of guarded.values())
    for (const row of found.get(table.name) ?? []) keys.delete(textOf(valuesOf(row, table.key)));
  return [...guarded.values()]
    .filter(({ keys }) => keys.size > 0)
    .flatMap(({ table, keys }) => sqlOf(table).guards([...keys.values()]));
}

async function write(
  on: Writing,
  guards: readonly Command[],
  statements: readonly Statement[],
): Promise<void> {
  if (guards.length === 0 && statements.length === 0) return;
  const answers = await on.connection.send([...guards, ...commandsOf(on, statements)]);
  for (let i = 0; i < guards.length; i += 2)
    if (answers[i]?.count !== answers[i + 1]?.count || answers[i]?.count === 0)
      throw new ServerError("40001", "a row was added that was expected to be absent");
  take(statements, answers.slice(guards.length));
}

const commandsOf = ({ sqlOf }: Writing, statements: readonly Statement[]): Command[] =>
  statements.map((statement) => sqlOf(statement.table).write(statement));

/** Passes on the numbers that the server gave. */
function take(statements: readonly Statement[], answers: readonly Answer[]): void {
  for (const [i, statement] of statements.entries()) {
    const { rows, count } = answers[i] as Answer;
    if (statement.type === "clear") numbered(statement.slots, 0, count);
    else if (statement.type === "insert" && statement.slots !== undefined)
      for (let n = 0; n < rows.length; n++) numbered(statement.slots, n, rows[n]?.[0] as number);
  }
}
