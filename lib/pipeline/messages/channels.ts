// The channels of the queues of a process: carries out what channel-machine.ts decides.

import { EffectLoop } from "../../process/effect-loop.js";
import type { Kernel } from "../../process/kernel.js";
import { ConflictError, type Expectation, type Store, type Table, type Write } from "../../store/index.js";
import type { Carrier } from "./carrier.js";
import {
  type ChannelEffect,
  type ChannelEvent,
  type ChannelState,
  decide,
  initial,
  type NamedChannel,
} from "./channel-machine.js";
import { ChannelGoneError, QueueClosedError } from "./errors.js";
import { MESSAGE_LIMITS } from "./limits.js";

/** Called with each channel that is opened. */
type Watcher = (channel: string) => void;

/** The queues whose messages channels carry, in a store. The store decides. */
export interface CarriedQueues {
  readonly store: Store;
  /** Names the channel of each queue: a table with {@link CHANNEL_COLUMNS}. */
  readonly table: Table;
  /** What has to hold when a channel is named, besides. */
  readonly naming: readonly Expectation[];
  /** The columns of the key of a queue, in their order. */
  place(queue: string): Readonly<Record<string, string | number>>;
  /** Names of the channels of a queue begin so. */
  prefixOf(queue: string): string;
  /** Marks all that is ready to be sent. @param isOwn - this process has had the channel named */
  resend(queue: string, channel: string, isOwn: boolean): Promise<void>;
  /** A message that is ready, and that the broker should have: asks whether it still is. Undefined: there is none. */
  suspect(queue: string): Promise<(() => Promise<boolean>) | undefined>;
}

/** The channel that the store names for a queue. */
export async function namedChannel(
  { store, table, place }: Pick<CarriedQueues, "store" | "table" | "place">,
  queue: string,
): Promise<NamedChannel | undefined> {
  const [row] = await store.get(table, [Object.values(place(queue))]);
  return row === undefined ? undefined : { channel: row.channel as string, isComplete: row.complete === 1 };
}

export class Channels {
  readonly #queues: CarriedQueues;
  readonly #carrier: Carrier;
  readonly #kernel: Kernel;
  readonly #all = new Map<string, Channel>();
  #looking: Promise<void> | undefined;
  #isClosed = false;

  constructor(queues: CarriedQueues, carrier: Carrier, kernel: Kernel) {
    this.#queues = queues;
    this.#carrier = carrier;
    this.#kernel = kernel;
  }

  /**
   * Does something with the channel of a queue, as soon as there is one: the queue's channel-machine.ts tries until there is. Whoever waits
   * keeps back nothing of other queues.
   *
   * @throws what it throws, QueueClosedError
   */
  async use<T>(queue: string, body: (channel: string) => Promise<T>): Promise<T> {
    const one = this.#of(queue);
    const channel = await one.opened();
    try {
      return await body(channel);
    } catch (error) {
      if (error instanceof ChannelGoneError) one.tell({ type: "gone", channel });
      throw error;
    }
  }

  /** Calls `watcher` with the channel of a queue, and with each later one. Returns the call that ends it. */
  watch(queue: string, watcher: Watcher): () => void {
    return this.#of(queue).watch(watcher);
  }

  /** The broker does not have this channel of the queue. */
  gone(queue: string, channel: string): void {
    this.#of(queue).tell({ type: "gone", channel });
  }

  /**
   * Begins to look whether another process has changed channels, and whether the broker has lost letters: for these queues, and all whose
   * channels are known. The broker may need long to say that it cannot be asked about one; the others are looked at all the same.
   */
  look(queues: Iterable<string>): void {
    for (const queue of queues) this.#of(queue);
    this.#looking ??= this.#lookAtAll().finally(() => {
      this.#looking = undefined;
    });
  }

  async #lookAtAll(): Promise<void> {
    for (const one of [...this.#all.values()]) await one.look().catch(() => undefined);
  }

  /** Looks at the channel of one queue. @throws StoreError, CarrierError */
  async lookAt(queue: string): Promise<void> {
    await this.#of(queue).look();
  }

  /** No caller waits any longer. */
  close(): void {
    this.#isClosed = true;
    for (const one of this.#all.values()) one.close();
  }

  /** As `close`, and no process needs the channels any more: removes them, even those that a process has open or makes now. */
  end(): void {
    this.#isClosed = true;
    for (const one of this.#all.values()) one.end();
  }

  #of(queue: string): Channel {
    let one = this.#all.get(queue);
    if (one === undefined) {
      one = new Channel(queue, this.#queues, this.#carrier, this.#kernel);
      this.#all.set(queue, one);
      if (this.#isClosed) one.close();
      else one.tell({ type: "again" });
    }
    return one;
  }
}

interface Waiter {
  resolve(channel: string): void;
  reject(error: Error): void;
}

/** The channel of one queue. */
class Channel {
  readonly #queue: string;
  readonly #queues: CarriedQueues;
  readonly #carrier: Carrier;
  readonly #kernel: Kernel;
  readonly #loop: EffectLoop<ChannelState, ChannelEvent, ChannelEffect>;
  readonly #waiters = new Set<Waiter>();
  readonly #watchers = new Set<Watcher>();
  readonly #row: { readonly table: Table; readonly key: readonly (string | number)[] };
  /** The last channel that this process has had named. */
  #own: string | undefined;
  #isClosed = false;
  #isEnded = false;

  constructor(queue: string, queues: CarriedQueues, carrier: Carrier, kernel: Kernel) {
    this.#queue = queue;
    this.#row = { table: queues.table, key: Object.values(queues.place(queue)) };
    this.#queues = queues;
    this.#carrier = carrier;
    this.#kernel = kernel;
    this.#loop = new EffectLoop(initial(MESSAGE_LIMITS.again), decide, (effect) => this.#carryOut(effect));
  }

  tell(event: ChannelEvent): void {
    if (!this.#isClosed) this.#loop.dispatch(event);
  }

  opened(): Promise<string> {
    const { phase, channel } = this.#loop.state;
    if (this.#isClosed) return Promise.reject(new QueueClosedError(this.#queue));
    if (phase === "open") return Promise.resolve(channel as string);
    return new Promise((resolve, reject) => this.#waiters.add({ resolve, reject }));
  }

  watch(watcher: Watcher): () => void {
    const { phase, channel } = this.#loop.state;
    this.#watchers.add(watcher);
    if (phase === "open") watcher(channel as string);
    return () => this.#watchers.delete(watcher);
  }

  async look(): Promise<void> {
    const before = this.#loop.state;
    const { phase, channel } = before;
    if (phase !== "open" || channel === undefined) return;
    const named = await this.#read();
    if (this.#loop.state !== before) return;
    this.tell({ type: "read", named, fresh: this.#fresh() });
    if (this.#loop.state !== before || !(await this.#isMissing(channel))) return;
    this.tell({ type: "missing", channel });
  }

  /** A message is ready and marked as sent, while the broker has no letters; and it still is after that was said. */
  async #isMissing(channel: string): Promise<boolean> {
    const isStillThere = await this.#queues.suspect(this.#queue);
    if (isStillThere === undefined) return false;
    try {
      if (!(await this.#carrier.isEmpty(channel))) return false;
    } catch (error) {
      if (!(error instanceof ChannelGoneError)) throw error;
      this.tell({ type: "gone", channel });
      return false;
    }
    return isStillThere();
  }

  close(): void {
    this.#isClosed = true;
    this.#watchers.clear();
    for (const { reject } of this.#waiters) reject(new QueueClosedError(this.#queue));
    this.#waiters.clear();
  }

  end(): void {
    this.#isEnded = true;
    const { channel } = this.#loop.state;
    if (channel !== undefined) this.#remove(channel);
    this.close();
  }

  #remove(channel: string): void {
    this.#carrier.remove(channel).catch(() => undefined);
  }

  async #make(channel: string): Promise<ChannelEvent> {
    await this.#carrier.make(channel);
    if (this.#isEnded) this.#remove(channel);
    return { type: "made" };
  }

  #read(): Promise<NamedChannel | undefined> {
    return namedChannel(this.#queues, this.#queue);
  }

  /** As an incomplete one. */
  async #name(channel: string, before: string | undefined): Promise<ChannelEvent> {
    const { store, table, naming, place } = this.#queues;
    const is = before === undefined ? ("absent" as const) : { channel: before };
    try {
      await store.commit({
        expect: [{ ...this.#row, is }, ...naming],
        writes: [{ type: "put", table, row: { ...place(this.#queue), channel, complete: 0 } }],
      });
    } catch (error) {
      // Of what has to hold besides, the next naming is refused as well: later.
      if (!(error instanceof ConflictError) || (await this.#read())?.channel === before) throw error;
      return { type: "named", isNamed: false };
    }
    this.#own = channel;
    return { type: "named", isNamed: true };
  }

  /** Has all that is ready sent again; then the channel is complete, if it still counts. */
  async #resend(channel: string): Promise<ChannelEvent> {
    const { store } = this.#queues;
    await this.#queues.resend(this.#queue, channel, channel === this.#own);
    const done: Write = { type: "update", ...this.#row, set: { complete: 1 } };
    await store.commit({ writes: [{ type: "when", ...this.#row, is: { channel }, writes: [done] }] });
    return { type: "resent", channel };
  }

  #carryOut(effect: ChannelEffect): void {
    switch (effect.type) {
      case "read":
        this.#follow(this.#read().then((named) => ({ type: "read", named, fresh: this.#fresh() })));
        return;
      case "make":
        this.#follow(this.#make(effect.channel));
        return;
      case "name":
        this.#follow(this.#name(effect.channel, effect.before));
        return;
      case "resend":
        this.#follow(this.#resend(effect.channel));
        return;
      case "remove":
        this.#remove(effect.channel);
        return;
      case "open":
        this.#open(effect.channel);
        return;
      case "alarm":
        this.#kernel.addTimer(effect.inMs, { fire: () => this.tell({ type: "again" }) });
        return;
      default:
        effect satisfies never;
    }
  }

  #follow(work: Promise<ChannelEvent>): void {
    work.then(
      (event) => this.tell(event),
      () => this.tell({ type: "failed", roll: this.#kernel.env.random() }),
    );
  }

  #open(channel: string): void {
    for (const { resolve } of this.#waiters) resolve(channel);
    this.#waiters.clear();
    for (const watcher of this.#watchers) watcher(channel);
  }

  #fresh(): string {
    return `${this.#queues.prefixOf(this.#queue)}-${this.#kernel.env.id()}`;
  }
}
