// The entries of a registry, found by key and by owner in constant time. No processes here: `P` stands for an owner.

import { exclude, include, members, type OneOrMany } from "../../process/one-or-many.js";

/** One entry. Only an update of its owner changes it. */
export class Held<K, V, P> {
  readonly key: K;
  readonly owner: P;
  value: V;
  constructor(key: K, owner: P, value: V) {
    this.key = key;
    this.owner = owner;
    this.value = value;
  }
}

export class RegistryTable<K, V, P> {
  readonly #byKey = new Map<K, OneOrMany<Held<K, V, P>>>();
  readonly #byOwner = new Map<P, OneOrMany<Held<K, V, P>>>();
  readonly #isUnique: boolean;
  #size = 0;

  constructor(isUnique: boolean) {
    this.#isUnique = isUnique;
  }

  /** How many entries there are. */
  get size(): number {
    return this.#size;
  }

  /** The holder of a key that only one process may have. */
  blocker(key: K): P | undefined {
    return this.#isUnique ? this.first(key)?.owner : undefined;
  }

  add(key: K, owner: P, value: V): void {
    const held = new Held(key, owner, value);
    this.#byKey.set(key, include(this.#byKey.get(key), held));
    this.#byOwner.set(owner, include(this.#byOwner.get(owner), held));
    this.#size++;
  }

  /** The first entry of a key, which is the only one of a unique key. */
  first(key: K): Held<K, V, P> | undefined {
    const all = this.#byKey.get(key);
    return all instanceof Set ? all.values().next().value : all;
  }

  /** The entries of a key, the oldest first. */
  of(key: K): Held<K, V, P>[] {
    return members(this.#byKey.get(key));
  }

  /** The entries of an owner, the oldest first. */
  ownedBy(owner: P): Held<K, V, P>[] {
    return members(this.#byOwner.get(owner));
  }

  /** All entries: keys in the order of their first entry, and the entries of each key in order. */
  *[Symbol.iterator](): Generator<Held<K, V, P>> {
    for (const all of this.#byKey.values()) yield* members(all);
  }

  /** Removes the entries of an owner with this key, and returns them. */
  remove(key: K, owner: P): Held<K, V, P>[] {
    const gone = this.of(key).filter((held) => held.owner === owner);
    for (const held of gone) this.#drop(held);
    return gone;
  }

  /** Removes all entries of an owner, and returns them. */
  release(owner: P): Held<K, V, P>[] {
    const gone = this.ownedBy(owner);
    for (const held of gone) this.#drop(held);
    return gone;
  }

  #drop(held: Held<K, V, P>): void {
    const { key, owner } = held;
    const ofKey = exclude(this.#byKey.get(key), held);
    if (ofKey === undefined) this.#byKey.delete(key);
    else this.#byKey.set(key, ofKey);
    const ofOwner = exclude(this.#byOwner.get(owner), held);
    if (ofOwner === undefined) this.#byOwner.delete(owner);
    else this.#byOwner.set(owner, ofOwner);
    this.#size--;
  }
}
