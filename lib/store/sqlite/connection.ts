// One connection to a database file, over either driver. A thread gets the source of this class as text (engine-program.ts), so the
// class uses nothing of this file but types.

/** The parameters that both drivers take. libsql ends the whole process when it is given anything else, such as a boolean. */
export type Parameter = string | number | bigint | Uint8Array | null;

/** A statement of node:sqlite or libsql. */
export interface RawStatement {
  run(...parameters: unknown[]): { readonly changes: number | bigint };
  all(...parameters: unknown[]): Record<string, unknown>[];
  iterate(...parameters: unknown[]): Iterable<Record<string, unknown>>;
  /** Of node:sqlite. */
  setReadBigInts?(flag: boolean): void;
  /** Of libsql. */
  safeIntegers?(flag: boolean): void;
}

/** A database of node:sqlite or libsql. */
export interface RawDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): RawStatement;
  close(): void;
}

/** Rows of a statement of the user. */
export interface UserRows {
  readonly rows: Record<string, Parameter>[];
  readonly changes: number;
  /** There were more rows than allowed. */
  readonly more: boolean;
}

/** Most statements that are kept prepared. The one that was not used for longest goes first. */
export type PreparedLimit = number;

export class SqliteConnection {
  readonly #database: RawDatabase;
  /** node:sqlite takes parameters one by one, libsql as an array. */
  readonly #spread: boolean;
  readonly #most: PreparedLimit;
  readonly #prepared = new Map<string, RawStatement>();
  readonly #exact = new Map<string, RawStatement>();

  constructor(database: RawDatabase, spread: boolean, most: PreparedLimit) {
    this.#database = database;
    this.#spread = spread;
    this.#most = most;
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  /** Runs a statement and returns how many rows it changed. */
  run(sql: string, parameters: readonly Parameter[]): number {
    const statement = this.#prepare(this.#prepared, sql);
    const given = this.#given(parameters);
    return Number((this.#spread ? statement.run(...given) : statement.run(given)).changes);
  }

  /** The rows of a query. Integers beyond 2^53 are refused or rounded: the library stores none. */
  rows(sql: string, parameters: readonly Parameter[] = []): Record<string, Parameter>[] {
    const statement = this.#prepare(this.#prepared, sql);
    const given = this.#given(parameters);
    const rows = this.#spread ? statement.all(...given) : statement.all(given);
    for (const row of rows)
      for (const name in row) if (row[name] instanceof ArrayBuffer) row[name] = new Uint8Array(row[name]);
    return rows as Record<string, Parameter>[];
  }

  /** The only value of the only row. */
  value(sql: string): Parameter | undefined {
    const [row] = this.rows(sql);
    return row === undefined ? undefined : Object.values(row)[0];
  }

  /**
   * Runs a statement of the user: integers keep all their digits. Rows beyond the limit are read and dropped, because a statement
   * that is left before its end keeps the log from being emptied.
   */
  user(sql: string, parameters: readonly Parameter[], mostRows: number): UserRows {
    const before = this.value("select total_changes()");
    const statement = this.#prepare(this.#exact, sql);
    const given = this.#given(parameters);
    const rows: Record<string, Parameter>[] = [];
    let more = false;
    for (const row of this.#spread ? statement.iterate(...given) : statement.iterate(given)) {
      if (rows.length < mostRows) rows.push(this.#exactly(row));
      else more = true;
    }
    const changed = before !== this.value("select total_changes()");
    return { rows, more, changes: changed ? Number(this.value("select changes()")) : 0 };
  }

  /** Whether a transaction is open. Some errors end it. node:sqlite says so only from Node 22.16 on. */
  isInTransaction(): boolean {
    try {
      this.#database.exec("begin");
    } catch {
      return true;
    }
    this.#database.exec("rollback");
    return false;
  }

  close(): void {
    this.#prepared.clear();
    this.#exact.clear();
    this.#database.close();
  }

  /** Node 22 takes empty bytes without memory of their own, such as those from another thread, for null. */
  #given(parameters: readonly Parameter[]): readonly Parameter[] {
    const isEmpty = (value: Parameter): boolean => value instanceof Uint8Array && value.length === 0;
    if (!this.#spread || !parameters.some(isEmpty)) return parameters;
    return parameters.map((value) => (isEmpty(value) ? new Uint8Array(1).subarray(1) : value));
  }

  #prepare(cache: Map<string, RawStatement>, sql: string): RawStatement {
    let statement = cache.get(sql);
    if (statement !== undefined) {
      cache.delete(sql);
    } else {
      statement = this.#database.prepare(sql);
      if (cache === this.#exact) {
        statement.setReadBigInts?.(true);
        statement.safeIntegers?.(true);
      }
      for (const oldest of cache.keys()) {
        if (cache.size < this.#most) break;
        cache.delete(oldest);
      }
    }
    cache.set(sql, statement);
    return statement;
  }

  #exactly(row: Record<string, unknown>): Record<string, Parameter> {
    const entries = Object.entries(row).map(([name, value]): [string, Parameter] => {
      if (typeof value === "bigint")
        return [name, Number.isSafeInteger(Number(value)) ? Number(value) : value];
      return [name, value instanceof ArrayBuffer ? new Uint8Array(value) : (value as Parameter)];
    });
    // Sets no prototype, even if a column is called `__proto__`.
    return Object.fromEntries(entries);
  }
}
