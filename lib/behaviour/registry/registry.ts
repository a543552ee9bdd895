// A registry: processes by key, each with a value, after Elixir's Registry. table.ts holds the entries.

import type { Context } from "../../process/context.js";
import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { checkPid, oneOf, text } from "../../process/options.js";
import { hasOwners, runningOwner } from "../../process/origin.js";
import { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import type { SharedState } from "../../process/shared-state.js";
import { show } from "../../process/show.js";
import { ProcessSystem } from "../../process/system.js";
import { type Claim, holdFor, post, processOf, SoleVia, type Via } from "../../process/via.js";
import { KeyTakenError, NotRegisteredError } from "./errors.js";
import { type Held, RegistryTable } from "./table.js";

/** Options of a registry. */
export interface RegistryOptions {
  /**
   * What the registry is called in errors, addresses, spans and metrics. In a system, a name stands for one registry at a time. It is free
   * again when the process ends whose code made the registry. Default: the first free one of `registry`, `registry 2`, …
   */
  readonly name?: string;
  /**
   * Whether a key belongs to one process (`unique`), or to any number of processes (`duplicate`), any number of times.
   * Default `unique`.
   */
  readonly keys?: "unique" | "duplicate";
}

/** One entry of a registry: a snapshot. */
export interface RegistryEntry<K, V, M = never> {
  /** The key. */
  readonly key: K;
  /** The process that registered. */
  readonly pid: Pid<M>;
  /** The value that the process registered, or updated last. */
  readonly value: V;
}

/** The messages that a listener of a registry receives. */
export interface RegistryEvent<K = unknown, V = unknown> {
  /** Whether the entry came or went. */
  readonly type: "registered" | "unregistered";
  /** The name of the registry. */
  readonly registry: string;
  /** The key of the entry. */
  readonly key: K;
  /** The process of the entry. */
  readonly pid: Pid;
  /** The value of the entry, as it was then. */
  readonly value: V;
}

/** The process that registers: its `ctx`, or its pid. */
export type RegistryOwner = Context<never> | Pid;

/** The value of an entry. It may be left out in a registry without values. */
type ValueOf<V> = undefined extends V ? [value?: V] : [value: V];

/**
 * Finds processes by key. An entry belongs to the process that registered. It vanishes when that process ends, before any
 * other process learns of the end. A registry belongs to one system, and a system may have several registries. All operations
 * are immediate.
 *
 * @see https://hexdocs.pm/elixir/Registry.html
 * @example
 * const sessions = new Registry<string, { since: number }, string>(system, { name: "sessions" });
 * system.spawn<string>(async (ctx) => {
 *   sessions.register(ctx, "user-17", { since: ctx.now() });
 *   log(await ctx.receive());
 * });
 * system.send(sessions.via("user-17"), "hello");
 */
export class Registry<K, V = undefined, M = never> {
  /** The name of the registry in errors and addresses. */
  readonly name: string;
  readonly #kernel: Kernel;
  readonly #isUnique: boolean;
  readonly #table: RegistryTable<K, V, Process>;
  readonly #listeners = new Set<Process>();

  /** @throws OptionError when an option is not what it has to be, or another registry of the system has the name */
  constructor(system: ProcessSystem, options: RegistryOptions = {}) {
    if (!(system instanceof ProcessSystem)) throw new OptionError("system", system, "a System");
    only("", options, ["name", "keys"]);
    if (options.name !== undefined) text("name", options.name);
    this.#isUnique = oneOf("keys", options.keys ?? "unique", ["unique", "duplicate"]) === "unique";
    this.#table = new RegistryTable(this.#isUnique);
    this.#kernel = system.kernel;
    this.name = takeName(system.kernel, options.name);
    this.#kernel.shared?.created(this);
  }

  /** How many entries there are. */
  get size(): number {
    this.#kernel.shared?.part(this, ALL, "read");
    return this.#table.size;
  }

  /**
   * Adds an entry for a process.
   *
   * @throws KeyTakenError when the key of a unique registry is taken, by this process or another one; NoProcessError or
   * ProcessExitedError when the process does not run here
   */
  register(owner: RegistryOwner, key: K, ...value: ValueOf<V>): void {
    this.#add(processOf(this.#kernel, owner), key, value[0] as V);
  }

  /** Removes the entries that a process has under a key. Returns how many it removed. */
  unregister(owner: RegistryOwner, key: K): number {
    const process = processOf(this.#kernel, owner);
    this.#changing(key);
    const gone = this.#table.remove(key, process);
    for (const held of gone) this.#notify("unregistered", held);
    return gone.length;
  }

  /**
   * Changes the values of a process's own entries under a key. `change` gets the value and returns the new one. No other code
   * runs in between.
   *
   * @returns the new value; of the last entry, if a key of a duplicate registry has several of this process
   * @throws NotRegisteredError when the process has no entry under the key
   * @example hits.update(ctx, "home", (n) => n + 1);
   */
  update(owner: RegistryOwner, key: K, change: (value: V) => V): V {
    const process = processOf(this.#kernel, owner);
    if (typeof change !== "function")
      throw new OptionError("change", change, "a function from the value to the new value");
    this.#changing(key);
    const own = this.#table.of(key).filter((held) => held.owner === process);
    if (own.length === 0) throw new NotRegisteredError(this.name, key, process.pid);
    // A change that throws leaves all values as they were.
    const values = own.map(({ value }) => change(value));
    for (const [index, held] of own.entries()) held.value = values[index] as V;
    return values[values.length - 1] as V;
  }

  /** The entry of a key: the oldest one, if there are several. Undefined when there is none. */
  find(key: K): RegistryEntry<K, V, M> | undefined {
    const held = this.#first(key);
    return held === undefined ? undefined : entryOf(held);
  }

  /** All entries of a key, the oldest first. */
  lookup(key: K): RegistryEntry<K, V, M>[] {
    this.#looking(key);
    return this.#table.of(key).map(entryOf<K, V, M>);
  }

  /** The keys under which a process is registered, the oldest first, each once. */
  keysOf(pid: Pid): K[] {
    checkPid("pid", pid);
    this.#kernel.shared?.part(this, ALL, "read");
    const { process } = pid;
    return process === undefined ? [] : [...new Set(this.#table.ownedBy(process).map(({ key }) => key))];
  }

  /**
   * The entries for which the predicate holds. It goes through all entries.
   *
   * @example const idle = sessions.select(({ value }) => value.since < ctx.now() - 60_000);
   */
  select(predicate: (entry: RegistryEntry<K, V, M>) => boolean): RegistryEntry<K, V, M>[] {
    if (typeof predicate !== "function")
      throw new OptionError("predicate", predicate, "a function of an entry");
    this.#kernel.shared?.part(this, ALL, "read");
    return Array.from(this.#table, entryOf<K, V, M>).filter(predicate);
  }

  /** How many entries a key has. */
  count(key: K): number {
    this.#looking(key);
    return this.#table.of(key).length;
  }

  /**
   * Calls a function for each entry of a key, the oldest first, in the process of the caller. Returns the number of entries.
   *
   * @example topics.dispatch("orders", ({ pid }) => ctx.send(pid, { item: "tea", n: 1 }));
   */
  dispatch(key: K, deliver: (entry: RegistryEntry<K, V, M>) => void): number {
    if (typeof deliver !== "function") throw new OptionError("deliver", deliver, "a function of an entry");
    const entries = this.lookup(key);
    for (const entry of entries) deliver(entry);
    return entries.length;
  }

  /**
   * The address of the process that holds a key of a unique registry. It stands wherever a pid can, also in `Stock.at(system, …)`.
   *
   * @throws OptionError in a registry with duplicate keys
   * @example sessions.via("user-17"); // ctx.send(sessions.via("user-17"), "hello")
   */
  via(key: K): Via<M> {
    if (!this.#isUnique) throw new OptionError("keys", "duplicate", "unique: an address has one holder");
    return this.#via(key);
  }

  /**
   * The key as the `name` of a spawn, a start or a child: the new process is registered before it runs. When the key of a
   * unique registry is taken, the spawn throws KeyTakenError, and a start fails with it.
   *
   * @example
   * const name = sessions.claim("user-17", { since: 0 });
   * const session = await system.startWith({ name }, Session, "user-17");
   */
  claim(key: K, ...value: ValueOf<V>): Claim {
    const claim: Omit<Claim, symbol> = {
      claim: (process) => this.#add(process, key, value[0] as V),
      via: this.#isUnique ? () => this.#via(key) : undefined,
    };
    return claim as Claim;
  }

  /**
   * From now on, a process gets a RegistryEvent as a message for each entry that comes or goes, in their order. An exit ends
   * this too.
   */
  listen(listener: Context<RegistryEvent<K, V>> | Pid<RegistryEvent<K, V>>): void {
    const process = processOf(this.#kernel, listener);
    this.#kernel.shared?.part(this, LISTENERS, "write");
    this.#listeners.add(process);
    holdFor(process, this);
  }

  /** Ends {@link Registry.listen}. */
  unlisten(listener: Context<RegistryEvent<K, V>> | Pid<RegistryEvent<K, V>>): void {
    this.#kernel.shared?.part(this, LISTENERS, "write");
    this.#listeners.delete(processOf(this.#kernel, listener));
  }

  /** @internal A process has ended. */
  release(process: Process): void {
    const { shared } = this.#kernel;
    if (this.#listeners.delete(process)) shared?.part(this, LISTENERS, "write");
    if (shared !== undefined) for (const { key } of this.#table.ownedBy(process)) this.#changing(key);
    for (const held of this.#table.release(process)) this.#notify("unregistered", held);
  }

  #via(key: K): SoleVia<M> {
    const label = `${this.name}[${show(key)}]`;
    const holder = (): Process | undefined => this.#first(key)?.owner;
    return new SoleVia<M>(this.#kernel, label, { place: this, key }, holder, this.name);
  }

  #add(process: Process, key: K, value: V): void {
    this.#changing(key);
    const holder = this.#table.blocker(key);
    if (holder !== undefined) throw new KeyTakenError(this.name, key, holder.pid);
    this.#table.add(key, process, value);
    holdFor(process, this);
    this.#notify("registered", { key, owner: process, value });
  }

  #first(key: K): Held<K, V, Process> | undefined {
    this.#looking(key);
    return this.#table.first(key);
  }

  #looking(key: K): void {
    this.#kernel.shared?.part(this, partOf(key), "read");
  }

  #changing(key: K): void {
    const shared: SharedState | undefined = this.#kernel.shared;
    shared?.part(this, partOf(key), "write");
    shared?.part(this, ALL, "write");
  }

  #notify(type: RegistryEvent["type"], { key, owner, value }: Held<K, V, Process>): void {
    this.#kernel.shared?.part(this, LISTENERS, "read");
    if (this.#listeners.size === 0) return;
    const event: RegistryEvent<K, V> = { type, registry: this.name, key, pid: owner.pid, value };
    for (const listener of [...this.#listeners]) post(this.#kernel, listener.pid, event);
  }
}

/** Parts of a registry that are no keys. Keys have a type before them. */
const ALL = "*";
const LISTENERS = "listeners";

/** The text for a key in the records of shared state. All objects have the same text. */
function partOf(key: unknown): string {
  return typeof key === "object" || typeof key === "function" ? "object" : `${typeof key}:${String(key)}`;
}

function entryOf<K, V, M>({ key, owner, value }: Held<K, V, Process>): RegistryEntry<K, V, M> {
  return { key, pid: owner.pid as Pid<M>, value };
}

/** By name of the registry: the process whose code made it. Undefined: code outside of all processes did. */
type Names = Map<string, Process | undefined>;

const namesOf = new WeakMap<Kernel, Names>();

const UNNAMED = "registry";

/**
 * Takes a name for a new registry. The name is free again when the process whose code makes the registry ends; so a registry that a
 * server makes in its `init` has the same name after a restart. A registry that code outside of processes makes keeps its name as long as
 * the system.
 *
 * @param given - undefined for the first free one of `registry`, `registry 2`, …
 * @throws OptionError when another registry has the name
 */
function takeName(kernel: Kernel, given: string | undefined): string {
  const names: Names = namesOf.get(kernel) ?? new Map();
  namesOf.set(kernel, names);
  const name = given ?? firstFree(names);
  kernel.shared?.part(names, name, "write");
  if (names.has(name)) {
    const maker = names.get(name)?.pid ?? "code outside of processes";
    const allowed = `a name that no other registry of the system ${kernel.node.name} has: ${maker} made one of this name`;
    throw new OptionError("name", name, allowed);
  }
  const owner = runningOwner();
  const process = owner instanceof Pid && owner.node === kernel.node ? owner.process : undefined;
  // Without owners of promises, code after an `await` would seem to be outside of processes, and a restart could not take the name again.
  if (process === undefined && !hasOwners()) return name;
  names.set(name, process);
  if (process !== undefined) {
    const release = (): void => {
      kernel.shared?.part(names, name, "write");
      names.delete(name);
    };
    holdFor(process, { release });
  }
  return name;
}

function firstFree(names: Names): string {
  for (let i = 1; ; i++) {
    const name = i === 1 ? UNNAMED : `${UNNAMED} ${i}`;
    if (!names.has(name)) return name;
  }
}
