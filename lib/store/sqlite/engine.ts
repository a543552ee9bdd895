// The engine: the one connection to the file, and all that is done on it. It runs in a thread of its own, or where that is not wanted
// in the caller's. A thread gets the source of this class as text (engine-program.ts), so the class uses nothing of this file but
// types: all else comes with its kit.

import type { RawDatabase, SqliteConnection, UserRows } from "./connection.js";
import type {
  Checkpointed,
  Driver,
  Executed,
  Failure,
  Finished,
  Job,
  Opened,
  Query,
  Rows,
  Settings,
  StatementBatch,
  Written,
} from "./jobs.js";
import type {
  decide,
  initial,
  SqlTransactionEffect,
  SqlTransactionEvent,
  SqlTransactions,
} from "./sql-transaction-machine.js";

/** The functions that the engine gets from its surroundings. */
export interface EngineKit {
  readonly Connection: typeof SqliteConnection;
  readonly machine: { readonly initial: typeof initial; readonly decide: typeof decide };
  openDatabase(driver: Driver, path: string): RawDatabase;
  /** A hash of texts. */
  hash(parts: readonly string[]): string;
  /** The same for the same file under any name; undefined if there is none. */
  identityOf(path: string): string | undefined;
  /** The size of a file; 0 if there is none. Opens nothing: to close a file would drop the locks that SQLite has on it. */
  sizeOf(path: string): number;
  /** Writes a folder's names to the disk. */
  syncFolderOf(path: string): void;
  /** Writes a file to the disk, which is no database that is open, and gives it its name. */
  publish(from: string, to: string): void;
  remove(path: string): void;
  /** Creates an empty file that only the user of this process may read and write. */
  reserve(path: string): void;
}

export class SqliteEngine {
  readonly #kit: EngineKit;
  #connection: SqliteConnection | undefined;
  #settings: Settings | undefined;
  #state: SqlTransactions;
  /** The statements of each transaction of a user, by its id. */
  readonly #asked = new Map<number, Query[]>();
  /** The files that SQLite has open, by what they were when they were opened. The log is there from the first commit on. */
  #file: string | undefined;
  #log: string | undefined;
  /** The present activity, for errors. */
  #at = "";

  constructor(kit: EngineKit) {
    this.#kit = kit;
    this.#state = kit.machine.initial({ mostStatements: 0 });
  }

  /** Does one job. Returns a failure instead of throwing. */
  perform(job: Job): { readonly failure: Failure | undefined; readonly answer: unknown } {
    this.#at = job.type;
    try {
      return { failure: undefined, answer: this.#perform(job) };
    } catch (error) {
      return { failure: this.#failure(error), answer: undefined };
    }
  }

  #perform(job: Job): unknown {
    switch (job.type) {
      case "open":
        return this.#open(job.settings);
      case "read":
        return job.queries.map(({ sql, parameters }): Rows => this.#db.rows(sql, parameters));
      case "write":
        this.#decide({ type: "others" });
        return this.#write(job.steps);
      case "execute":
        return this.#execute(job.id, job.query);
      case "finish":
        return this.#finish(job.id, job.steps);
      case "abandon":
        return this.#end(job.id);
      case "checkpoint":
        this.#decide({ type: "others" });
        return this.#checkpoint();
      case "sync all":
        this.#decide({ type: "others" });
        return this.#sync(this.#db, "full");
      case "backup":
        this.#decide({ type: "others" });
        return this.#backup(job.path);
      case "close":
        return this.#close();
      default:
        throw new Error(`unknown job ${JSON.stringify(job satisfies never)}`);
    }
  }

  get #db(): SqliteConnection {
    if (this.#connection === undefined) throw new Error("the database is not open");
    return this.#connection;
  }

  /** Opens the file, takes its lock, and looks whose it is. Nothing is written to a file that is not ours. */
  #open(settings: Settings): Opened {
    this.#settings = settings;
    this.#state = this.#kit.machine.initial({ mostStatements: settings.statements });
    const raw = this.#kit.openDatabase(settings.driver, settings.path);
    const db = new this.#kit.Connection(raw, settings.driver.kind === "node", settings.preparedStatements);
    this.#connection = db;
    try {
      db.rows("pragma busy_timeout = 0");
      // Before the first read: then SQLite keeps the index of the log in memory, and takes the lock until the file is closed.
      db.rows("pragma locking_mode = exclusive");
      const opened = this.#identity(db);
      const foreign = opened.applicationId !== settings.applicationId;
      const isNew = opened.applicationId === 0 && opened.format === 0;
      if ((foreign && !isNew) || opened.format > settings.format) {
        this.#release(db);
        return opened;
      }
      this.#configure(db, settings);
      // The names of the file and of its log are on the disk before anything is acknowledged.
      this.#kit.syncFolderOf(settings.path);
      this.#file = this.#kit.identityOf(settings.path);
      this.#log = undefined;
      return opened;
    } catch (error) {
      this.#connection = undefined;
      db.close();
      throw error;
    }
  }

  #identity(db: SqliteConnection): Opened {
    this.#at = "read the header";
    const format = Number(db.value("pragma user_version"));
    const applicationId = Number(db.value("pragma application_id"));
    const tables = Number(db.value("select count(*) from sqlite_master")) > 0;
    return { sqlite: String(db.value("select sqlite_version()")), format, applicationId, tables };
  }

  #configure(db: SqliteConnection, settings: Settings): void {
    this.#at = "take the lock";
    const mode = db.value("pragma journal_mode = wal");
    if (mode !== "wal") throw new Error(`the journal mode is ${String(mode)} instead of wal`);
    this.#sync(db, settings.synchronous);
    for (const pragma of [
      `wal_autocheckpoint = ${settings.autoCheckpointPages}`,
      `journal_size_limit = ${settings.walBytes}`,
      `cache_size = ${-Math.ceil(settings.cacheBytes / 1024)}`,
      "temp_store = memory",
      "foreign_keys = 1",
      "trusted_schema = 0",
    ])
      db.rows(`pragma ${pragma}`);
    db.exec("begin immediate");
    db.exec("commit");
  }

  #sync(db: SqliteConnection, synchronous: Settings["synchronous"]): undefined {
    db.rows(`pragma synchronous = ${synchronous}`);
    // macOS: fsync alone leaves the data in the disk's own memory.
    for (const pragma of ["fullfsync", "checkpoint_fullfsync"])
      db.rows(`pragma ${pragma} = ${synchronous === "full" ? 1 : 0}`);
    return undefined;
  }

  #write(steps: readonly StatementBatch[]): Written {
    const db = this.#db;
    db.exec("begin immediate");
    try {
      const changes = steps.map((step) => this.#step(db, step));
      return { changes, walBytes: this.#commit(db) };
    } catch (error) {
      this.#rollback();
      throw error;
    }
  }

  #step(
    db: SqliteConnection,
    { head, tuple, tail, most, width, values, fixed = [] }: StatementBatch,
  ): number {
    this.#at = head;
    const rows = width === 0 ? 1 : values.length / width;
    if (rows <= most) return db.run(head + tuples(tuple, rows) + tail, [...fixed, ...values]);
    let changes = 0;
    for (let from = 0; from < rows; from += most) {
      const n = Math.min(most, rows - from);
      const some = values.slice(from * width, (from + n) * width);
      changes += db.run(head + tuples(tuple, n) + tail, [...fixed, ...some]);
    }
    return changes;

    function tuples(one: string, n: number): string {
      return one === "" ? "" : one + `,${one}`.repeat(n - 1);
    }
  }

  /** Commits to files that will be found again. SQLite would go on to write to files without a name, and say that all is well. */
  #commit(db: SqliteConnection): number {
    this.#at = "commit";
    const { path } = this.#settings as Settings;
    const log = `${path}-wal`;
    for (const [name, was] of [
      [path, this.#file],
      [log, this.#log],
    ] as const)
      if (was !== undefined && this.#kit.identityOf(name) !== was)
        throw Object.assign(new Error(`${name} is another file or none`), { code: "MOVED" });
    db.exec("commit");
    this.#log ??= this.#kit.identityOf(log);
    return this.#walBytes();
  }

  #rollback(): void {
    try {
      this.#db.exec("rollback");
    } catch {
      // The error that led here has ended the transaction: a full disk does.
    }
  }

  #execute(id: number, query: Query): Executed {
    const asked = this.#asked.get(id) ?? [];
    this.#asked.set(id, asked);
    asked.push(query);
    try {
      return this.#decide({ type: "execute", id }) as Executed;
    } catch (error) {
      this.#end(id);
      throw error;
    }
  }

  #finish(id: number, steps: readonly StatementBatch[]): Finished {
    try {
      const result = this.#decide({ type: "finish", id }) as Finished | undefined;
      if (result !== undefined) return result;
      const db = this.#db;
      const changes = steps.map((step) => this.#step(db, step));
      return { type: "committed", changes, walBytes: this.#commit(db) };
    } finally {
      // After a commit there is nothing to roll back.
      this.#end(id);
    }
  }

  #end(id: number): undefined {
    this.#asked.delete(id);
    this.#decide({ type: "ended", id });
    return undefined;
  }

  /** Carries out what the machine decides. Returns what the caller is to be told. */
  #decide(event: SqlTransactionEvent): Executed | Finished | undefined {
    let told: Executed | Finished | undefined;
    for (const queue = [event]; queue.length > 0; ) {
      const [state, effects] = this.#kit.machine.decide(this.#state, queue.shift() as SqlTransactionEvent);
      this.#state = state;
      for (const effect of effects) {
        const result = this.#effect(effect);
        if (result === undefined) continue;
        if ("event" in result) queue.push(result.event);
        told = result.told ?? told;
      }
    }
    return told;
  }

  #effect(
    effect: SqlTransactionEffect,
  ):
    | { readonly event: SqlTransactionEvent; readonly told?: Executed }
    | { readonly told: Executed }
    | undefined {
    switch (effect.type) {
      case "rollback":
        this.#rollback();
        return undefined;
      case "replay":
        return { event: { type: "replayed", id: effect.id, same: this.#replay(effect.id, effect.answers) } };
      case "run": {
        const asked = this.#asked.get(effect.id) as Query[];
        const [answer, told] = this.#ask(asked[asked.length - 1] as Query);
        return { event: { type: "answered", id: effect.id, answer }, told };
      }
      case "overtaken":
        this.#asked.delete(effect.id);
        return { told: { type: "overtaken" } };
      case "refuse":
        return { told: { type: "too many statements", most: effect.most } };
      case "commit":
        return undefined;
      default:
        throw new Error(`unknown effect ${JSON.stringify(effect satisfies never)}`);
    }
  }

  #replay(id: number, answers: readonly string[]): boolean {
    this.#at = "begin";
    this.#db.exec("begin immediate");
    const asked = this.#asked.get(id) ?? [];
    return answers.every((answer, i) => this.#ask(asked[i] as Query)[0] === answer);
  }

  /** @throws what ended the transaction of the database: a full disk, an I/O error */
  #ask({ sql, parameters }: Query): readonly [answer: string, told: Executed] {
    const most = (this.#settings as Settings).resultRows;
    this.#at = sql;
    let result: UserRows;
    try {
      result = this.#db.user(sql, parameters, most);
    } catch (error) {
      if (!this.#db.isInTransaction()) throw error;
      const failure = this.#failure(error);
      // 10: I/O error. 11: damaged. 13: the disk is full. None of these is the statement's fault.
      if (failure.result !== undefined && [10, 11, 13].includes(failure.result & 0xff)) throw error;
      return [`refused ${failure.result} ${failure.message}`, { type: "refused", failure }];
    }
    const { rows, changes, more } = result;
    if (more) return ["too many rows", { type: "too many rows", most }];
    const parts = [`${changes} changes, ${rows.length} rows`];
    for (const row of rows) {
      for (const name of Object.keys(row)) {
        const value = row[name];
        const text = value instanceof Uint8Array ? value.join() : String(value);
        const kind = value instanceof Uint8Array ? "bytes" : value === null ? "null" : typeof value;
        parts.push(`${name.length} ${name} ${kind} ${text.length} ${text}`);
      }
    }
    return [this.#kit.hash(parts), { type: "answered", rows, changes }];
  }

  #walBytes(): number {
    return this.#kit.sizeOf(`${(this.#settings as Settings).path}-wal`);
  }

  #checkpoint(): Checkpointed {
    // The first column of its row is `busy`.
    return { busy: this.#db.value("pragma wal_checkpoint(truncate)") !== 0, walBytes: this.#walBytes() };
  }

  #backup(path: string): undefined {
    const partial = `${path}.partial`;
    this.#kit.remove(partial);
    this.#kit.reserve(partial);
    try {
      this.#db.run("vacuum into ?", [partial]);
      this.#kit.publish(partial, path);
    } catch (error) {
      this.#kit.remove(partial);
      throw error;
    }
    return undefined;
  }

  #close(): undefined {
    const db = this.#connection;
    if (db === undefined) return undefined;
    this.#decide({ type: "others" });
    this.#connection = undefined;
    try {
      // The log that has the name by now may be another database's. SQLite looks itself whether to remove it.
      if (this.#kit.identityOf((this.#settings as Settings).path) !== this.#file) return undefined;
      // libsql would leave the log behind, and the lock until its statements are collected.
      db.rows("pragma wal_checkpoint(truncate)");
      db.rows("pragma journal_mode = delete");
      this.#release(db);
    } finally {
      db.close();
    }
    return undefined;
  }

  #release(db: SqliteConnection): void {
    db.rows("pragma locking_mode = normal");
    db.rows("select count(*) from sqlite_master");
  }

  #failure(error: unknown): Failure {
    const given = error as { message?: unknown; errcode?: unknown; rawCode?: unknown; code?: unknown };
    const message = String(given.message ?? error);
    // libsql, when it cannot open a file: the result code is the end of the text.
    const opening = /Unable to open connection .*: (\d+)/.exec(message)?.[1];
    const result = given.errcode ?? given.rawCode ?? (opening === undefined ? undefined : Number(opening));
    return {
      message,
      result: typeof result === "number" ? result : undefined,
      code: typeof given.code === "string" ? given.code : undefined,
      at: this.#at.length > 200 ? `${this.#at.slice(0, 200)}…` : this.#at,
    };
  }
}
