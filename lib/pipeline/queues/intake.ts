// Where a subscriber gets its messages from if a broker says which of the store's messages are ready. Without one, it asks the store.

import type { Kernel } from "../../process/kernel.js";
import { type Claim, ConflictError, FencedError } from "../../store/index.js";
import type { Carrier, CarrierDelivery } from "../messages/carrier.js";
import type { Channels } from "../messages/channels.js";
import { Inbox } from "../messages/inbox.js";
import { MESSAGE_LIMITS } from "../messages/limits.js";
import { type Outbox, Shipment } from "../messages/outbox.js";
import { type QueuedSendable, unsentChildren } from "./outbox.js";
import type { QueueStore, Taken } from "./queue-store.js";
import { type QueuedRow, queued } from "./tables.js";

/** What carries the messages of the queues of a process. */
export interface QueueBroker {
  readonly carrier: Carrier;
  readonly channels: Channels;
  readonly outbox: Outbox<QueuedSendable>;
}

/** A delivery of a message that is in work here comes again after this time, in milliseconds. */
const IN_WORK_MS = 1_000;

/** Messages that a broker says are ready. Each is taken in the store before it is handled. */
export class Intake {
  readonly #queue: QueueStore;
  readonly #broker: QueueBroker;
  readonly #kernel: Kernel;
  /** The deliveries of messages that this subscriber has, or whose children are being sent, by their numbers. */
  readonly #items = new Map<number, Shipment<QueuedSendable>>();
  readonly #pending = new Set<Shipment<QueuedSendable>>();
  #inbox: Inbox | undefined;
  #isClosed = false;

  constructor(queue: QueueStore, broker: QueueBroker, kernel: Kernel) {
    this.#queue = queue;
    this.#broker = broker;
    this.#kernel = kernel;
  }

  /** The broker may be away. @param news - called when there may be messages */
  start(prefetch: number, news: () => void): void {
    this.#inbox = new Inbox({ queue: this.#queue.name, ...this.#broker, prefetch, news });
  }

  async take(claim: Claim, count: number): Promise<Taken> {
    // One that says no number is of a stranger.
    const [deliveries, strange] = parted(this.#inbox?.take(count) ?? []);
    for (const delivery of strange) delivery.ack().catch(() => undefined);
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
        more: this.#inbox?.isEmpty === false,
        dueInMs: undefined,
      };
    } catch (error) {
      for (const delivery of deliveries) delivery.nak(MESSAGE_LIMITS.again.maxMs);
      throw error;
    }
  }

  /** A message is settled, or is to be tried again, and has these children. */
  settled(number: number, children: readonly QueuedSendable[]): void {
    this.#items.get(number)?.tell({ type: "settled", children });
  }

  /** The subscriber does not have these messages any more. */
  lost(numbers: readonly number[]): void {
    for (const number of numbers) this.#items.get(number)?.tell({ type: "lost" });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#inbox?.close();
    await Promise.all([...this.#pending].map(({ work }) => work));
  }

  async #takeOne(
    claim: Claim,
    delivery: CarrierDelivery,
    number: number,
    row: QueuedRow | undefined,
  ): Promise<QueuedRow | undefined> {
    if (this.#items.has(number)) {
      // It may be of a later round than the delivery at hand: acknowledged, it would be the last one of a message that is ready.
      delivery.nak(IN_WORK_MS);
      return undefined;
    }
    const item = this.#shipment(number, delivery);
    this.#items.set(number, item);
    if (row === undefined) {
      item.tell({ type: "gone", children: await unsentChildren(this.#queue.store, number) });
      return undefined;
    }
    const taken = await this.#queue.takeNumber(claim, row).catch((error: unknown) => {
      if (error instanceof ConflictError) return undefined;
      // Whether it was taken or not, it is delivered again.
      this.#items.delete(number);
      delivery.nak(error instanceof FencedError ? 0 : MESSAGE_LIMITS.again.maxMs);
      return undefined;
    });
    if (this.#items.get(number) === item) item.tell({ type: taken === undefined ? "elsewhere" : "taken" });
    return taken;
  }

  #shipment(number: number, delivery: CarrierDelivery): Shipment<QueuedSendable> {
    const item: Shipment<QueuedSendable> = new Shipment({
      outbox: this.#broker.outbox,
      kernel: this.#kernel,
      ack: () => delivery.ack(),
      // The next subscriber that gets the message finds the work that is not done by then.
      goesOn: (isAgain) => !(this.#isClosed && isAgain),
      moved: (phase) => {
        // From here on the store knows nothing of the message: another delivery of it is looked at anew.
        if ((phase === "acking" || phase === "ended") && this.#items.get(number) === item)
          this.#items.delete(number);
        if (phase === "ended") this.#pending.delete(item);
        else if (phase !== "taking" && phase !== "working") this.#pending.add(item);
      },
    });
    return item;
  }
}

/** Deliveries that name a message, and those that do not. */
function parted(all: readonly CarrierDelivery[]): [CarrierDelivery[], CarrierDelivery[]] {
  const isNumber = ({ body }: CarrierDelivery): boolean => Number.isSafeInteger(Number(body)) && body !== "";
  return [all.filter(isNumber), all.filter((delivery) => !isNumber(delivery))];
}
