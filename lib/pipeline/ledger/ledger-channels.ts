// Answers channels.ts from the ledger of an execution: which channel counts, and which messages have to be sent.

import { ConflictError, type Expectation, type Store, type Table, type Write } from "../../store/index.js";
import { type CarriedQueues, namedChannel } from "../messages/channels.js";
import { MESSAGE_LIMITS } from "../messages/limits.js";
import type { LedgerState } from "./ledger-state.js";
import { carriedChannels, executions, type MessageRow, messages, outbox } from "./tables.js";

export class LedgerChannels implements CarriedQueues {
  readonly store: Store;
  readonly table: Table = carriedChannels as Table;
  /** If the execution has ended, no host would remove the row. */
  readonly naming: readonly Expectation[];
  readonly #ledger: LedgerState;
  /** Since when this host has waited for others to complete theirs. */
  readonly #waited = new Map<string, number>();

  constructor(ledger: LedgerState) {
    this.store = ledger.store;
    this.#ledger = ledger;
    this.naming = [{ table: executions, key: [ledger.place.scope], is: { ended: null } }];
  }

  readonly place = (queue: string): { readonly scope: number; readonly queue: string } => ({
    scope: this.#ledger.place.scope,
    queue,
  });

  prefixOf(queue: string): string {
    return `execution${this.#ledger.place.scope}-${queue}`;
  }

  /** The host that has had a channel named completes it. */
  async resend(queue: string, channel: string, isOwn: boolean): Promise<void> {
    const isElsewhere = this.#ledger.place.shared && !isOwn && (await this.#isElsewhere(queue, channel));
    if (!isElsewhere) await this.#resend(queue);
  }

  /** Another host has completed the channel while this one waited for it. @throws ConflictError it may be at it */
  async #isElsewhere(queue: string, channel: string): Promise<boolean> {
    const since = this.#waited.get(channel);
    const named = await namedChannel(this, queue);
    // It was complete from the beginning: its letters are lost.
    if (named?.channel === channel && named.isComplete) return this.#waited.delete(channel);
    if (since === undefined) this.#waited.set(channel, this.#ledger.now());
    else if (this.#ledger.now() - since >= PATIENCE_MS) return false;
    const key = [this.#ledger.place.scope, queue];
    throw new ConflictError(
      carriedChannels.name,
      key,
      "a complete channel",
      "one that another host completes",
    );
  }

  async #resend(queue: string): Promise<void> {
    const { scope, claim } = this.#ledger.place;
    const limit = MESSAGE_LIMITS.portion;
    const prefix = [scope, queue];
    for (let from: { readonly lane: number; readonly id: string } | undefined; ; ) {
      // Lanes in their order, and within a lane the ids.
      const rows = await this.#page(prefix, from, limit);
      const round = this.#ledger.now();
      const writes = rows
        .filter((row) => this.#isFree(row))
        .map(
          ({ lane, id }): Write => ({ type: "offer", table: outbox, row: { scope, queue, lane, id, round } }),
        );
      if (writes.length > 0) await this.store.commit({ claim, writes });
      from = rows.at(-1);
      if (rows.length < limit) break;
    }
    this.#ledger.broker?.hasten([queue]);
  }

  async suspect(queue: string): Promise<(() => Promise<boolean>) | undefined> {
    const { scope } = this.#ledger.place;
    const below = this.#ledger.now() + 1;
    const rows = await this.store.scan(messages, { prefix: [scope, queue], below, limit: LOOKED_AT });
    const row = rows.find((one) => this.#isFree(one));
    if (row === undefined) return undefined;
    const key = [scope, queue, row.lane, row.id];
    const isSent = async (): Promise<boolean> => {
      const [[now], [unsent]] = await Promise.all([
        this.store.get(messages, [key]),
        this.store.get(outbox, [key]),
      ]);
      return now !== undefined && unsent === undefined && this.#isFree(now);
    };
    return (await isSent()) ? isSent : undefined;
  }

  #isFree(row: MessageRow): boolean {
    return this.#ledger.place.shared ? row.holder === null : this.#ledger.broker?.has(row) !== true;
  }

  async #page(
    prefix: readonly (string | number)[],
    after: { readonly lane: number; readonly id: string } | undefined,
    limit: number,
  ): Promise<MessageRow[]> {
    if (after === undefined) return this.store.scan(messages, { prefix, limit });
    const rest = { prefix: [...prefix, after.lane], after: after.id, limit };
    const same = await this.store.scan(messages, rest);
    if (same.length === limit) return same;
    const later = { prefix, after: after.lane, limit: limit - same.length };
    return [...same, ...(await this.store.scan(messages, later))];
  }
}

/** How long a host waits for the one that has named a channel to complete it. */
const PATIENCE_MS = 1_000;

/** Most messages that one look reads; the others wait for another look. */
const LOOKED_AT = 500;
