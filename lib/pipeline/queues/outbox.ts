// Messages that a broker has to carry, and has not confirmed: they are marked in the store, so that any process can send them.

import { backoffMs } from "../../process/backoff.js";
import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Kernel } from "../../process/kernel.js";
import type { TimerRef } from "../../process/owned-timer.js";
import type { Store } from "../../store/index.js";
import type { Carrier } from "../messages/carrier.js";
import type { Channels } from "../messages/channels.js";
import { MESSAGE_LIMITS } from "../messages/limits.js";
import { byQueue, type Outbox, type OutboxRows, type Sendable, Shipment } from "../messages/outbox.js";
import type { QueueStore } from "./queue-store.js";
import { channels, QUEUE_TOPICS, type QueuedRow, queued } from "./tables.js";

/** What carries the messages of the queues of a process. */
export interface QueueBroker {
  readonly carrier: Carrier;
  readonly channels: Channels;
}

/** A message of a queue that is to be sent. */
interface QueuedSendable extends Sendable {
  readonly number: number;
}

/** The letter of a message. */
export const letterOf = (number: number): string => String(number);

/** The number of the message that a letter is about. Undefined: a stranger has written it. */
export function numberIn(letter: string): number | undefined {
  const number = Number(letter);
  return Number.isSafeInteger(number) && letterOf(number) === letter ? number : undefined;
}

/** @param sender - of this process: letters of another one have other ids */
export function queuedRows(sender: string): OutboxRows<QueuedSendable> {
  return {
    letter: ({ number, round }) => ({ id: `${sender}/${number}/${round}`, body: letterOf(number) }),
    marked: ({ number, round }) => {
      const row = { table: queued, key: [number] };
      return {
        type: "when",
        ...row,
        is: { round },
        writes: [{ type: "update", ...row, set: { unsent: null } }],
      };
    },
    named: (queue, channel) => ({ table: channels, key: [queue], is: { channel } }),
  };
}

/** Most messages that one look reads at a time, and that are sent at a time. */
const AT_ONCE = 500;

/** Messages of one queue that are being sent. */
interface UnderWay {
  readonly rounds: ReadonlyMap<number, number>;
  /** There are further messages to send. */
  isMore: boolean;
  isOver: boolean;
}

type Note = { readonly type: "look" } | { readonly type: "looked"; readonly inMs: number };

/** Sends messages that are published, due, or left behind by others: those of each queue apart, and one shipment of it at a time. */
export class OutboxProcess implements Callbacks<Note> {
  readonly #outbox: Outbox<QueuedSendable>;
  readonly #store: Store;
  readonly #queues: ReadonlyMap<string, QueueStore>;
  readonly #channels: Channels;
  /** By queue. */
  readonly #underWay = new Map<string, UnderWay>();
  #ctx!: Context<Note>;
  #kernel!: Kernel;
  #looking: "no" | "once" | "again" = "no";
  #failures = 0;
  #alarm: TimerRef | undefined;
  #unwatch: (() => void) | undefined;

  constructor(
    outbox: Outbox<QueuedSendable>,
    store: Store,
    queues: ReadonlyMap<string, QueueStore>,
    channels: Channels,
  ) {
    this.#outbox = outbox;
    this.#store = store;
    this.#queues = queues;
    this.#channels = channels;
  }

  init(ctx: Context<Note>): void {
    this.#ctx = ctx;
    this.#kernel = ctx.self.process?.kernel as Kernel;
    ctx.trapExit(true);
    const look = (): void => this.#note({ type: "look" });
    this.#unwatch = this.#store.watch(QUEUE_TOPICS, { notified: look, again: look });
    look();
  }

  handle(ctx: Context<Note>, note: Note): void {
    if (note.type === "look") {
      if (this.#looking !== "no") this.#looking = "again";
      else this.#begin();
      return;
    }
    const isAgain = this.#looking === "again" && this.#failures === 0;
    this.#looking = "no";
    if (this.#alarm !== undefined) ctx.cancel(this.#alarm);
    if (isAgain) this.#begin();
    else this.#alarm = ctx.sendAfter(ctx.self, { type: "look" }, note.inMs);
  }

  terminate(): void {
    this.#unwatch?.();
  }

  #begin(): void {
    this.#looking = "once";
    this.#look().then(
      (inMs) => {
        this.#failures = 0;
        this.#note({ type: "looked", inMs });
      },
      () => {
        // The store is away: messages to send are still marked.
        const inMs = backoffMs(MESSAGE_LIMITS.again, ++this.#failures, this.#kernel.env.random());
        this.#note({ type: "looked", inMs });
      },
    );
  }

  /** When to look again. */
  async #look(): Promise<number> {
    let inMs: number = MESSAGE_LIMITS.lookMs;
    this.#channels.look(this.#queues.keys());
    for (const queue of this.#queues.values()) {
      await queue.wake();
      inMs = Math.min(inMs, (await queue.dueInMs()) ?? inMs);
    }
    await this.#send();
    return inMs;
  }

  /** Sends what is marked as unsent, of all queues of the store. */
  async #send(): Promise<void> {
    for (let after: string | undefined; this.#ctx.alive; ) {
      const before = new Map(this.#underWay);
      const bounds = after === undefined ? {} : { after };
      const rows = await this.#store.scan(queued, { index: "unsent", ...bounds, limit: AT_ONCE });
      const isFull = rows.length === AT_ONCE;
      after = rows.at(-1)?.queue;
      for (const [queue, some] of byQueue<QueuedRow>(rows))
        this.#ship(before.get(queue), queue, some, isFull && queue === after);
      // Messages of a queue that fill a page are not in the way of the queues behind it.
      if (!isFull) return;
    }
  }

  /** @param before - what was being sent of the queue when the messages were read: they are among it, or come behind it */
  #ship(
    before: UnderWay | undefined,
    queue: string,
    messages: readonly QueuedSendable[],
    isMore: boolean,
  ): void {
    if (before !== undefined) {
      if (messages.every(({ number, round }) => before.rounds.get(number) === round)) return;
      before.isMore = true;
      if (before.isOver) this.#note({ type: "look" });
      return;
    }
    const rounds = new Map(messages.map(({ number, round }) => [number, round]));
    const one: UnderWay = { rounds, isMore, isOver: false };
    this.#underWay.set(queue, one);
    const ended = (): void => {
      this.#underWay.delete(queue);
      one.isOver = true;
      if (one.isMore) this.#note({ type: "look" });
    };
    new Shipment({
      ...{ outbox: this.#outbox, queue, ended },
      after: (ms, fn) => void this.#ctx.runAfter(ms, fn),
      random: () => this.#kernel.env.random(),
      goesOn: () => this.#ctx.alive,
    }).send(messages);
  }

  #note(note: Note): void {
    this.#ctx.self.process?.deliver(note, undefined);
  }
}
