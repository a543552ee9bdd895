// A store whose commits stand still while a test holds it, as one whose disk or server is slow.

import { memory, type Store, type StoreSource } from "../../lib/store/index.js";

/** A store whose commits stand still while it is held. */
export class HeldSource implements StoreSource {
  readonly label = "held";
  readonly unreachableMs?: number;
  readonly #inner = memory();
  #held: (() => void)[] | undefined;
  /** Most commits that were on their way at a time. */
  most = 0;
  #onItsWay = 0;

  constructor(unreachableMs?: number) {
    if (unreachableMs !== undefined) this.unreachableMs = unreachableMs;
  }

  hold(): void {
    this.#held = [];
  }

  /** How many commits stand still. */
  get waiting(): number {
    return this.#held?.length ?? 0;
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const go of held) go();
  }

  async open(...args: Parameters<StoreSource["open"]>): Promise<Store> {
    const store = await this.#inner.open(...args);
    const commit: Store["commit"] = async (set) => {
      this.#onItsWay++;
      this.most = Math.max(this.most, this.#onItsWay);
      try {
        if (this.#held !== undefined) await new Promise<void>((go) => this.#held?.push(go));
        return await store.commit(set);
      } finally {
        this.#onItsWay--;
      }
    };
    return withCommit(store, commit);
  }
}

/** A store that refuses commits while a test wants it, as one whose server is lost. */
export class RefusingSource implements StoreSource {
  readonly label = "refusing";
  readonly #inner = memory();
  /** With which every commit fails. */
  refuses: Error | undefined;

  async open(...args: Parameters<StoreSource["open"]>): Promise<Store> {
    const store = await this.#inner.open(...args);
    return withCommit(store, async (set) => {
      if (this.refuses !== undefined) throw this.refuses;
      return store.commit(set);
    });
  }
}

/** The store, with another way to commit. */
function withCommit(store: Store, commit: Store["commit"]): Store {
  const submit: Store["submit"] = (set, settled) => {
    commit(set).then(
      (committed) => settled(undefined, committed),
      (error: Error) => settled(error, undefined),
    );
  };
  return new Proxy(store, {
    get(target, name) {
      if (name === "commit") return commit;
      if (name === "submit") return submit;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
