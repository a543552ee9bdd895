// A store whose user can die: from then on no call has an effect or an answer, as when the process was killed. Earlier commits stay
// for the next user.

import type {
  Claim,
  ClaimInfo,
  ClaimOptions,
  Columns,
  Committed,
  Key,
  RowOf,
  Scan,
  Schema,
  SqlTransaction,
  SqlTransactionOptions,
  Store,
  StoreContext,
  StoreSource,
  Table,
  Take,
  Watcher,
  WriteSet,
} from "../../store/index.js";

/** What the handles of one user share. */
interface Life {
  dead: boolean;
  readonly handles: Set<Store>;
}

/** A new promise each time: one for all would keep, for ever, everything that has ever waited for it. */
const never = (): Promise<never> => new Promise(() => undefined);

/** A source for one user after another: `kill` ends the present one. */
export class MortalSource implements StoreSource {
  readonly label: string;
  readonly unreachableMs?: number;
  readonly #inner: StoreSource;
  #life: Life = { dead: false, handles: new Set() };

  constructor(inner: StoreSource) {
    this.label = inner.label;
    if (inner.unreachableMs !== undefined) this.unreachableMs = inner.unreachableMs;
    this.#inner = inner;
  }

  async open(schemas: readonly Schema[], context: StoreContext): Promise<Store> {
    const life = this.#life;
    const store = await this.#inner.open(schemas, context);
    if (life.dead) {
      await store.close();
      return never();
    }
    life.handles.add(store);
    return new MortalStore(store, life);
  }

  /** Ends the present users of the store: from now on, their calls have no effect and no answer. */
  kill(): void {
    this.#life.dead = true;
  }

  /** Gives back what the dead one held, as an operating system does. Then the next one may open the store. */
  async bury(): Promise<void> {
    const { handles } = this.#life;
    this.#life = { dead: false, handles: new Set() };
    for (const store of handles) await store.close();
  }
}

class MortalStore implements Store {
  readonly label: string;
  readonly shared: boolean;
  readonly #store: Store;
  readonly #life: Life;

  constructor(store: Store, life: Life) {
    this.label = store.label;
    this.shared = store.shared;
    this.#store = store;
    this.#life = life;
  }

  commit(set: WriteSet): Promise<Committed> {
    return this.#alive(() => this.#store.commit(set));
  }

  submit(set: WriteSet, settled: (error: Error | undefined, committed: Committed | undefined) => void): void {
    if (this.#life.dead) return;
    this.#store.submit(set, (error, committed) => {
      if (!this.#life.dead) settled(error, committed);
    });
  }

  get<C extends Columns>(table: Table<C>, keys: readonly Key[]): Promise<(RowOf<C> | undefined)[]> {
    return this.#alive(() => this.#store.get(table, keys));
  }

  scan<C extends Columns>(table: Table<C>, scan: Scan): Promise<RowOf<C>[]> {
    return this.#alive(() => this.#store.scan(table, scan));
  }

  count<C extends Columns>(table: Table<C>, scan: Scan): Promise<number> {
    return this.#alive(() => this.#store.count(table, scan));
  }

  take<C extends Columns>(table: Table<C>, take: Take): Promise<RowOf<C>[]> {
    return this.#alive(() => this.#store.take(table, take));
  }

  clock(): Promise<number> {
    return this.#alive(() => this.#store.clock());
  }

  claim(name: string, options: ClaimOptions): Promise<Claim | undefined> {
    return this.#alive(() => this.#store.claim(name, options));
  }

  claims(prefix: string): Promise<ClaimInfo[]> {
    return this.#alive(() => this.#store.claims(prefix));
  }

  revoke(name: string, token: number): Promise<boolean> {
    return this.#alive(() => this.#store.revoke(name, token));
  }

  watch(prefix: string, watcher: Watcher): () => void {
    if (this.#life.dead) return () => undefined;
    return this.#store.watch(prefix, {
      notified: (topic) => {
        if (!this.#life.dead) watcher.notified(topic);
      },
      again: () => {
        if (!this.#life.dead) watcher.again();
      },
    });
  }

  transaction<T>(
    body: (tx: SqlTransaction) => Promise<T>,
    options: SqlTransactionOptions<T> = {},
  ): Promise<T> {
    const { attach } = options;
    // A dead user's transaction never comes to its commit.
    const attached = attach && ((result: T) => this.#alive(async () => attach(result)));
    return this.#alive(() =>
      this.#store.transaction((tx) => this.#alive(() => body(tx)), {
        ...options,
        ...(attached && { attach: attached }),
      }),
    );
  }

  backup(path: string): Promise<void> {
    return this.#alive(() => this.#store.backup(path));
  }

  async close(): Promise<void> {
    if (this.#life.dead) return;
    this.#life.handles.delete(this.#store);
    await this.#store.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Calls, unless its user is dead, and answers, unless its user has died in the meantime. */
  #alive<T>(call: () => Promise<T>): Promise<T> {
    const life = this.#life;
    if (life.dead) return never();
    return new Promise((resolve, reject) => {
      call().then(
        (value) => {
          if (!life.dead) resolve(value);
        },
        (error: unknown) => {
          if (!life.dead) reject(error);
        },
      );
    });
  }
}
