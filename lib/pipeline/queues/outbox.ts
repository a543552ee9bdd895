// Messages that a broker has to carry, and has not confirmed: they are marked in the store, so that any process can send them.

import { backoffMs } from "../../process/backoff.js";
import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { TimerRef } from "../../process/owned-timer.js";
import type { Store, Write } from "../../store/index.js";
import type { Carrier } from "../messages/carrier.js";
import type { Channels } from "../messages/channels.js";
import { MESSAGE_LIMITS } from "../messages/limits.js";
import type { QueueStore } from "./queue-store.js";
import { channels, QUEUE_TOPICS, queued } from "./tables.js";

/** What is to be sent of a message. The broker gets its number alone: the store has the rest, however large it is. */
export interface Sendable {
  readonly number: number;
  readonly queue: string;
  /** Grows whenever the message becomes ready again, so that a late mark of an earlier round marks nothing. */
  readonly round: number;
  /** The channel that has confirmed it. */
  readonly channel?: string;
}

export class Outbox {
  readonly #store: Store;
  readonly #carrier: Carrier;
  readonly #channels: Channels;
  /** Of this process: messages that another process has sent are sent again under another id, and the store drops the second. */
  readonly #sender: string;

  constructor(store: Store, carrier: Carrier, channels: Channels, sender: string) {
    this.#store = store;
    this.#carrier = carrier;
    this.#channels = channels;
    this.#sender = sender;
  }

  /** Fulfilled when the broker has confirmed all. @throws CarrierError, QueueClosedError */
  async send(messages: readonly Sendable[]): Promise<Sendable[]> {
    const sent = await Promise.all([...byQueue(messages)].map(([queue, some]) => this.#sendTo(queue, some)));
    return sent.flat();
  }

  #sendTo(queue: string, messages: readonly Sendable[]): Promise<Sendable[]> {
    const letters = messages.map(({ number, round }) => ({
      id: `${this.#sender}/${number}/${round}`,
      body: String(number),
    }));
    return this.#channels.use(queue, async (channel) => {
      await this.#carrier.publish(channel, letters);
      return messages.map(({ number, round }) => ({ number, queue, round, channel }));
    });
  }

  /** Notes that the broker has them. @throws ConflictError when the store names another channel: the broker may have lost them */
  async mark(sent: readonly Sendable[]): Promise<void> {
    for (const [queue, some] of byQueue(sent)) {
      const writes = some.map(({ number, round }): Write => {
        const row = { table: queued, key: [number] };
        const marked = { type: "update" as const, ...row, set: { unsent: null } };
        return { type: "when", ...row, is: { round }, writes: [marked] };
      });
      const expect = [...new Set(some.map(({ channel }) => channel))].map((channel) => ({
        table: channels,
        key: [queue],
        is: { channel: channel ?? null },
      }));
      await this.#store.commit({ expect, writes });
    }
  }

  /** The first messages that are not marked. */
  unsent(limit: number): Promise<readonly Sendable[]> {
    return this.#store.scan(queued, { index: "unsent", limit });
  }

  /** The children of a settled message that are not marked. */
  async childrenOf(parent: number): Promise<readonly Sendable[]> {
    const rows = await this.#store.scan(queued, {
      index: "parent",
      prefix: [parent],
      limit: MESSAGE_LIMITS.portion,
    });
    return rows.filter(({ unsent }) => unsent !== null);
  }
}

function byQueue(messages: readonly Sendable[]): Map<string, Sendable[]> {
  const all = new Map<string, Sendable[]>();
  for (const message of messages) {
    const some = all.get(message.queue);
    if (some === undefined) all.set(message.queue, [message]);
    else some.push(message);
  }
  return all;
}

/** Most messages that are sent at a time. */
const AT_ONCE = 500;

type Note = { readonly type: "look" } | { readonly type: "looked"; readonly inMs: number };

/** Sends messages that are published, due, or left behind by others. */
export class OutboxProcess implements Callbacks<Note> {
  readonly #outbox: Outbox;
  readonly #store: Store;
  readonly #queues: ReadonlyMap<string, QueueStore>;
  readonly #channels: Channels;
  #ctx!: Context<Note>;
  #looking: "no" | "once" | "again" = "no";
  #failures = 0;
  #alarm: TimerRef | undefined;
  #unwatch: (() => void) | undefined;

  constructor(outbox: Outbox, store: Store, queues: ReadonlyMap<string, QueueStore>, channels: Channels) {
    this.#outbox = outbox;
    this.#store = store;
    this.#queues = queues;
    this.#channels = channels;
  }

  init(ctx: Context<Note>): void {
    this.#ctx = ctx;
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
        // The store or the broker is away: messages to send are still marked.
        const { again } = MESSAGE_LIMITS;
        const inMs = backoffMs(again, ++this.#failures, this.#ctx.alive ? this.#ctx.random() : 0);
        this.#note({ type: "looked", inMs });
      },
    );
  }

  /** When to look again. */
  async #look(): Promise<number> {
    let inMs: number = MESSAGE_LIMITS.lookMs;
    // If it cannot be asked for one queue, the others are sent all the same.
    await this.#channels.look(this.#queues.keys()).catch(() => undefined);
    for (const queue of this.#queues.values()) {
      await queue.wake();
      inMs = Math.min(inMs, (await queue.dueInMs()) ?? inMs);
    }
    for (;;) {
      const messages = await this.#outbox.unsent(AT_ONCE);
      if (messages.length > 0) {
        await this.#outbox.mark(await this.#outbox.send(messages));
      }
      if (messages.length < AT_ONCE || !this.#ctx.alive) return inMs;
    }
  }

  #note(note: Note): void {
    this.#ctx.self.process?.deliver(note, undefined);
  }
}
