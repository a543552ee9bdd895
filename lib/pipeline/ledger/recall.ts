// What adapters remember. The store has the values; this file only knows which steps in flight are going to change them and, in a shared
// store, what the messages in work have found there: each of their steps expects to find the same.

import type { Payloads } from "../../host/payload/payloads.js";
import type { RowExpectation, Store } from "../../store/index.js";
import type { Remembered } from "./ledger.js";
import type { Body } from "./live-message.js";
import { memory } from "./tables.js";

export class Recall {
  readonly #store: Store;
  readonly #scope: number;
  readonly #payloads: Pick<Payloads, "load">;
  /** How many steps in flight remember something at a place, and the calls that wait for the last of them. */
  readonly #underWay = new Map<string, { steps: number; readonly waiting: (() => void)[] }>();

  /** The stored values that were found, by place. Undefined: nothing was there. */
  readonly #found = new Map<string, Body | null | undefined>();

  constructor(store: Store, scope: number, payloads: Pick<Payloads, "load">) {
    this.#store = store;
    this.#scope = scope;
    this.#payloads = payloads;
  }

  /** Waits for the steps on their way that remember something here: whether they are in time is not known before. */
  async recall(adapter: string, key: string): Promise<unknown> {
    const place = placeOf(adapter, key);
    for (let at = this.#underWay.get(place); at !== undefined; at = this.#underWay.get(place)) {
      const { waiting } = at;
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
    const [row] = await this.#store.get(memory, [[this.#scope, adapter, key]]);
    if (this.#store.shared) this.#found.set(place, row?.value);
    return row?.value == null ? undefined : this.#payloads.load(row.value);
  }

  /** The message that has recalled this is not in work any more. */
  forget(adapter: string, key: string): void {
    this.#found.delete(placeOf(adapter, key));
  }

  /** What a step that remembers has to find, if other hosts may remember something else in the meantime. */
  expected(all: readonly Remembered[] = []): readonly RowExpectation[] {
    return all.flatMap(({ adapter, key }) => {
      const place = placeOf(adapter, key);
      if (!this.#found.has(place)) return [];
      const value = this.#found.get(place);
      const row = { table: memory, key: [this.#scope, adapter, key] };
      return { ...row, is: value === undefined ? ("absent" as const) : { value } };
    });
  }

  /** A step that remembers was submitted. */
  submitted(all: readonly Remembered[] = []): void {
    for (const { adapter, key } of all) {
      const place = placeOf(adapter, key);
      const at = this.#underWay.get(place);
      if (at === undefined) this.#underWay.set(place, { steps: 1, waiting: [] });
      else at.steps++;
    }
  }

  /** The step is durable, and from now on the store has it; or it was refused. */
  over(all: readonly Remembered[] = []): void {
    for (const { adapter, key } of all) {
      const place = placeOf(adapter, key);
      const at = this.#underWay.get(place);
      if (at === undefined || --at.steps > 0) continue;
      this.#underWay.delete(place);
      for (const resolve of at.waiting) resolve();
    }
  }

  /** No step is in flight any more: waiting calls get the stored value. */
  stop(): void {
    const all = [...this.#underWay.values()];
    this.#underWay.clear();
    for (const { waiting } of all) for (const resolve of waiting) resolve();
  }
}

const placeOf = (adapter: string, key: string): string => `${adapter} ${key}`;
