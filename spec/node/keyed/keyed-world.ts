// Nodes in memory that run keys over one store, on a clock that the test moves. The claims of a node can be cut off: then its leases run out,
// while its writes still arrive.

import { defineServer, type ServerDefinition, stop, supervisor } from "signalbox";
import {
  type ClusterNode,
  type KeyEntry,
  type Keyed,
  type KeyedOptions,
  keyed,
  keyedSchema,
} from "signalbox/nodes";
import { memory, openStore, type Store, type StoreSource } from "signalbox/store";
import { MemoryCluster } from "../cluster/memory-cluster.js";

export interface Sum {
  readonly sum: number;
}

/** Entries of the processes that were started, in order. */
export type Seen = { readonly node: string; readonly entry: KeyEntry<Sum> }[];

interface State {
  readonly entry: KeyEntry<Sum>;
  readonly node: string;
}

type Calls = {
  add(state: State, n: number): Promise<{ sum: number; node: string; token: number }>;
  read(state: State): number | undefined;
  /** Adds when the promise resolves. */
  slow(state: State, n: number, until: Promise<void>): Promise<number | undefined>;
  /** Saves, and crashes before that is durable. */
  careless(state: State, n: number): void;
  crash(state: State): never;
  stop(state: State): ReturnType<typeof stop>;
};

/** A sum for each key, saved before it is answered. */
export const Meter: ServerDefinition<
  [entry: KeyEntry<Sum>, node: string, seen: Seen],
  Calls,
  Record<never, never>
> = defineServer({
  label: "meter",
  init: (_ctx, entry: KeyEntry<Sum>, node: string, seen: Seen): State => {
    seen.push({ node, entry });
    return { entry, node };
  },
  calls: {
    add: async ({ entry, node }: State, n: number) => {
      const sum = (entry.state?.sum ?? 0) + n;
      await entry.save({ sum });
      return { sum, node, token: entry.lease.token };
    },
    read: ({ entry }: State) => entry.state?.sum,
    slow: async ({ entry }: State, n: number, until: Promise<void>) => {
      await until;
      await entry.save({ sum: (entry.state?.sum ?? 0) + n });
      return entry.state?.sum;
    },
    careless: ({ entry }: State, n: number) => {
      entry.save({ sum: (entry.state?.sum ?? 0) + n }).catch(() => undefined);
      throw new Error("it is careless");
    },
    crash: (): never => {
      throw new Error("it is broken");
    },
    stop: () => stop(),
  },
  info: () => undefined,
});

export interface Seat {
  readonly node: ClusterNode;
  readonly store: CutStore;
  readonly meters: Keyed<typeof Meter>;
}

/** A store whose claims can be cut off: a request that meets the cut is lost at its end. Reads and writes arrive. */
export interface CutStore extends Store {
  cut(): void;
  heal(): void;
}

export function cutStore(store: Store): CutStore {
  let way: { readonly over: Promise<void>; readonly heal: () => void } | undefined;
  const go = async <T>(ask: () => Promise<T>): Promise<T> => {
    if (way === undefined) return ask();
    await way.over;
    throw new Error("the connection was lost");
  };
  const own: Partial<CutStore> = {
    cut: () => {
      let heal = (): void => undefined;
      const over = new Promise<void>((done) => {
        heal = done;
      });
      way ??= { over, heal };
    },
    heal: () => {
      way?.heal();
      way = undefined;
    },
    claim: async (name, options) => {
      const claim = await go(() => store.claim(name, options));
      if (claim === undefined) return undefined;
      const { token, lost } = claim;
      return {
        name,
        token,
        lost,
        renew: () => go(() => claim.renew()),
        release: () => go(() => claim.release()),
      };
    },
  };
  return new Proxy(store as CutStore, {
    get: (whole, name: keyof CutStore) => {
      const value: unknown = own[name] ?? whole[name];
      return typeof value === "function" ? value.bind(whole) : value;
    },
  });
}

export class KeyedWorld {
  readonly cluster: MemoryCluster = new MemoryCluster();
  readonly source: StoreSource = memory({ shared: true });
  readonly seen: Seen = [];
  readonly #stores: Store[] = [];

  async join(name: string, options: Partial<KeyedOptions<typeof Meter>> = {}, isHost = true): Promise<Seat> {
    const node = await this.cluster.join(name);
    const opened = await openStore(node.system, this.source, [keyedSchema]);
    this.#stores.push(opened);
    const store = cutStore(opened);
    const meters = keyed(node, {
      name: "meter",
      store,
      start: Meter,
      args: [name, this.seen],
      shards: 8,
      ...options,
    });
    await this.cluster.meet();
    if (isHost) {
      await this.until(node.system.start(supervisor({ children: [{ id: "meters", start: meters }] })));
      await this.cluster.settle(1_000);
    }
    return { node, store, meters };
  }

  until<T>(promise: Promise<T>): Promise<T> {
    return this.cluster.clock.until(promise);
  }

  async stop(): Promise<void> {
    await this.cluster.stop();
    for (const store of this.#stores) await store.close();
  }
}
