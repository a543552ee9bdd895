// Answers channels.ts from the tables of queues: which channel counts, and which messages have to be sent.

import { ConflictError, type Store } from "../../store/index.js";
import type { NamedChannel } from "../messages/channel-machine.js";
import type { ChannelStore } from "../messages/channels.js";
import { MESSAGE_LIMITS } from "../messages/limits.js";
import { newRound } from "./rounds.js";
import { channels, queued } from "./tables.js";

export class QueueChannels implements ChannelStore {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  prefixOf(queue: string): string {
    return queue;
  }

  async read(queue: string): Promise<NamedChannel | undefined> {
    const [row] = await this.#store.get(channels, [[queue]]);
    return row === undefined ? undefined : { channel: row.channel, isComplete: row.complete === 1 };
  }

  async name(queue: string, channel: string, before: string | undefined): Promise<boolean> {
    const table = channels;
    const is = before === undefined ? ("absent" as const) : { channel: before };
    const row = { queue, channel, complete: 0 };
    try {
      await this.#store.commit({
        expect: [{ table, key: [queue], is }],
        writes: [{ type: "put", table, row }],
      });
      return true;
    } catch (error) {
      if (error instanceof ConflictError) return false;
      throw error;
    }
  }

  async resend(queue: string, channel: string): Promise<void> {
    const limit = MESSAGE_LIMITS.portion;
    for (let after = 0; ; ) {
      const rows = await this.#store.scan(queued, { index: "ready", prefix: [queue], after, limit });
      await newRound(this.#store, queue, rows, { ready: queue, held: null }, { unsent: queue });
      after = rows.at(-1)?.number ?? after;
      if (rows.length < limit) break;
    }
    const row = { table: channels, key: [queue] };
    const done = { type: "update" as const, ...row, set: { complete: 1 } };
    await this.#store.commit({ writes: [{ type: "when", ...row, is: { channel }, writes: [done] }] });
  }

  async suspect(queue: string): Promise<(() => Promise<boolean>) | undefined> {
    const rows = await this.#store.scan(queued, { index: "ready", prefix: [queue], limit: LOOKED_AT });
    const sent = rows.find(({ unsent }) => unsent === null);
    if (sent === undefined) return undefined;
    return async () => {
      const [now] = await this.#store.get(queued, [[sent.number]]);
      return now !== undefined && now.ready !== null && now.unsent === null && now.round === sent.round;
    };
  }
}

/** Most messages that one look reads. Those behind wait: messages in front are sent first. */
const LOOKED_AT = 500;
