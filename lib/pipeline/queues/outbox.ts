// Messages that a broker has to carry, and has not confirmed: they are marked in the store, so that any process can send them.

import { backoffMs } from "../../process/backoff.js";
import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { TimerRef } from "../../process/owned-timer.js";
import type { Store } from "../../store/index.js";
import type { Carrier } from "../messages/carrier.js";
import type { Channels } from "../messages/channels.js";
import { MESSAGE_LIMITS } from "../messages/limits.js";
import type { Outbox, OutboxRows, Sendable } from "../messages/outbox.js";
import type { QueueStore } from "./queue-store.js";
import { channels, QUEUE_TOPICS, queued } from "./tables.js";

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

/** Most messages that are sent at a time. */
const AT_ONCE = 500;

type Note = { readonly type: "look" } | { readonly type: "looked"; readonly inMs: number };

/** Sends messages that are published, due, or left behind by others. */
export class OutboxProcess implements Callbacks<Note> {
  readonly #outbox: Outbox<QueuedSendable>;
  readonly #store: Store;
  readonly #queues: ReadonlyMap<string, QueueStore>;
  readonly #channels: Channels;
  #ctx!: Context<Note>;
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
      const messages: readonly QueuedSendable[] = await this.#store.scan(queued, {
        index: "unsent",
        limit: AT_ONCE,
      });
      if (messages.length > 0 && !(await this.#outbox.mark(await this.#outbox.send(messages))))
        return MESSAGE_LIMITS.again.minMs;
      if (messages.length < AT_ONCE || !this.#ctx.alive) return inMs;
    }
  }

  #note(note: Note): void {
    this.#ctx.self.process?.deliver(note, undefined);
  }
}
