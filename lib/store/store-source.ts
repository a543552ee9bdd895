// One open store for all handles of the same source: the handles share a driver and its group commit. The last handle that closes
// closes the driver.

import type { DriverHost, StoreDriver } from "./driver.js";
import { GroupedStore, StoreEngine } from "./grouped-store.js";
import { type StoreLimits, storeLimits } from "./limits.js";
import type { Schema } from "./schema.js";
import type { Store, StoreContext, StoreSource } from "./store.js";

/** A kind of store that can be opened. */
export interface SourceOptions {
  /** For people, without passwords. */
  readonly label: string;
  readonly limits?: Partial<StoreLimits>;
  /** See {@link StoreSource.unreachableMs}. */
  readonly unreachableMs?: number;
  /** Connects. An error here rejects `open` as it is. */
  connect(host: DriverHost): Promise<StoreDriver>;
}

/** A source whose handles share one driver. */
export function sharedSource(options: SourceOptions): StoreSource {
  return new SharedSource(options);
}

interface Opened {
  readonly engine: StoreEngine;
  /** The contexts of the open handles, in the order of opening. Timers are set with the first that is still there. */
  readonly contexts: StoreContext[];
}

class SharedSource implements StoreSource {
  readonly label: string;
  readonly unreachableMs?: number;
  readonly #options: SourceOptions;
  readonly #limits: StoreLimits;
  #opened: Opened | undefined;
  /** Opening and closing happen one after another. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: SourceOptions) {
    this.label = options.label;
    if (options.unreachableMs !== undefined) this.unreachableMs = options.unreachableMs;
    this.#options = options;
    this.#limits = storeLimits(options.limits);
  }

  open(schemas: readonly Schema[], context: StoreContext): Promise<Store> {
    return this.#next(async () => {
      const opened = this.#opened ?? (await this.#connect(context));
      try {
        await opened.engine.driver.migrate(schemas);
      } catch (error) {
        if (opened.contexts.length === 0) await opened.engine.driver.close();
        throw opened.engine.wrap(error);
      }
      for (const { tables } of schemas) for (const { name } of tables) opened.engine.tables.add(name);
      this.#opened = opened;
      opened.contexts.push(context);
      return new GroupedStore(opened.engine, context, () => this.#next(() => this.#close(opened, context)));
    });
  }

  async #connect(first: StoreContext): Promise<Opened> {
    const contexts: StoreContext[] = [];
    const context = (): StoreContext => contexts[0] ?? first;
    let engine: StoreEngine | undefined;
    const host: DriverHost = {
      get environment() {
        return context().environment;
      },
      after: (ms, fn) => context().after(ms, fn),
      warn: (warning) => context().warn(warning),
      notified: (topic) => engine?.watchers.notified(topic),
      again: () => engine?.watchers.again(),
    };
    const driver = await this.#options.connect(host);
    engine = new StoreEngine(driver, host, this.#limits);
    return { engine, contexts };
  }

  async #close(opened: Opened, context: StoreContext): Promise<void> {
    opened.contexts.splice(opened.contexts.indexOf(context), 1);
    if (opened.contexts.length > 0) return;
    this.#opened = undefined;
    await opened.engine.commits.close();
    await opened.engine.driver.close();
  }

  #next<T>(step: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(step);
    this.#turn = done.catch(() => undefined);
    return done;
  }
}
