// Keyed processes as users define them: a process for each key, on one node of the cluster, with a state that the next node takes over.

import type { BodyContext } from "../../process/body-context.js";
import { CalleeExitedError, OptionError, StartError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { abortSignal, asGiven, type Check, checked, maybe, ms, whole } from "../../process/option-schema.js";
import { flag, kernelOf, text, withMethod } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import type { ReplyTo } from "../../process/request.js";
import { hash } from "../../process/stable-hash.js";
import { type Launch, launch, type Startable, supervising } from "../../process/start.js";
import type { Store } from "../../store/store.js";
import { type ChildStart, checkChild, childHandle, type FullChildSpec } from "../../supervisor/child.js";
import { byKey } from "../cluster/choices.js";
import { ClusterNode } from "../cluster/cluster-node.js";
import { type JobContext, job, runJob } from "../cluster/job.js";
import type { ProgramNode } from "../cluster/placement.js";
import { singleton } from "../lease/singleton.js";
import { LEAST_TTL_MS, storeLeases } from "../lease/store-leases.js";
import { KeyBusyError } from "./errors.js";
import {
  type HostGround,
  type HostMessage,
  KeyedHost,
  type KeyedView,
  type ShardFound,
} from "./host-process.js";
import type { KeyEntry } from "./key-entry.js";
import { KeyWait } from "./key-wait.js";
import { type KeyFound, type ShardHeld, type ShardMessage, shardStart } from "./shard-process.js";

type Anything = ReturnType<JSON["parse"]>;

/** A function body that runs as the process of a key. */
export type KeyedBody = (
  ctx: BodyContext<Anything>,
  entry: KeyEntry<Anything>,
  ...args: readonly Anything[]
) => unknown;

/** The code of a key: a definition whose `init` gets the entry of the key first; or a function of its context and the entry. */
export type KeyedStart = Startable<never, unknown> | KeyedBody;

/** The arguments of `init` after the entry. */
export type KeyedArgs<S> =
  S extends Startable<infer A, unknown>
    ? A extends readonly [KeyEntry<Anything>, ...infer R]
      ? Readonly<R>
      : A extends readonly []
        ? readonly []
        : never
    : S extends (ctx: never, entry: never, ...args: infer R) => unknown
      ? Readonly<R>
      : never;

interface KeyedSettings {
  /** The name of this kind of keys. It is the same on all nodes. */
  readonly name: string;
  /**
   * Where the states and the leases are: a store that all nodes have in common, such as PostgreSQL, opened with `keyedSchema`. A store that one
   * process has for itself (SQLite, memory) serves the systems of that process.
   */
  readonly store: Store;
  /**
   * How many shards the keys are divided into. A node holds one lease for each of its shards, however many keys these have. The same on all
   * nodes; the store remembers it. From 1 to 1,024. Default 64.
   */
  readonly shards?: number;
  /** How long the lease of a shard holds without renewal, in milliseconds. At least 500. Default 2,000. */
  readonly ttlMs?: number;
  /** The most keys that have a process on this node at a time. Default 100,000. */
  readonly maxKeys?: number;
  /** The most requests that wait on this node for a lease, and in each shard for a process that starts. Default 1,000. */
  readonly maxWaiting?: number;
  /**
   * How long the processes of a shard have to handle what they have when it moves, in milliseconds; after the loss of its lease, at most
   * what is left of that. Default 5,000.
   */
  readonly shutdownMs?: number;
  /** How many milliseconds the `init` of a key may take. Default `Infinity`. */
  readonly startTimeoutMs?: number;
}

/** Options of {@link keyed}. */
export type KeyedOptions<S extends KeyedStart = KeyedStart> = KeyedSettings & {
  /** What runs for each key. */
  readonly start: S;
} & (readonly [] extends KeyedArgs<S>
    ? {
        /** Arguments of `init` after the entry. Default none. */
        readonly args?: KeyedArgs<S>;
      }
    : {
        /** Arguments of `init` after the entry. */
        readonly args: KeyedArgs<S>;
      });

/** Options of a request for a key. */
export interface KeyOptions {
  /** How long the request may take, in milliseconds: until the process of the key is found and has answered. Default 5,000. */
  readonly timeoutMs?: number;
  /** Ends the wait early: the request rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /**
   * Sends the message again when the process, or its node, has ended before an answer, or when the process did not start, until the time is over. The message
   * may be handled twice then: give it a number, and have the process skip one that it has saved. False: the request rejects with CalleeExitedError or with
   * the error of the start. Default false.
   */
  readonly repeat?: boolean;
}

/** The calls of the process of a key, whichever node it runs on. */
export type KeyHandle<S> =
  S extends Startable<never, infer Ref>
    ? Ref extends { readonly call: infer C }
      ? {
          /** The calls, as those of the handle of the definition. */
          readonly call: C;
        }
      : object
    : object;

/** The most characters of a key. */
const MOST_CHARACTERS = 500;
/** The most pids that are kept of keys on other nodes. */
const MOST_KNOWN = 10_000;
const TIMEOUT_MS = 5_000;

/**
 * A process for each key, somewhere in the cluster, started by the first message for the key. The keys are divided into shards. Each shard has a
 * place among the nodes that run these keys, chosen by rendezvous hashing, and is held there by a lease with a rising token. When the node of a
 * shard is lost, or a node joins that is the better place, the shard moves: on the next node each key begins with the state that its process saved
 * last. What an old holder saves is refused by the store.
 *
 * Start the result under a supervisor on each node that is to run keys. A node that only sends messages need not start it. A process
 * without work ends by itself, as with `idleMs` of a server: the next message starts it again.
 *
 * @param node - the node of this system
 * @throws OptionError
 * @example
 * const Meter = defineServer({
 *   init: (_ctx, entry: KeyEntry<number>) => entry,
 *   calls: {
 *     async add(entry, value: number) {
 *       await entry.save((entry.state ?? 0) + value); // durable, and refused if another node has the key by now
 *       return entry.state;
 *     },
 *   },
 * });
 * const store = await openStore(system, memory(), [keyedSchema]);
 * const meters = keyed(node, { name: "meter", store, start: Meter });
 * await system.start(supervisor({ children: [{ id: "meters", start: meters }] }));
 * const sum = await meters.at("meter-7").call.add(5);
 */
export function keyed<S extends KeyedStart>(node: ClusterNode, options: KeyedOptions<S>): Keyed<S> {
  if (!(node instanceof ClusterNode)) throw new OptionError("node", node, "the result of joinCluster");
  const given = checked(
    "",
    options,
    {
      name: text,
      store: (path, value) => withMethod(path, value as Store, "claim", "an open store"),
      start: asGiven<ChildStart>(),
      args: asGiven<readonly unknown[]>(),
      shards: whole(1, 1_024),
      ttlMs: maybe(ms(LEAST_TTL_MS)),
      maxKeys: whole(1, Number.POSITIVE_INFINITY),
      maxWaiting: whole(1),
      shutdownMs: ms(0),
      startTimeoutMs: ms(0, Number.POSITIVE_INFINITY),
    },
    {
      args: [],
      shards: 64,
      maxKeys: 100_000,
      maxWaiting: 1_000,
      shutdownMs: 5_000,
      startTimeoutMs: Number.POSITIVE_INFINITY,
    },
  );
  const { name, start, args, startTimeoutMs } = given;
  const spec = checkChild("keyed", { id: name, start, args, startTimeoutMs } as never, "never");
  return new KeyedProcesses<S>(node, { ...given, spec });
}

type Given = Pick<
  Required<KeyedSettings>,
  "name" | "store" | "shards" | "maxKeys" | "maxWaiting" | "shutdownMs"
> & {
  readonly ttlMs: number | undefined;
  readonly args: readonly unknown[];
  readonly spec: FullChildSpec;
};

/** Processes by key; see {@link keyed}. */
export interface Keyed<S extends KeyedStart> extends Startable<readonly [], Pid<unknown>> {
  /** @internal */
  readonly [supervising]: true;
  /** The name of this kind of keys. */
  readonly name: string;
  /**
   * The calls of the process of a key: the first of them starts the process, wherever the key belongs. A message that comes while the key moves
   * waits.
   *
   * @throws OptionError; the calls reject with KeyUnavailableError or KeyBusyError when the message was not handled, with
   * CalleeExitedError when it may have been, and with what the calls of the definition reject with
   * @example await shelves.at("shelf-7", { timeoutMs: 1_000, repeat: true }).call.pick();
   */
  at(key: string, options?: KeyOptions): KeyHandle<S>;
  /**
   * The pid of the process of a key, which is started if it does not run: for a monitor, or for messages that are no calls. It is the pid of now: when
   * the key moves, that process ends.
   *
   * @throws OptionError, KeyUnavailableError, KeyBusyError, StartError when its `init` fails, StoreError
   */
  pid(key: string, options?: Omit<KeyOptions, "repeat">): Promise<Pid<unknown>>;
  /**
   * Sends a message to the process of a key, without an answer: when the process ends before it takes the message, the message is lost.
   *
   * @returns when the message is on its way
   * @throws what `pid` throws
   */
  send(key: string, message: unknown, options?: Omit<KeyOptions, "repeat">): Promise<void>;
  /** What this node has of these keys. Nothing, unless it runs them. */
  view(): KeyedView;
}

class KeyedProcesses<S extends KeyedStart> implements Keyed<S> {
  readonly [supervising] = true as const;
  readonly [launch]: (args: readonly []) => Launch<Pid<unknown>>;
  readonly name: string;
  readonly #given: Given;
  readonly #node: ClusterNode;
  readonly #kernel: Kernel;
  readonly #program: string;
  readonly #calls: readonly string[];
  readonly #refOf: (pid: Pid<never>) => unknown;
  /** The pids of keys on other nodes, the one that was used last at the end. */
  readonly #known = new Map<string, Pid<never>>();
  #host: { readonly pid: Pid<HostMessage>; readonly view: () => KeyedView } | undefined;

  constructor(node: ClusterNode, given: Given) {
    const { name, spec, args } = given;
    this.name = name;
    this.#given = given;
    this.#node = node;
    this.#kernel = kernelOf(node.system);
    this.#program = `keyed ${name}`;
    this.#refOf = (pid) => childHandle(spec.start, args, pid, this.#kernel);
    this.#calls = callsOf(this.#refOf(`a ${name}` as never));
    this[launch] = () => this.#launch();
  }

  at(key: string, options: KeyOptions = {}): KeyHandle<S> {
    const limits = checkKeyOptions(options);
    keyAt(key);
    const call: Record<string, unknown> = Object.create(null);
    for (const method of this.#calls)
      call[method] = (...args: readonly unknown[]) => this.#call(key, limits, method, args);
    return { call } as KeyHandle<S>;
  }

  async pid(key: string, options: Omit<KeyOptions, "repeat"> = {}): Promise<Pid<unknown>> {
    const wait = this.#wait(keyAt(key), checkKeyOptions(options));
    // The one that is known may have ended.
    this.#known.delete(key);
    try {
      return (await this.#find(key, wait, false)) as Pid<unknown>;
    } finally {
      wait.end();
    }
  }

  async send(key: string, message: unknown, options: Omit<KeyOptions, "repeat"> = {}): Promise<void> {
    this.#kernel.send(await this.pid(key, options), message);
  }

  view(): KeyedView {
    return this.#host?.view() ?? { held: [], placed: [], keys: 0, waiting: 0 };
  }

  async #call(key: string, limits: Limits, method: string, args: readonly unknown[]): Promise<unknown> {
    const wait = this.#wait(key, limits);
    try {
      for (;;) {
        const pid = await this.#find(key, wait, limits.repeat);
        const ref = this.#refOf(pid) as {
          with(options: object): {
            readonly call: Record<string, (...given: readonly unknown[]) => Promise<unknown>>;
          };
        };
        try {
          return await ref.with({ timeoutMs: wait.leftMs, signal: wait.signal }).call[method]?.(...args);
        } catch (error) {
          if (!isEndOf(pid, error)) throw error;
          this.#known.delete(key);
          if (error.request !== "withdrawn" && !limits.repeat) throw error;
          await wait.pause(error);
        }
      }
    } finally {
      wait.end();
    }
  }

  #wait(key: string, { timeoutMs, signal }: Limits): KeyWait {
    return new KeyWait(this.#kernel, this.name, key, timeoutMs, signal);
  }

  /** The process of a key, wherever that is. Nothing is handled by the search, so it goes on until the time is over. */
  async #find(key: string, wait: KeyWait, isRepeated: boolean): Promise<Pid<never>> {
    const known = this.#known.get(key);
    // One on a node that is gone cannot be reached, and a call to it would not say that it was not handled.
    if (known !== undefined && this.#nodes.some(({ node }) => node.id === known.node.id)) {
      this.#remember(key, known);
      return known;
    }
    const shard = this.#shardOf(key);
    for (;;) {
      wait.signal.throwIfAborted();
      const home = this.#homeOf(shard);
      let why: unknown = "no node runs them";
      if (home !== undefined)
        try {
          const found = await this.#ask(home, key, wait.signal);
          if (found.type === "busy") throw new KeyBusyError(this.name, key, home.node.name);
          if (found.type === "found") {
            this.#remember(key, found.pid);
            return found.pid;
          }
          why = `${home.node.name} does not have it now`;
        } catch (error) {
          if (!isPassing(error) && !(isRepeated && isFailedStart(error))) throw error;
          why = error;
        }
      await wait.pause(why);
    }
  }

  #remember(key: string, pid: Pid<never>): void {
    this.#known.delete(key);
    this.#known.set(key, pid);
    if (this.#known.size <= MOST_KNOWN) return;
    for (const oldest of this.#known.keys()) {
      this.#known.delete(oldest);
      return;
    }
  }

  async #ask(home: ProgramNode, key: string, signal: AbortSignal): Promise<KeyFound> {
    if (home.node.id === this.#node.node.id) return this.#here(key, signal);
    const { id } = home.node;
    const placement = (nodes: readonly ProgramNode[]) => nodes.find(({ node }) => node.id === id) ?? nodes[0];
    const start = this.#node.on(this.#program, [key], {
      placement,
      placeTimeoutMs: 0,
    });
    return (await runJob(this.#kernel, () => start, { signal })) as KeyFound;
  }

  /** Another node, or this one, asks for a key that belongs here. */
  async #here(key: string, signal: AbortSignal): Promise<KeyFound> {
    const host = this.#host;
    if (host === undefined) return { type: "moved" };
    const options = { timeoutMs: Number.POSITIVE_INFINITY, signal };
    const { calls } = this.#kernel;
    try {
      const shard = this.#shardOf(keyAt(key));
      const build = (replyTo: ReplyTo<ShardFound>): HostMessage => ({
        type: "ask",
        shard,
        replyTo,
      });
      const found = await calls.call(undefined, host.pid, build, options);
      if (found.type !== "found") return found;
      const ask = (replyTo: ReplyTo<KeyFound>): ShardMessage => ({
        type: "ask",
        key,
        replyTo,
      });
      return await calls.call(undefined, found.pid, ask, options);
    } catch (error) {
      if (error instanceof CalleeExitedError) return { type: "moved" };
      throw error;
    }
  }

  /** The nodes that run these keys. */
  get #nodes(): readonly ProgramNode[] {
    return this.#node.offering(this.#program);
  }

  #shardOf(key: string): number {
    return hash(key) % this.#given.shards;
  }

  #homeOf(shard: number): ProgramNode | undefined {
    const nodes = this.#nodes;
    return nodes.length === 0 ? undefined : placement(nodes, this.#program, [`${this.name}/${shard}`]);
  }

  #launch(): Launch<Pid<unknown>> {
    const { name, store, args, spec, shards, maxKeys, maxWaiting, shutdownMs, ttlMs } = this.#given;
    const source = storeLeases(store);
    const shared = {
      kind: name,
      store,
      spec,
      args,
      maxKeys,
      maxWaiting,
      shutdownMs,
      keys: 0,
    };
    const ground: HostGround = Object.assign(shared, {
      shards,
      contender: (shard: number, host: Pid<ShardHeld>) =>
        checkChild(
          "keyed",
          {
            id: `shard ${shard} of ${name}`,
            start: singleton(this.#node, {
              name: `keyed/${name}/${shard}`,
              lease: source,
              start: shardStart(shared, shard, host),
              // The processes of the keys have `shutdownMs`, and are killed then.
              shutdownMs: shutdownMs + LAST_MS,
              ...(ttlMs === undefined ? {} : { ttlMs }),
            }),
          },
          "never",
        ),
      isHere: (shard: number) => this.#homeOf(shard)?.node.id === this.#node.node.id,
      open: (pid: Pid<HostMessage>, fn: () => void) => this.#open(pid, host, fn),
    });
    const host = new KeyedHost(ground);
    return {
      behaviour: host,
      options: {
        label: `keyed ${name}`,
        trapExit: true,
        shutdown: Number.POSITIVE_INFINITY,
      },
      ref: (pid) => pid as Pid<unknown>,
    };
  }

  #open(pid: Pid<HostMessage>, host: KeyedHost, fn: () => void): () => void {
    const node = this.#node;
    if (this.#nodes.some((one) => one.node.id === node.node.id))
      throw new OptionError("name", this.name, "a name of keys that this node does not run already");
    this.#host = { pid, view: () => host.view() };
    const close = node.onOffers(fn);
    const find = job((key: string, { signal }: JobContext) => this.#here(key, signal));
    node.offer({ [this.#program]: find });
    return () => {
      close();
      this.#host = undefined;
      node.retract(this.#program);
    };
  }
}

/** How much longer a shard has than the processes of its keys. */
const LAST_MS = 1_000;
const placement = byKey((_program, [shard]) => shard as string);

interface Limits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly repeat: boolean;
}

const LIMITS: { readonly [K in keyof Required<KeyOptions>]: Check<Anything> } = {
  timeoutMs: ms(0, Number.POSITIVE_INFINITY),
  signal: maybe(abortSignal),
  repeat: flag,
};

function checkKeyOptions(options: KeyOptions): Limits {
  return checked("", options, LIMITS, {
    timeoutMs: TIMEOUT_MS,
    repeat: false,
  }) as Limits;
}

function keyAt(key: unknown): string {
  const given = text("key", key);
  if (given.length <= MOST_CHARACTERS) return given;
  throw new OptionError("key", key, `a text of ${MOST_CHARACTERS} characters at most`);
}

/** The names of the calls that a handle has. */
function callsOf(handle: unknown): string[] {
  const call = (handle as { readonly call?: object } | undefined)?.call;
  if (typeof call !== "object" || call === null) return [];
  return Object.getOwnPropertyNames(Object.getPrototypeOf(call)).filter((name) => name !== "constructor");
}

/** Whether the process of the key has ended, and not another one that it has called. */
function isEndOf(pid: Pid<never>, error: unknown): error is CalleeExitedError {
  return error instanceof CalleeExitedError && error.callee === String(pid);
}

/** Whether the search for a key may go on: the node that was asked is gone, or has no such keys any more. */
function isPassing(error: unknown): boolean {
  if (error instanceof CalleeExitedError) return true;
  const { code } = (error ?? {}) as { readonly code?: unknown };
  if (code === "ERR_UNKNOWN_PROGRAM" || code === "ERR_NO_NODE") return true;
  return error instanceof StartError && error.reason.type !== "crash" && !error.ignored;
}

/** Whether the process of the key could not start: its `init` has failed, or its state could not be read. */
function isFailedStart(error: unknown): boolean {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return error instanceof StartError || (typeof code === "string" && code.startsWith("ERR_STORE"));
}
