// A store whose user can die: from then on no call has an effect or an answer, as when the process was killed. Earlier commits stay
// for the next user.

import type { Schema, Store, StoreContext, StoreSource } from "../../store/index.js";

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
    return mortal(store, life);
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

/** The store of one user. */
function mortal(store: Store, life: Life): Store {
  const close = async (): Promise<void> => {
    if (life.dead) return;
    life.handles.delete(store);
    await store.close();
  };
  const own: Partial<Store> = {
    submit: (set, settled) => {
      if (!life.dead) store.submit(set, ifAlive(life, settled));
    },
    watch: (prefix, watcher) => {
      if (life.dead) return () => undefined;
      return store.watch(prefix, {
        notified: ifAlive(life, (topic) => watcher.notified(topic)),
        again: ifAlive(life, () => watcher.again()),
      });
    },
    transaction: (body, options = {}) => {
      const { attach } = options;
      // A dead user's transaction never comes to its commit.
      const attached = attach && ((result: never) => whileAlive(life, async () => attach(result)));
      return whileAlive(life, () =>
        store.transaction((tx) => whileAlive(life, () => body(tx)), {
          ...options,
          ...(attached && { attach: attached }),
        }),
      );
    },
    close,
    [Symbol.asyncDispose]: close,
  };
  // All other methods answer by a promise.
  return new Proxy(store, {
    get: (_, property) => {
      const value: unknown = Reflect.get(store, property);
      if (property in own) return Reflect.get(own, property);
      if (typeof value !== "function") return value;
      return (...given: unknown[]) => whileAlive(life, () => Reflect.apply(value, store, given));
    },
  });
}

function ifAlive<Args extends readonly unknown[]>(life: Life, fn: (...args: Args) => void) {
  return (...args: Args): void => {
    if (!life.dead) fn(...args);
  };
}

/** Calls, unless its user is dead, and answers, unless its user has died in the meantime. */
function whileAlive<T>(life: Life, call: () => Promise<T>): Promise<T> {
  if (life.dead) return never();
  return new Promise((resolve, reject) => {
    call().then(ifAlive(life, resolve), ifAlive(life, reject));
  });
}
