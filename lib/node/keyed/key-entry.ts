// What the process of a key gets: its key, its state as it was saved last, and the means to save a new one under the lease of its shard.

import { jsonCodec } from "../../host/payload/codec.js";
import { UnstorableValueError } from "../../host/payload/errors.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { ConflictError } from "../../store/errors.js";
import type { Schema } from "../../store/schema.js";
import type { Store } from "../../store/store.js";
import { defineTable, type Row, type Table } from "../../store/table.js";
import type { WriteSet } from "../../store/write-set.js";
import type { Lease } from "../lease/singleton.js";
import { KeySaveError } from "./errors.js";

/** The states of keys. */
export const keyedStates: Table<StateColumns> = /* @__PURE__ */ defineTable("keyed_states", {
  columns: {
    kind: "text",
    key: "text",
    version: "integer",
    token: "integer",
    state: "payload",
  },
  key: ["kind", "key"],
});

type StateColumns = {
  readonly kind: "text";
  readonly key: "text";
  readonly version: "integer";
  readonly token: "integer";
  readonly state: "payload";
};

/** How many shards each kind has. */
export const keyedKinds: Table<{
  readonly kind: "text";
  readonly shards: "integer";
}> = /* @__PURE__ */ defineTable("keyed_kinds", {
  columns: { kind: "text", shards: "integer" },
  key: ["kind"],
});

/**
 * The tables of keyed processes. Open the store with this schema, beside your own.
 *
 * @example await using store = await openStore(system, postgres("postgres://127.0.0.1/shop"), [keyedSchema]);
 */
export const keyedSchema: Schema = {
  name: "keyed",
  version: 1,
  tables: [keyedStates, keyedKinds],
};

/** Writes and conditions that are committed together with a state: all of them, or nothing. */
export type SaveWith = Pick<WriteSet, "writes"> & Partial<Pick<WriteSet, "expect" | "notify">>;

/** The lease of the shard of a key, as the process of the key sees it. */
export type KeyLease = Pick<Lease, "name" | "token" | "isHeld">;

/** @throws OptionError */
function checkAlso(also: SaveWith | undefined): void {
  if (also === undefined) return;
  only("also", also, ["writes", "expect", "notify"]);
  for (const [name, list] of Object.entries({ expect: [], notify: [], ...also, writes: also.writes }))
    if (!Array.isArray(list)) throw new OptionError(`also.${name}`, list, "an array");
}

/** The row of a state. */
export type StateRow = Row<typeof keyedStates>;

const codec = /* @__PURE__ */ jsonCodec();

/** What the process of a key gets as the first argument of its `init`. */
export class KeyEntry<S> {
  /** The key. */
  readonly key: string;
  /**
   * The lease of the shard of this key. Write sets of the same store may name it as their `claim`: then an old holder cannot make them. Check
   * `lease.isHeld` before an effect that cannot be fenced. The process is stopped when the lease is lost.
   */
  readonly lease: KeyLease;
  readonly #kind: string;
  readonly #store: Store;
  #state: S | undefined;
  /** Of the row; 0 without a row. */
  #version: number;
  /** Why no further save is possible. */
  #broken: unknown;
  #saving: Promise<unknown> | undefined;

  /** @internal */
  constructor(kind: string, key: string, lease: KeyLease, store: Store, row: StateRow | undefined) {
    this.#kind = kind;
    this.key = key;
    this.lease = lease;
    this.#store = store;
    this.#version = row?.version ?? 0;
    this.#state = row === undefined ? undefined : (codec.decode(row.state) as S);
  }

  /** The state that was saved last, by this process or by those before it, on whichever node. Undefined: none was. */
  get state(): S | undefined {
    return this.#state;
  }

  /**
   * Saves a state. When the promise resolves, the state is durable, and the next process of this key begins with it. So save first, and answer then.
   * After a save that failed, all further ones fail: let the error end the process.
   *
   * @param state - plain data, or what `jsonCodec` keeps
   * @param also - writes of other tables in the same step
   * @throws OptionError; FencedError when another node has the shard by now: nothing was written; KeySaveError; UnstorableValueError; StoreError
   * @example const calls = { add: async (entry: KeyEntry<number>, n: number) => entry.save((entry.state ?? 0) + n) };
   */
  async save(state: S, also?: SaveWith): Promise<void> {
    let text: string;
    try {
      text = codec.encode(state);
    } catch (error) {
      throw error instanceof UnstorableValueError ? error.under("state", `${this.#kind} ${this.key}`) : error;
    }
    const row = {
      kind: this.#kind,
      key: this.key,
      version: this.#version + 1,
      token: this.lease.token,
      state: text,
    };
    await this.#commit(row.version, [{ type: "put", table: keyedStates, row }], also);
    // Several saves may be on their way: the last one is the state.
    if (row.version === this.#version) this.#state = state;
  }

  /**
   * Removes the state. The next process of this key begins without one.
   *
   * @throws OptionError, FencedError, KeySaveError, StoreError
   */
  async remove(also?: SaveWith): Promise<void> {
    await this.#commit(0, [{ type: "delete", table: keyedStates, key: [this.#kind, this.key] }], also);
    if (this.#version === 0) this.#state = undefined;
  }

  /** @internal Resolves when no save is on its way. Undefined: none ever was. */
  get settled(): Promise<unknown> | undefined {
    return this.#saving;
  }

  async #commit(version: number, writes: WriteSet["writes"], also: SaveWith | undefined): Promise<void> {
    if (this.#broken !== undefined)
      throw new KeySaveError(this.#kind, this.key, "a save before this one failed", this.#broken);
    checkAlso(also);
    const key = [this.#kind, this.key];
    const is = this.#version === 0 ? "absent" : { version: this.#version };
    this.#version = version;
    const { name, token } = this.lease;
    const committed = this.#store.commit({
      ...(also?.notify === undefined ? {} : { notify: also.notify }),
      claim: { name, token },
      expect: [{ table: keyedStates, key, is }, ...(also?.expect ?? [])],
      writes: [...writes, ...(also?.writes ?? [])],
    });
    this.#saving = Promise.allSettled([this.#saving, committed]);
    try {
      await committed;
    } catch (error) {
      this.#broken ??= error;
      const isOvertaken = error instanceof ConflictError && error.table === keyedStates.name;
      if (isOvertaken)
        throw new KeySaveError(this.#kind, this.key, "another process of the key has saved since", error);
      throw error;
    }
  }
}
