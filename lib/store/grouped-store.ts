// The part that all kinds of store have in common: write sets are checked and committed in groups, scans are checked, claims are
// kept, watchers notified, errors wrapped, and a closed store refuses. A kind of store is a driver (driver.ts).

import { OptionError, SignalboxError } from "../process/errors.js";
import { only } from "../process/known-options.js";
import { callable, count, delay, oneOf, text, withList, withMethod, word } from "../process/options.js";
import { showThrown } from "../process/show.js";
import type { Claim, ClaimInfo, ClaimOptions } from "./claim.js";
import { ClaimKeeper } from "./claim-keeper.js";
import { setContextOf } from "./context-of.js";
import type { CheckedScan, DriverHost, HeldClaim, StoreDriver } from "./driver.js";
import { ofBody } from "./error-classes.js";
import { FencedError, StoreClosedError, StoreError, StoreUnsupportedError } from "./errors.js";
import { GatheredScans } from "./gathered-scans.js";
import { GroupCommit, type Settled } from "./group-commit.js";
import type { StoreLimits } from "./limits.js";
import type { CommitOutcome } from "./plan.js";
import { checkScan } from "./scans.js";
import type { SqlTransaction, SqlTransactionOptions } from "./sql.js";
import type { Count, Scan, Store, StoreContext, Take, Watcher } from "./store.js";
import type { AnyRow, Columns, RowOf, Table } from "./table.js";
import { orderOf } from "./table-shape.js";
import { type CheckedTake, checkTake, takeByExpectation } from "./take.js";
import { checkKey, checkSet, checkTable } from "./values.js";
import { Watchers } from "./watchers.js";
import type { Committed, Key, WriteSet } from "./write-set.js";

/** A driver with its group commit: what all handles of one open store share. */
export class StoreEngine {
  readonly driver: StoreDriver;
  readonly limits: StoreLimits;
  readonly watchers: Watchers;
  readonly keepers: Set<ClaimKeeper> = new Set();
  readonly commits: GroupCommit;
  readonly scans: GatheredScans;
  /** Names of the tables of all schemas that it was opened with. */
  readonly tables: Set<string> = new Set();

  constructor(driver: StoreDriver, host: EngineHost, limits: StoreLimits) {
    this.driver = driver;
    this.limits = limits;
    this.scans = new GatheredScans(driver);
    this.watchers = new Watchers((message) => host.warn({ code: "store-callback", message }));
    this.commits = new GroupCommit({
      label: driver.label,
      limits,
      tables: this.tables,
      context: host,
      apply: async (sets) => driver.apply(sets),
      recovery: (error) => driver.recovery(error),
      wrap: (error) => this.wrap(error),
      committed: (sets, outcomes) => this.#committed(sets, outcomes),
    });
  }

  /** A claim is not its owner's any more. */
  lost(claim: HeldClaim): void {
    for (const keeper of this.keepers) keeper.lost(claim);
  }

  /** A writer was refused, so its claim counts as lost, even if a renewal would succeed: a refused write is not retried. */
  fenced({ claim, token }: FencedError): void {
    this.lost({ name: claim, token });
  }

  wrap(error: unknown): Error {
    if (error instanceof SignalboxError) return error;
    return new StoreError(`the store ${this.driver.label} failed: ${firstLine(error)}`, { cause: error });
  }

  #committed(sets: readonly WriteSet[], outcomes: readonly CommitOutcome[]): void {
    let topics: Set<string> | undefined;
    for (let i = 0; i < sets.length; i++) {
      const outcome = outcomes[i];
      if (outcome instanceof FencedError) this.fenced(outcome);
      const { notify } = sets[i] as WriteSet;
      if (notify === undefined || outcome instanceof Error) continue;
      topics ??= new Set();
      for (const topic of notify) topics.add(topic);
    }
    if (topics !== undefined) for (const topic of topics) this.watchers.notified(topic);
  }
}

function checkWrites(set: WriteSet): void {
  withList("set", set, "writes", "an object with an array of writes");
}

/** The surroundings of an engine. */
export type EngineHost = Pick<DriverHost, "environment" | "after" | "warn">;

const firstLine = (error: unknown): string => showThrown(error).split("\n", 1)[0] as string;

/** One handle on an open store. */
export class GroupedStore implements Store {
  readonly label: string;
  readonly shared: boolean;
  readonly #engine: StoreEngine;
  readonly #driver: StoreDriver;
  readonly #claims: ClaimKeeper;
  readonly #closing: () => Promise<void>;
  readonly #watches = new Set<() => void>();
  /** Operations that `close` waits for. */
  readonly #running = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  /** @param closing - closes what the handles share, if this is the last one */
  constructor(
    engine: StoreEngine,
    context: Pick<StoreContext, "environment" | "after">,
    closing: () => Promise<void>,
  ) {
    this.#engine = engine;
    this.#driver = engine.driver;
    this.label = engine.driver.label;
    this.shared = engine.driver.shared;
    this.#closing = closing;
    this.#claims = new ClaimKeeper(engine.driver, context);
    engine.keepers.add(this.#claims);
    setContextOf(this, context);
  }

  submit(set: WriteSet, settled: Settled): void {
    checkWrites(set);
    callable("settled", settled);
    if (this.#closed !== undefined) {
      void Promise.resolve().then(() => settled(new StoreClosedError(this.label), undefined));
      return;
    }
    this.#engine.commits.submit(set, settled);
  }

  commit(set: WriteSet): Promise<Committed> {
    return this.#run(async () => {
      checkWrites(set);
      return this.#commit(set);
    });
  }

  get<C extends Columns>(table: Table<C>, keys: readonly Key[]): Promise<(RowOf<C> | undefined)[]> {
    return this.#run(async () => {
      checkTable(table, this.#engine.tables);
      if (!Array.isArray(keys)) throw new OptionError("keys", keys, "an array of keys");
      for (const key of keys) checkKey(table, key);
      if (keys.length === 0) return [];
      return (await this.#driver.get(table, keys)) as (RowOf<C> | undefined)[];
    });
  }

  scan<C extends Columns>(table: Table<C>, scan: Scan): Promise<RowOf<C>[]> {
    return this.#run(
      async () => (await this.#engine.scans.scan(table, this.#checked(table, scan))) as RowOf<C>[],
    );
  }

  count<C extends Columns>(table: Table<C>, range: Count): Promise<number> {
    return this.#run(async () => {
      only("count", range, ["index", "prefix", "from", "after", "below", "where", "atMost"]);
      const { atMost, ...scan } = range;
      if (atMost !== undefined) count("count.atMost", atMost, 1);
      return this.#driver.count(table, this.#checked(table, scan), atMost);
    });
  }

  take<C extends Columns>(table: Table<C>, take: Take): Promise<RowOf<C>[]> {
    return this.#run(async () => {
      checkTable(table, this.#engine.tables);
      const checked = checkTake(table, take, this.#engine.limits);
      return (await this.#taken(table, checked)) as RowOf<C>[];
    });
  }

  clock(): Promise<number> {
    return this.#run(() => this.#driver.clock());
  }

  claim(name: string, options: ClaimOptions): Promise<Claim | undefined> {
    return this.#run(async () => {
      only("", options, ["owner", "ttlMs", "renewedBy"]);
      const { owner, ttlMs = this.#engine.limits.claimTtlMs, renewedBy = "store" } = options;
      return this.#claims.claim(
        text("name", name),
        text("owner", owner),
        delay("ttlMs", ttlMs, 1),
        oneOf<"store" | "owner">("renewedBy", renewedBy, ["store", "owner"]),
      );
    });
  }

  claims(prefix: string): Promise<ClaimInfo[]> {
    return this.#run(async () => [...(await this.#driver.claims(word("prefix", prefix)))]);
  }

  revoke(name: string, token: number): Promise<boolean> {
    return this.#run(async () => {
      text("name", name);
      count("token", token, 0);
      const revoked = await this.#driver.revoke({ name, token });
      if (revoked) this.#engine.lost({ name, token });
      return revoked;
    });
  }

  watch(prefix: string, watcher: Watcher): () => void {
    if (this.#closed !== undefined) throw new StoreClosedError(this.label);
    for (const method of ["notified", "again"] as const)
      withMethod("watcher", watcher, method, "an object with methods notified and again");
    const end = this.#engine.watchers.add(word("prefix", prefix), watcher);
    this.#watches.add(end);
    return () => {
      this.#watches.delete(end);
      end();
    };
  }

  transaction<T>(
    body: (tx: SqlTransaction) => Promise<T>,
    options: SqlTransactionOptions<T> = {},
  ): Promise<T> {
    return this.#run(async () => {
      callable("body", body, "a function of the transaction");
      only("", options, ["attach", "claim", "timeoutMs", "attempts", "signal"]);
      if (this.#driver.transaction === undefined)
        throw new StoreUnsupportedError(this.label, "has no SQL: use transact, or a store with SQL");
      const { attach } = options;
      let thrown: unknown;
      const noted = async (tx: SqlTransaction): Promise<T> => {
        try {
          return await body(tx);
        } catch (error) {
          thrown = error;
          throw error;
        }
      };
      try {
        return await this.#driver.transaction(noted, {
          ...options,
          ...(attach && { attach: async (result: T) => this.#checkedSet(await attach(result)) }),
        });
      } catch (error) {
        const seen = this.#engine.wrap(error);
        if (thrown !== undefined && seen.cause === thrown) ofBody(seen);
        throw seen;
      }
    });
  }

  backup(path: string): Promise<void> {
    return this.#run(async () => {
      text("path", path);
      if (this.#driver.backup === undefined)
        throw new StoreUnsupportedError(
          this.label,
          "makes no backups: use the tools of its server, or copy its rows",
        );
      await this.#driver.backup(path);
    });
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checked<C extends Columns>(table: Table<C>, scan: Scan): CheckedScan {
    checkTable(table, this.#engine.tables);
    return checkScan(table, scan, this.#engine.limits);
  }

  async #taken(table: Table, take: CheckedTake): Promise<AnyRow[]> {
    const driver = this.#driver;
    const { claim, scan } = take;
    if (driver.take === undefined)
      return takeByExpectation(
        { driver, commit: (set) => this.#commit(set), attempts: this.#engine.limits.transactAttempts },
        table,
        take,
      );
    const rows = await driver.take(table, take);
    if (rows !== undefined) return [...rows].sort(orderOf(scan.index, table));
    const { name, token } = claim as HeldClaim;
    throw new FencedError(name, token);
  }

  #commit(set: WriteSet): Promise<Committed> {
    return new Promise((resolve, reject) => {
      this.#engine.commits.submit(set, (error, committed) => {
        if (error === undefined) resolve(committed as Committed);
        else reject(error);
      });
    });
  }

  /** A set that commits with SQL of a user. That transaction sees the rows as of its beginning, so it could not count them. */
  #checkedSet(set: WriteSet): WriteSet {
    for (const one of set.expect ?? [])
      if ("prefix" in one)
        throw new OptionError("expect", "a number of rows", "about single rows in a set of `attach`");
    checkSet(set, this.#engine.tables);
    return set;
  }

  async #close(): Promise<void> {
    for (const end of this.#watches) end();
    await Promise.allSettled(this.#running);
    await this.#engine.commits.flush();
    try {
      await this.#claims.releaseAll();
    } finally {
      this.#engine.keepers.delete(this.#claims);
      await this.#closing();
    }
  }

  /** Runs an operation of an open store. Errors of the driver become errors of the store. */
  async #run<T>(operation: () => Promise<T>): Promise<T> {
    if (this.#closed !== undefined) throw new StoreClosedError(this.label);
    const running = operation();
    this.#running.add(running);
    try {
      return await running;
    } catch (error) {
      if (error instanceof FencedError) this.#engine.fenced(error);
      throw this.#engine.wrap(error);
    } finally {
      this.#running.delete(running);
    }
  }
}
