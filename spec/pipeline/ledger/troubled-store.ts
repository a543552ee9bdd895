// A store with troubles that a test orders: commits that fail, with or without an effect, and reads that fail. A write set is applied
// as a whole or not at all, as every store promises: that is held by the suites of the stores.

import { type Store, StoreError, type StoreSource } from "signalbox/store";

/** `fail`: nothing is written, and the writer gets an error. `unknown`: it is written, and the writer gets an error all the same. */
export type Trouble = "fail" | "unknown";

/** What happens next to a store. */
export class Troubles {
  commit: Trouble | undefined;
  reads = 0;
  /** Commits wait until they are let go. */
  held: (() => void)[] | undefined;

  /** A source whose stores have these troubles. */
  of(source: StoreSource): StoreSource {
    return {
      ...source,
      open: async (schemas, context) => this.#troubled(await source.open(schemas, context)),
    };
  }

  /** Lets waiting commits go. */
  letGo(): void {
    const held = this.held ?? [];
    this.held = undefined;
    for (const go of held) go();
  }

  #troubled(store: Store): Store {
    const broken = (): StoreError => new StoreError("the disk is out of order");
    const submit: Store["submit"] = (set, settled) => {
      const trouble = this.commit;
      this.commit = undefined;
      const go = (): void => {
        if (trouble === "fail") queueMicrotask(() => settled(broken(), undefined));
        else if (trouble === "unknown") store.submit(set, (error) => settled(error ?? broken(), undefined));
        else store.submit(set, settled);
      };
      if (this.held === undefined) go();
      else this.held.push(go);
    };
    const scan: Store["scan"] = (table, scanned) =>
      this.reads > 0 && this.reads-- > 0 ? Promise.reject(broken()) : store.scan(table, scanned);
    const own: Partial<Store> = { submit, scan };
    return new Proxy(store, {
      get: (target, name) => {
        const value = own[name as keyof Store] ?? Reflect.get(target, name);
        return typeof value === "function" ? (value as () => unknown).bind(target) : value;
      },
    });
  }
}
