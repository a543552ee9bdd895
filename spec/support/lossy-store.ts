// A store that loses what is not committed: a write set is on its way for some turns of the event loop, and a crash discards it there.

import type { Store, StoreContext, StoreSource } from "../../lib/store/index.js";
import { MortalSource } from "../../lib/testing/flows/mortal-store.js";

/** How many turns of the event loop a write is on its way. */
const TURNS = 5;

interface Life {
  isOver: boolean;
}

/** A source for one program after another. `crash` ends the present one, with all that it has submitted and that is not committed. */
export class LossySource implements StoreSource {
  readonly label: string;
  readonly #inner: StoreSource;
  readonly #mortal: MortalSource;
  #life: Life = { isOver: false };

  constructor(inner: StoreSource) {
    this.label = inner.label;
    this.#inner = inner;
    this.#mortal = new MortalSource({
      label: inner.label,
      open: async (schemas, context) => slow(await this.#inner.open(schemas, context), this.#life),
    });
  }

  open(schemas: Parameters<StoreSource["open"]>[0], context: StoreContext): Promise<Store> {
    return this.#mortal.open(schemas, context);
  }

  /** The program dies at this instant. */
  kill(): void {
    this.#life.isOver = true;
    this.#mortal.kill();
  }

  /** The next program may open the store. */
  async bury(): Promise<void> {
    await this.#mortal.bury();
    this.#life = { isOver: false };
  }
}

/** What the clock of a server has more than whole milliseconds. */
const FRACTION = 0.25;

/** The same store, whose writes take a while, and whose clock has fractions as that of a server has. */
function slow(store: Store, life: Life): Store {
  const onItsWay = async (): Promise<void> => {
    for (let turn = 0; turn < TURNS; turn++) await new Promise((resolve) => setImmediate(resolve));
    if (life.isOver) await new Promise(() => undefined);
  };
  const changed: Pick<Store, "commit" | "submit" | "take" | "clock"> = {
    clock: async () => (await store.clock()) + FRACTION,
    commit: async (set) => {
      await onItsWay();
      return store.commit(set);
    },
    submit: (set, settled) => {
      void onItsWay().then(() => store.submit(set, settled));
    },
    take: async (table, take) => {
      await onItsWay();
      return store.take(table, take);
    },
  };
  return new Proxy(store, {
    get(target, name) {
      if (Object.hasOwn(changed, name)) return changed[name as keyof typeof changed];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
