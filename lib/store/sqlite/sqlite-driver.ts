// A store on a SQLite file, as the group commit of all stores drives it. This process is the only one that has the file open, and all
// of its writes pass here: so each group reads its needs first, is planned, and is written, with no other write in between.

import type { ClaimInfo } from "../claim.js";
import type { Applied, CheckedScan, DriverHost, HeldClaim, StoreDriver } from "../driver.js";
import type { Recovery } from "../group-commit-machine.js";
import { type Found, type Needs, needs, numbered, plan, type Statement } from "../plan.js";
import { rangeScan } from "../scans.js";
import type { Schema } from "../schema.js";
import type { SqlTransaction, SqlTransactionOptions } from "../sql.js";
import type { AnyRow, Table, Value } from "../table.js";
import { textOf, valuesOf } from "../table-shape.js";
import type { Key, WriteSet } from "../write-set.js";
import type { EnginePort } from "./engine-port.js";
import { isTooMuch, storeError } from "./failures.js";
import { checkBackup, forgetOwner } from "./files.js";
import type { Answers, Query, Rows, StatementBatch, Written } from "./jobs.js";
import { CLAIMS, LAYOUT, layoutSteps } from "./layout.js";
import type { SqliteSettings } from "./settings.js";
import { SqlTransactions } from "./sql-transactions.js";
import { PREFIX, TableSql } from "./table-sql.js";
import { Turns } from "./turns.js";
import { Wal } from "./wal.js";

interface KnownClaim {
  readonly token: number;
  readonly owner: string;
  /** Known of those that this process has claimed. */
  readonly since: number | undefined;
  readonly held: boolean;
}

/** The steps of a write, and the statements that they come from. */
interface Writes {
  readonly steps: readonly StatementBatch[];
  readonly statements: readonly Statement[];
}

export class SqliteDriver implements StoreDriver {
  readonly label: string;
  readonly shared = false;
  readonly renews = false;
  readonly #path: string;
  readonly #port: EnginePort;
  readonly #host: DriverHost;
  readonly #wal: Wal;
  readonly #transactions: SqlTransactions;
  /** A writer that reads first has the file for itself until it has written. */
  readonly #turns = new Turns();
  readonly #tables = new Map<string, TableSql>();
  /** By table: the last number that was given to a row. */
  readonly #numbers = new Map<string, number>();
  readonly #claims = new Map<string, KnownClaim>();
  #token = 0;
  readonly #closed: () => void;
  #survivesLoss: boolean;

  constructor(
    label: string,
    path: string,
    port: EnginePort,
    host: DriverHost,
    settings: SqliteSettings,
    closed: () => void,
  ) {
    this.label = label;
    this.#path = path;
    this.#port = port;
    this.#host = host;
    this.#closed = closed;
    this.#survivesLoss = settings.durability !== "process-kill";
    this.#wal = new Wal(path, port, host, settings);
    this.#transactions = new SqlTransactions({
      port,
      limits: settings,
      after: (ms, fn) => host.after(ms, fn),
      wrap: (error) => storeError(path, error),
      commit: (id, set) => this.#commit(id, set),
    });
  }

  /** Claims of an earlier process are free: that process has ended, or this one could not have opened the file. */
  async begin(): Promise<void> {
    const [rows] = await this.#read([{ sql: `select name, token, owner from ${CLAIMS}`, parameters: [] }]);
    for (const { name, token, owner } of rows as unknown as readonly (HeldClaim & KnownClaim)[]) {
      this.#token = Math.max(this.#token, token);
      this.#claims.set(name, { token, owner, since: undefined, held: false });
    }
  }

  migrate(schemas: readonly Schema[]): Promise<void> {
    return this.#turns.take(async () => {
      const steps = layoutSteps(this.label, schemas, await this.#read(LAYOUT));
      if (steps.length > 0) await this.#write(steps);
      const counted = schemas.flatMap(({ tables }) => tables.filter((table) => table.counted !== undefined));
      if (counted.length === 0) return;
      const [rows] = await this.#read([{ sql: "select name, seq from sqlite_sequence", parameters: [] }]);
      for (const row of rows as unknown as readonly { readonly name: string; readonly seq: number }[]) {
        const name = row.name.slice(PREFIX.length);
        this.#numbers.set(name, Math.max(this.#numbers.get(name) ?? 0, row.seq));
      }
    });
  }

  apply(sets: readonly WriteSet[]): Promise<Applied> {
    return this.#turns.take(async () => {
      const { environment } = this.#host;
      const needed = needs(sets);
      const found = await this.#find(needed);
      const before = environment.now();
      const { outcomes, statements } = plan(sets, needed, found);
      const writes = this.#writes(statements);
      const heldMs = environment.now() - before;
      if (writes.steps.length > 0) this.#count(writes, await this.#write(writes.steps));
      return { outcomes, heldMs };
    });
  }

  recovery(error: unknown): Recovery {
    return isTooMuch(error) ? "split" : "fail";
  }

  async get(table: Table, keys: readonly Key[]): Promise<readonly (AnyRow | undefined)[]> {
    const sql = this.#table(table);
    const { key } = sql.shape;
    const found = await this.#read(sql.find(sql.columns, key, keys));
    const rows = new Map<string, AnyRow>();
    for (const row of found.flat() as AnyRow[]) rows.set(textOf(valuesOf(row, key)), row);
    return keys.map((one) => rows.get(textOf(one)));
  }

  async scan(table: Table, scan: CheckedScan): Promise<readonly AnyRow[]> {
    const [rows] = await this.#read([this.#table(table).scan(scan)]);
    return rows as readonly AnyRow[];
  }

  async scanAll(table: Table, scan: CheckedScan, prefixes: readonly Value[]): Promise<readonly AnyRow[]> {
    const [rows] = await this.#read([this.#table(table).scanAll(scan, prefixes)]);
    return rows as readonly AnyRow[];
  }

  async count(table: Table, scan: CheckedScan, atMost?: number): Promise<number> {
    const [rows] = await this.#read([this.#table(table).count(scan, atMost)]);
    return (rows as unknown as readonly [{ readonly n: number }])[0].n;
  }

  async clock(): Promise<number> {
    return this.#host.environment.wallTime();
  }

  claim(name: string, owner: string): Promise<number | undefined> {
    return this.#turns.take(async () => {
      if (this.#claims.get(name)?.held === true) return undefined;
      const token = ++this.#token;
      // The dead are forgotten only now: until then the largest of their tokens is the one from which tokens grow.
      const dead = [...this.#claims].flatMap(([one, { held }]) => (held || one === name ? [] : [one]));
      const since = this.#host.environment.wallTime();
      await this.#saveClaim(name, { token, owner, since, held: true }, dead);
      return token;
    });
  }

  /** Nothing expires: the lock of the operating system is the lease. */
  async renew(): Promise<readonly HeldClaim[]> {
    return [];
  }

  async release(claim: HeldClaim): Promise<void> {
    await this.#giveBack(claim);
  }

  async claims(prefix: string): Promise<readonly ClaimInfo[]> {
    return [...this.#claims]
      .filter(([name]) => name.startsWith(prefix))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, { token, owner, since, held }]) => ({ name, token, owner, since, held }));
  }

  revoke(claim: HeldClaim): Promise<boolean> {
    return this.#giveBack(claim);
  }

  transaction<T>(body: (tx: SqlTransaction) => Promise<T>, options: SqlTransactionOptions<T>): Promise<T> {
    return this.#transactions.run(body, options);
  }

  async backup(path: string): Promise<void> {
    checkBackup(path);
    try {
      await this.#port.ask({ type: "backup", path });
    } catch (error) {
      throw storeError(path, error);
    }
  }

  /** From now on acknowledged writes survive a loss of power. */
  async surviveLoss(): Promise<void> {
    if (this.#survivesLoss) return;
    try {
      await this.#turns.take(() => this.#port.ask({ type: "sync all" }));
    } catch (error) {
      throw storeError(this.#path, error);
    }
    this.#survivesLoss = true;
  }

  async close(): Promise<void> {
    this.#wal.stop();
    try {
      await this.#turns.take(async () => {
        // The owner is forgotten while the log is still there, and only once all that was in the log is in the file: see checkWhole.
        const emptied = await this.#port.ask({ type: "checkpoint" }).then(
          ({ busy }) => !busy,
          // To close the file meets the same error, and has a caller to tell.
          () => false,
        );
        if (emptied) forgetOwner(this.#path);
        await this.#port.ask({ type: "close" });
      });
    } catch (error) {
      throw storeError(this.#path, error);
    } finally {
      await this.#port.end();
      this.#closed();
    }
  }

  /** Commits a transaction of a user together with a write set. */
  #commit(id: number, set: WriteSet): Promise<boolean> {
    return this.#turns.take(async () => {
      const needed = needs([set]);
      const { outcomes, statements } = plan([set], needed, await this.#find(needed));
      const [outcome] = outcomes;
      if (outcome instanceof Error) throw outcome;
      const writes = this.#writes(statements);
      const finished = await this.#port.ask({ type: "finish", id, steps: writes.steps });
      if (finished.type === "overtaken") return false;
      this.#wal.written(finished.walBytes);
      this.#count(writes, finished);
      for (const topic of new Set(set.notify)) this.#host.notified(topic);
      return true;
    });
  }

  #table(table: Table): TableSql {
    let sql = this.#tables.get(table.name);
    if (sql === undefined || sql.table !== table) {
      sql = new TableSql(table);
      this.#tables.set(table.name, sql);
    }
    return sql;
  }

  /** Reads what a group needs to know. */
  async #find({ tables }: Needs): Promise<Found> {
    const rows = new Map<string, readonly AnyRow[]>();
    const counts = new Map<string, readonly number[]>();
    const held: Found["held"] = ({ name, token }) => {
      const known = this.#claims.get(name);
      return known?.held === true && known.token === token;
    };
    if (tables.length === 0) return { rows, counts, held };
    const queries: Query[] = [];
    const ends: number[] = [];
    const from: number[] = [];
    for (const { table, columns, keys, uniques, ranges } of tables) {
      const sql = this.#table(table);
      queries.push(...ranges.map((range) => sql.count(rangeScan(sql.shape, range))));
      from.push(queries.length);
      if (keys.length > 0) queries.push(...sql.find(columns, sql.shape.key, keys));
      for (const { index, values } of uniques)
        queries.push(...sql.find(columns, sql.shape.indexes.get(index)?.columns ?? [], values));
      ends.push(queries.length);
    }
    const found = await this.#read(queries);
    for (const [i, { table }] of tables.entries()) {
      const counted = found.slice(ends[i - 1] ?? 0, from[i]) as unknown as readonly [{ n: number }][];
      counts.set(
        table.name,
        counted.map(([{ n }]) => n),
      );
      rows.set(table.name, found.slice(from[i], ends[i]).flat() as AnyRow[]);
    }
    return { rows, counts, held };
  }

  #writes(planned: readonly Statement[]): Writes {
    const statements = planned.flatMap((statement) => this.#table(statement.table).split(statement));
    const steps = statements.map((statement) => {
      const { name } = statement.table;
      return this.#table(statement.table).step(statement, () => {
        const number = (this.#numbers.get(name) ?? 0) + 1;
        this.#numbers.set(name, number);
        return number;
      });
    });
    return { steps, statements };
  }

  /** Passes on the numbers of rows, and how many were removed. */
  #count({ steps, statements }: Writes, { changes }: Pick<Written, "changes">): void {
    for (const [i, statement] of statements.entries()) {
      if (statement.type === "clear") numbered(statement.slots, 0, changes[i] as number);
      if (statement.type !== "insert" || statement.slots === undefined) continue;
      const { values, width } = steps[i] as StatementBatch;
      for (let n = 0; n < statement.rows.length; n++)
        numbered(statement.slots, n, values[n * width] as number);
    }
  }

  async #giveBack({ name, token }: HeldClaim): Promise<boolean> {
    const known = this.#claims.get(name);
    if (known?.held !== true || known.token !== token) return false;
    // At once, so that no group that is planned from now on takes it for held.
    await this.#saveClaim(name, { ...known, held: false });
    return true;
  }

  async #saveClaim(name: string, claim: KnownClaim, dead: readonly string[] = []): Promise<void> {
    const { token, owner, held } = claim;
    if (!held) this.#claims.set(name, claim);
    const head = `insert into ${CLAIMS} (name, token, owner, held) values (?, ?, ?, ?) on conflict (name) do update set token = excluded.token, owner = excluded.owner, held = excluded.held`;
    await this.#write([
      { head, tuple: "", tail: "", most: 1, width: 4, values: [name, token, owner, held ? 1 : 0] },
      { head: `delete from ${CLAIMS} where name = ?`, tuple: "", tail: "", most: 1, width: 1, values: dead },
    ]);
    for (const one of dead) this.#claims.delete(one);
    this.#claims.set(name, claim);
  }

  async #read(queries: readonly Query[]): Promise<readonly Rows[]> {
    try {
      return await this.#port.ask({ type: "read", queries });
    } catch (error) {
      throw storeError(this.#path, error);
    }
  }

  async #write(steps: readonly StatementBatch[]): Promise<Answers["write"]> {
    try {
      const written = await this.#port.ask({ type: "write", steps });
      this.#wal.written(written.walBytes);
      return written;
    } catch (error) {
      throw storeError(this.#path, error);
    }
  }
}
