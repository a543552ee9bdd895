// Where a subscriber gets its messages from: the store itself, or a broker that says which of the store's messages are ready.

import type { Kernel } from "../../process/kernel.js";
import { type Claim, ConflictError, FencedError } from "../../store/index.js";
import type { Carrier, CarrierDelivery, Consumption } from "../messages/carrier.js";
import type { Channels } from "../messages/channels.js";
import { MESSAGE_LIMITS } from "../messages/limits.js";
import {
  decide,
  initial,
  type OutboxEffect,
  type OutboxEvent,
  type OutboxState,
} from "../messages/outbox-machine.js";
import type { Outbox, Sendable } from "./outbox.js";
import type { QueueStore, Taken } from "./queue-store.js";
import { type QueuedRow, queued } from "./tables.js";

/** What a subscriber uses to get messages, and to say what became of them. */
export interface Intake {
  /** @param news - called when there may be messages */
  start(prefetch: number, news: () => void): Promise<void>;
  take(claim: Claim, count: number): Promise<Taken>;
  /** A message is settled, or is to be tried again, and has these children. */
  settled(number: number, children: readonly Sendable[]): void;
  /** The subscriber does not have these messages any more. */
  lost(numbers: readonly number[]): void;
  close(): Promise<void>;
}

/** Messages straight from the store. */
export class StoreIntake implements Intake {
  readonly #queue: QueueStore;

  constructor(queue: QueueStore) {
    this.#queue = queue;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  take(claim: Claim, count: number): Promise<Taken> {
    return this.#queue.take(claim, count);
  }

  settled(): void {
    // The store knows.
  }

  lost(): void {
    // The store knows.
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** What carries the messages of the queues of a process. */
export interface Carriage {
  readonly carrier: Carrier;
  readonly channels: Channels;
  readonly outbox: Outbox;
}

/** A delivery whose message is in work, or whose children are being sent. */
interface Item {
  readonly number: number;
  readonly delivery: CarrierDelivery;
  state: OutboxState<Sendable>;
}

/** A delivery of a message that is in work here comes again after this time, in milliseconds. */
const IN_WORK_MS = 1_000;

/** Messages that a broker says are ready. Each is taken in the store before it is handled. */
export class CarriedIntake implements Intake {
  readonly #queue: QueueStore;
  readonly #carrier: Carrier;
  readonly #channels: Channels;
  readonly #outbox: Outbox;
  readonly #kernel: Kernel;
  readonly #arrived: CarrierDelivery[] = [];
  /** Messages that this subscriber has, by their numbers. */
  readonly #items = new Map<number, Item>();
  readonly #pending = new Set<Promise<unknown>>();
  #consumption: { readonly channel: string; readonly of: Consumption } | undefined;
  #unwatch: (() => void) | undefined;
  /** Consumptions that wait until there is room for their next delivery: a closed one, too. */
  readonly #waiting: (() => void)[] = [];
  #isClosed = false;

  constructor(queue: QueueStore, { carrier, channels, outbox }: Carriage, kernel: Kernel) {
    this.#queue = queue;
    this.#carrier = carrier;
    this.#channels = channels;
    this.#outbox = outbox;
    this.#kernel = kernel;
  }

  /** Not waited for: the broker may be away. */
  start(prefetch: number, news: () => void): Promise<void> {
    const { name } = this.#queue;
    const deliver = (delivery: CarrierDelivery) => this.#deliver(delivery, prefetch, news);
    this.#unwatch = this.#channels.watch(name, (channel) => {
      if (this.#isClosed || this.#consumption?.channel === channel) return;
      void this.#consumption?.of.close();
      const gone = (): void => {
        this.#consumption = undefined;
        this.#channels.gone(name, channel);
      };
      this.#consumption = { channel, of: this.#carrier.consume(channel, prefetch, deliver, gone) };
    });
    return Promise.resolve();
  }

  async #deliver(delivery: CarrierDelivery, prefetch: number, news: () => void): Promise<void> {
    if (this.#isClosed) return delivery.nak(0);
    this.#arrived.push(delivery);
    news();
    if (this.#arrived.length >= prefetch) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  async take(claim: Claim, count: number): Promise<Taken> {
    // One that says no number is of a stranger.
    const [deliveries, strange] = parted(this.#arrived.splice(0, count));
    for (const delivery of strange) delivery.ack().catch(() => undefined);
    for (const goOn of this.#waiting.splice(0)) goOn();
    const numbers = deliveries.map(({ body }) => Number(body));
    try {
      const rows = await this.#queue.store.get(
        queued,
        numbers.map((number) => [number]),
      );
      const taken = await Promise.all(
        deliveries.map((delivery, i) => this.#takeOne(claim, delivery, numbers[i] as number, rows[i])),
      );
      return {
        rows: taken.filter((row) => row !== undefined),
        more: this.#arrived.length > 0,
        dueInMs: undefined,
      };
    } catch (error) {
      for (const delivery of deliveries) delivery.nak(MESSAGE_LIMITS.again.maxMs);
      throw error;
    }
  }

  settled(number: number, children: readonly Sendable[]): void {
    this.#tell(number, { type: "settled", children });
  }

  lost(numbers: readonly number[]): void {
    for (const number of numbers) this.#tell(number, { type: "lost" });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#unwatch?.();
    const closed = this.#consumption?.of.close();
    // Others need not wait until the broker finds out. Before the end of the consumption it would deliver to this one again.
    for (const delivery of this.#arrived.splice(0)) delivery.nak(0);
    for (const goOn of this.#waiting.splice(0)) goOn();
    await closed;
    await Promise.allSettled(this.#pending);
  }

  async #takeOne(
    claim: Claim,
    delivery: CarrierDelivery,
    number: number,
    row: QueuedRow | undefined,
  ): Promise<QueuedRow | undefined> {
    const item: Item = { number, delivery, state: initial(MESSAGE_LIMITS.again) };
    if (this.#items.has(number)) {
      // It may be of a later round than the delivery at hand: acknowledged, it would be the last one of a message that is ready.
      delivery.nak(IN_WORK_MS);
      return undefined;
    }
    this.#items.set(number, item);
    if (row === undefined) {
      this.#advance(item, { type: "gone", children: await this.#outbox.childrenOf(number) });
      return undefined;
    }
    const taken = await this.#queue.takeNumber(claim, row).catch((error: unknown) => {
      if (error instanceof ConflictError) return undefined;
      // Whether it was taken or not, it is delivered again.
      this.#items.delete(number);
      delivery.nak(error instanceof FencedError ? 0 : MESSAGE_LIMITS.again.maxMs);
      return undefined;
    });
    if (this.#items.get(number) === item)
      this.#advance(item, { type: taken === undefined ? "elsewhere" : "taken" });
    return taken;
  }

  #tell(number: number, event: OutboxEvent<Sendable>): void {
    const item = this.#items.get(number);
    if (item !== undefined) this.#advance(item, event);
  }

  #advance(item: Item, event: OutboxEvent<Sendable>): void {
    const [state, effects] = decide(item.state, event);
    item.state = state;
    for (const effect of effects) this.#carryOut(item, effect);
    const { phase } = state;
    // From here on the store knows nothing of the message: another delivery of it is looked at anew.
    if ((phase === "acking" || phase === "ended") && this.#items.get(item.number) === item)
      this.#items.delete(item.number);
  }

  #carryOut(item: Item, effect: OutboxEffect<Sendable>): void {
    switch (effect.type) {
      case "publish":
        this.#later(effect.inMs, item, async () => {
          const children = await this.#outbox.send(effect.children);
          return { type: "confirmed", children };
        });
        return;
      case "mark":
        this.#later(effect.inMs, item, async () => {
          const isMarked = await this.#outbox.mark(effect.children).then(() => true, refused);
          return { type: isMarked ? "marked" : "void" };
        });
        return;
      case "ack":
        this.#later(0, item, async () => {
          await item.delivery.ack();
          return { type: "acked" };
        });
        return;
      default:
        effect satisfies never;
    }
  }

  #later(inMs: number, item: Item, work: () => Promise<OutboxEvent<Sendable>>): void {
    // The next subscriber that gets the message finds the work that is not done by then.
    if (this.#isClosed && inMs > 0) return;
    if (inMs > 0) {
      this.#kernel.addTimer(inMs, { fire: () => this.#later(0, item, work) });
      return;
    }
    const pending = work().then(
      (done) => this.#advance(item, done),
      () => this.#advance(item, { type: "failed", roll: this.#kernel.env.random() }),
    );
    this.#pending.add(pending);
    void pending.finally(() => this.#pending.delete(pending));
  }
}

/** Deliveries that name a message, and those that do not. */
function parted(all: readonly CarrierDelivery[]): [CarrierDelivery[], CarrierDelivery[]] {
  const isNumber = ({ body }: CarrierDelivery): boolean => Number.isSafeInteger(Number(body)) && body !== "";
  return [all.filter(isNumber), all.filter((delivery) => !isNumber(delivery))];
}

/** False: the store names another channel. */
function refused(error: unknown): boolean {
  if (error instanceof ConflictError) return false;
  throw error;
}
