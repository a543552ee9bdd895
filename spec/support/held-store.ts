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
    return new Proxy(store, {
      get(target, name) {
        if (name === "commit") return commit;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }
}
