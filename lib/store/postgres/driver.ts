// A store on PostgreSQL. One connection writes the groups; one listens and holds the locks of claims (session.ts); a few serve reads,
// and others the transactions of the user.

import { OptionError } from "../../process/errors.js";
import type { ClaimInfo } from "../claim.js";
import type { Applied, CheckedScan, DriverHost, HeldClaim, StoreDriver } from "../driver.js";
import { StoreVersionError } from "../errors.js";
import type { Recovery } from "../group-commit-machine.js";
import { Line } from "../line.js";
import type { Schema } from "../schema.js";
import type { SqlTransaction, SqlTransactionOptions } from "../sql.js";
import type { AnyRow, Table, Value } from "../table.js";
import type { CheckedTake } from "../take.js";
import type { Key, WriteSet } from "../write-set.js";
import { Catalog, FORMAT } from "./catalog.js";
import {
  type Answer,
  type Command,
  type Connection,
  ConnectionLostError,
  type Connector,
  isRepeatable,
  ServerError,
} from "./connection.js";
import { StoreUnreachableError } from "./errors.js";
import { carryOut, FENCED, type First, type Touched, touched, type Writing } from "./group.js";
import { Sender } from "./messages.js";
import { migrate } from "./migrate.js";
import { Notifier } from "./notifier.js";
import { OUTCOME_MS, Outcomes } from "./outcome.js";
import { Pool } from "./pool.js";
import { rolledBack } from "./rollback.js";
import { Session } from "./session.js";
import type { PostgresSettings } from "./settings.js";
import { TableSql } from "./table-sql.js";
import { runTransaction, type Transactions } from "./transaction.js";

/** The parts from which a driver is made. */
export interface DriverOptions {
  readonly connector: Connector;
  readonly settings: PostgresSettings;
}

export class PostgresDriver implements StoreDriver {
  readonly label: string;
  readonly shared: boolean;
  readonly renews = true;
  readonly #host: DriverHost;
  readonly #options: DriverOptions;
  readonly #catalog: Catalog;
  readonly #outcomes: Outcomes;
  readonly #writer: Pool;
  readonly #readers: Pool;
  readonly #users: Pool;
  readonly #notifier: Notifier | undefined;
  readonly #session: Session | undefined;
  readonly #tables = new WeakMap<Table, TableSql>();
  readonly #sqlOf = (table: Table): TableSql => this.#table(table);
  readonly #versions = new Map<string, number>([[FORMAT.schema, FORMAT.version]]);
  readonly #transactions: Transactions;
  /** The statements that were warned of. */
  readonly #warned = new Set<string>();

  constructor(host: DriverHost, options: DriverOptions) {
    const { connector, settings } = options;
    const { schema } = settings;
    this.label = connector.label;
    this.shared = !connector.single;
    this.#host = host;
    this.#options = options;
    this.#catalog = new Catalog(schema);
    this.#outcomes = new Outcomes(this.#catalog, host.environment, this.label, settings.unreachableMs);
    const pool = (size: number): Pool => new Pool(connector, host, settings, size);
    this.#writer = pool(1);
    this.#readers = connector.single ? this.#writer : pool(READERS);
    this.#users = connector.single ? this.#writer : pool(settings.connections);
    this.#transactions = {
      host,
      catalog: this.#catalog,
      outcomes: this.#outcomes,
      settings,
      pool: this.#users,
      others: this.#readers,
      line: new Line(connector.single ? 1 : settings.connections),
      contended: (statement) => this.#contended(statement),
      sqlOf: this.#sqlOf,
      mark: (id, sets) => this.#mark(id, [], touched(sets)),
      committed: (topics) => {
        for (const topic of topics) {
          host.notified(topic);
          this.#notifier?.add(topic);
        }
      },
    };
    if (connector.single) return;
    const sender = new Sender(schema, host.environment.id());
    const notifier = new Notifier(host, settings, sender, this.#readers);
    this.#notifier = notifier;
    const send = (payload: string): Promise<void> => notifier.message(payload);
    this.#session = new Session(
      { host, catalog: this.#catalog, limits: settings, sender, send, pool: this.#readers },
      connector,
    );
  }

  async migrate(schemas: readonly Schema[]): Promise<void> {
    const { label } = this;
    const catalog = this.#catalog;
    for (const [name, version] of schemas.map((schema) => [schema.name, schema.version] as const)) {
      const known = this.#versions.get(name) ?? version;
      if (known !== version)
        throw new OptionError("schemas", `${name} ${version}`, `version ${known} of ${name}, as it is open`);
    }
    await this.#repeated(() =>
      this.#writer.use(async (connection) => {
        await connection.send([{ text: "begin" }]);
        try {
          await migrate({ connection, catalog, label }, schemas);
          await connection.send([catalog.forget(OUTCOME_MS), { text: "commit" }]);
        } catch (error) {
          await rolledBack(connection);
          throw error;
        }
      }),
    );
    for (const { name, version } of schemas) this.#versions.set(name, version);
    // A store without its session would never hear of other processes: it is not open before that listens.
    await this.#repeated(async () => this.#session?.start());
  }

  async apply(sets: readonly WriteSet[]): Promise<Applied> {
    for (let hopeful = true; ; hopeful = false) {
      const applied = await this.#writer.use((connection) => this.#group(connection, sets, hopeful));
      if (applied === FENCED) continue;
      if (this.#notifier !== undefined)
        for (const [i, { notify = [] }] of sets.entries())
          if (!(applied.outcomes[i] instanceof Error)) for (const topic of notify) this.#notifier.add(topic);
      return applied;
    }
  }

  recovery(error: unknown): Recovery {
    if (isRepeatable(error) || error instanceof ConnectionLostError) return "retry";
    return error instanceof ServerError ? "split" : "fail";
  }

  async get(table: Table, keys: readonly Key[]): Promise<readonly (AnyRow | undefined)[]> {
    const sql = this.#table(table);
    const { rows } = await this.#read(sql.get(keys));
    const found: (AnyRow | undefined)[] = keys.map(() => undefined);
    for (const row of rows) found[(row[0] as number) - 1] = sql.row(row, 1);
    return found;
  }

  async scan(table: Table, scan: CheckedScan): Promise<readonly AnyRow[]> {
    const sql = this.#table(table);
    const { rows } = await this.#read(sql.scan(scan));
    return rows.map((row) => sql.row(row));
  }

  async scanAll(table: Table, scan: CheckedScan, prefixes: readonly Value[]): Promise<readonly AnyRow[]> {
    const sql = this.#table(table);
    const { rows } = await this.#read(sql.scanAll(scan, prefixes));
    return rows.map((row) => sql.row(row));
  }

  async count(table: Table, scan: CheckedScan, atMost?: number): Promise<number> {
    return numberOf(await this.#read(this.#table(table).count(scan, atMost)));
  }

  take(table: Table, take: CheckedTake): Promise<readonly AnyRow[] | undefined> {
    return this.#repeated(() => this.#writer.use((connection) => this.#take(connection, table, take)));
  }

  async clock(): Promise<number> {
    return numberOf(await this.#read(this.#catalog.clock()));
  }

  async claim(
    name: string,
    owner: string,
    ttlMs: number,
    endsWithConnection: boolean,
  ): Promise<number | undefined> {
    // Repeated after a lost connection, it finds the claim that it has made.
    const { rows } = await this.#read(this.#catalog.claim(name, owner, ttlMs, this.#outcomes.next()));
    const token = rows[0]?.[0] as number | undefined;
    if (token === undefined) return undefined;
    if (endsWithConnection) await this.#session?.hold(token).catch(() => {});
    // Remove the claims of killed hosts. If that fails now, the next claim tries again.
    await this.#readers
      .use((connection) => connection.send([this.#catalog.removeExpired(DEAD_CLAIM_MS)]))
      .catch(() => {});
    return token;
  }

  async renew(claims: readonly (HeldClaim & { readonly ttlMs: number })[]): Promise<readonly HeldClaim[]> {
    const { rows } = await this.#read(this.#catalog.renew(claims));
    const renewed = new Set(rows.map(([, token]) => token));
    await this.#session?.lock().catch(() => {});
    return claims.filter(({ token }) => !renewed.has(token));
  }

  async release(claim: HeldClaim): Promise<void> {
    await this.#session?.drop(claim.token);
    await this.#read(this.#catalog.remove(claim));
  }

  async claims(prefix: string): Promise<readonly ClaimInfo[]> {
    const { rows } = await this.#read(this.#catalog.claims(prefix));
    return rows.map(
      ([name, token, owner, since, held]) => ({ name, token, owner, since, held }) as ClaimInfo,
    );
  }

  async revoke(claim: HeldClaim): Promise<boolean> {
    let isFirst = true;
    return this.#repeated(async () => {
      const wasFirst = isFirst;
      isFirst = false;
      const [answer] = await this.#readers.use((connection) =>
        connection.send([this.#catalog.remove(claim)]),
      );
      // Its answer lost, the first attempt may have removed it.
      return answer?.count === 1 || !wasFirst;
    });
  }

  transaction<T>(body: (tx: SqlTransaction) => Promise<T>, options: SqlTransactionOptions<T>): Promise<T> {
    return runTransaction(this.#transactions, body, options);
  }

  async close(): Promise<void> {
    await this.#notifier?.close().catch(() => {});
    await this.#forget();
    await this.#session?.close();
    await Promise.all([...new Set([this.#writer, this.#readers, this.#users])].map((pool) => pool.close()));
  }

  /** Warns of a statement because of which transactions overtake each other, once. */
  #contended(statement: string): void {
    const text = statement.trim().replaceAll(/\s+/g, " ").slice(0, STATEMENT_LENGTH);
    if (this.#warned.has(text) || this.#warned.size >= MOST_WARNED) return;
    this.#warned.add(text);
    this.#host.warn({
      code: "store-contention",
      message: `transactions on ${this.label} are in each other's way, so fewer of them run at once; one was overtaken or late at: ${text || "its commit"}. Make them shorter, or let them touch the same rows less often`,
    });
  }

  async #group(
    connection: Connection,
    sets: readonly WriteSet[],
    hopeful: boolean,
  ): Promise<Applied | typeof FENCED> {
    const id = this.#outcomes.next();
    const spent = this.#outcomes.spent();
    const on: Writing = { connection, catalog: this.#catalog, sqlOf: this.#sqlOf };
    const marked = this.#mark(id, spent, touched(sets));
    try {
      const first = { ...marked, commands: [BEGIN, ...marked.commands] };
      const outcomes = await carryOut(on, sets, first, hopeful);
      if (outcomes === FENCED) {
        await rolledBack(connection);
        return FENCED;
      }
      if (await this.#outcomes.commit(connection, id, this.#readers)) return { outcomes };
      throw new ServerError("40001", "the commit was rolled back");
    } catch (error) {
      for (const one of spent) this.#outcomes.spend(one);
      await rolledBack(connection);
      throw error;
    }
  }

  /** One round trip, and the commit. A take whose claim turns out to be lost is rolled back. */
  async #take(connection: Connection, table: Table, take: CheckedTake): Promise<AnyRow[] | undefined> {
    const id = this.#outcomes.next();
    const sql = this.#table(table);
    const first = this.#mark(id, [], new Map([[table.name, "written"]]));
    const fence = take.claim === undefined ? [] : [this.#catalog.fence([take.claim])];
    try {
      const answers = await connection.send([BEGIN, ...first.commands, ...fence, sql.take(take)]);
      first.check(answers[first.commands.length] as Answer);
      if (fence.length > 0 && answers.at(-2)?.rows.length === 0) {
        await rolledBack(connection);
        return undefined;
      }
      if (await this.#outcomes.commit(connection, id, this.#readers))
        return (answers.at(-1) as Answer).rows.map((row) => sql.row(row));
      throw new ServerError("40001", "the commit was rolled back");
    } catch (error) {
      await rolledBack(connection);
      throw error;
    }
  }

  /** The first commands of each transaction of the store: they take the locks that it needs, and leave its row. */
  #mark(id: string, spent: readonly string[], tables: Touched): First {
    const catalog = this.#catalog;
    return {
      commands: [catalog.locks(tables), catalog.mark(id, spent, this.#versions)],
      check: ({ rows }) => this.#checkVersions(rows),
    };
  }

  /** Removes the rows of commits whose answers have arrived. */
  async #forget(): Promise<void> {
    const spent = this.#outcomes.spent();
    if (spent.length === 0) return;
    await this.#writer
      .use((connection) => connection.send([this.#catalog.spend(spent)]), CLOSE_MS)
      .catch(() => {});
  }

  #checkVersions(rows: Answer["rows"]): void {
    for (const [name, version] of rows)
      throw new StoreVersionError(
        this.label,
        name as string,
        version as number,
        this.#versions.get(name as string) ?? 0,
      );
  }

  /** One statement that may be repeated. */
  #read(command: Command): Promise<Answer> {
    return this.#repeated(async () => {
      const [answer] = await this.#readers.use((connection) => connection.send([command]));
      return answer as Answer;
    });
  }

  /** Repeats what a lost connection interrupts, until the server has been away for too long. */
  async #repeated<T>(run: () => Promise<T>): Promise<T> {
    const { unreachableMs } = this.#options.settings;
    const since = this.#host.environment.now();
    for (;;)
      try {
        return await run();
      } catch (error) {
        const isLost = error instanceof ConnectionLostError;
        if (!(isLost || isRepeatable(error))) throw error;
        const waitedMs = this.#host.environment.now() - since;
        if (waitedMs < unreachableMs) continue;
        throw isLost ? new StoreUnreachableError(this.label, waitedMs, "nothing", error) : error;
      }
  }

  #table(table: Table): TableSql {
    let sql = this.#tables.get(table);
    if (sql === undefined) {
      sql = new TableSql(this.#options.settings.schema, table);
      this.#tables.set(table, sql);
    }
    return sql;
  }
}

/** Connections for reads, claims and notifications. */
const READERS = 2;

const BEGIN: Command = { text: "begin", prepared: true };
/** A claim that has expired stays in the table for so long, for people who look for the host that died. */
const DEAD_CLAIM_MS = 3_600_000;
/** Most statements that are warned of, and how much of each is shown. */
const MOST_WARNED = 100;
const STATEMENT_LENGTH = 120;
/** How long a store that closes waits for a server that is away. */
const CLOSE_MS = 1_000;

const numberOf = ({ rows }: Answer): number => Number(rows[0]?.[0]);
