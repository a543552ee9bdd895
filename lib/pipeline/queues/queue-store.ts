// Reads and writes the tables of queues. A subscriber that settles a message proves in the same commit that it still holds the message.

import { heldTokens } from "../../host/claims/claims.js";
import { InvariantError } from "../../process/errors.js";
import {
  type Claim,
  ConflictError,
  type Expectation,
  type Store,
  type Write,
  type WriteSet,
} from "../../store/index.js";
import type { Columns, RowOf, Table } from "../../store/table.js";
import { QueueFullError } from "../messages/errors.js";
import { MESSAGE_LIMITS } from "../messages/limits.js";
import { QUEUE_LIMITS, type QueuePolicy } from "./limits.js";
import type { Beats } from "./message-beats.js";
import { newRound } from "./rounds.js";
import { endsOf, type Verdict, withFailure } from "./status.js";
import type { StoreTime } from "./store-time.js";
import {
  deadMessages,
  deadRecords,
  type QueuedRow,
  queued,
  SUBSCRIBER_CLAIMS,
  settledIds,
  subscribers,
  topicOf,
} from "./tables.js";

/** A message that is to be stored. */
export interface NewMessage {
  readonly id: string;
  /** The publisher gave the id. */
  readonly named: boolean;
  readonly body: string | Uint8Array;
  readonly tag: string | null;
  readonly delayMs: number;
  /** The trace in which it is published. */
  readonly trace?: string | undefined;
}

/** A message that the settlement of another one publishes. */
export interface Child extends Omit<NewMessage, "id" | "named"> {
  readonly to: QueueStore;
}

/** What is settled: what becomes of the message, and what it publishes. */
export interface Settlement {
  readonly verdict: Verdict;
  readonly children: readonly Child[];
  /** The last heartbeat of the attempt, for the next one. Absent: that of the row. */
  readonly heartbeats?: Beats | undefined;
}

/** What a take gives. */
export interface Taken {
  readonly rows: readonly QueuedRow[];
  /** There may be further ones. */
  readonly more: boolean;
  /** When the next delayed message is due. */
  readonly dueInMs: number | undefined;
}

export class QueueStore {
  readonly name: string;
  readonly store: Store;
  readonly time: StoreTime;
  readonly policy: QueuePolicy;
  /** A broker carries the messages. */
  readonly carried: boolean;
  /** At least as many messages as there are, if this process publishes alone. */
  #level: { count: number; readonly at: number } | undefined;

  constructor(name: string, store: Store, time: StoreTime, policy: QueuePolicy, carried: boolean) {
    this.name = name;
    this.store = store;
    this.time = time;
    this.policy = policy;
    this.carried = carried;
  }

  /** The names of the claims of its subscribers begin so. */
  get claims(): string {
    return `${SUBSCRIBER_CLAIMS}${this.name}/`;
  }

  /** Stores those that are not there. For each: whether it was stored. @throws QueueFullError, StoreError */
  async publish(messages: readonly NewMessage[]): Promise<boolean[]> {
    await this.admit(messages.length);
    const named = messages.filter((one) => one.named).map(({ id }) => [this.name, id]);
    for (let attempt = 1; ; attempt++) {
      const known = await this.#known(named);
      const fresh = messages.filter(({ id }) => !known.has(id));
      // A message that is settled in between would be published again: then the commit is refused, and the loop looks again.
      const expect: Expectation[] = named
        .filter(([, id]) => !known.has(id as string))
        .flatMap((key) => [settledIds, deadMessages].map((table) => ({ table, key, is: "absent" as const })));
      const writes = fresh.map((one): Write => ({ type: "offer", table: queued, row: this.row(one) }));
      if (writes.length === 0) return messages.map(() => false);
      try {
        const { results } = await this.store.commit({ expect, writes, notify: [topicOf(this.name)] });
        const stored = new Set(fresh.filter((_, i) => (results[i] as number) > 0));
        return messages.map((one) => stored.has(one));
      } catch (error) {
        if (!(error instanceof ConflictError) || attempt === QUEUE_LIMITS.publishAttempts) throw error;
      }
    }
  }

  /** The ids of messages that are settled, or given up. */
  async #known(keys: readonly (readonly string[])[]): Promise<Set<string>> {
    if (keys.length === 0) return new Set();
    const [settled, dead] = await Promise.all([
      this.store.get(settledIds, keys),
      this.store.get(deadMessages, keys),
    ]);
    return new Set([...settled, ...dead].flatMap((row) => (row === undefined ? [] : [row.id])));
  }

  /** A message as its row. */
  row({ id, named, body, tag, delayMs, trace }: NewMessage): Omit<QueuedRow, "number"> {
    const now = this.time.now();
    const isDelayed = delayMs > 0;
    return {
      ...{ queue: this.name, id, named: named ? 1 : 0, body, tag, attempts: 0, history: null },
      trace: trace ?? null,
      held: null,
      ready: isDelayed ? null : this.name,
      delayed: isDelayed ? this.name : null,
      due: isDelayed ? Math.ceil(now + delayMs) : now,
      unsent: this.carried && !isDelayed ? this.name : null,
      round: 0,
      ...{ heartbeats: null, alive: null, quarantines: 0 },
    };
  }

  /** Requires room for so many messages, and counts them. @throws QueueFullError */
  async admit(more: number): Promise<void> {
    const { mostMessages } = this.policy;
    const isOld = (at: number): boolean => this.store.shared && this.time.now() - at > QUEUE_LIMITS.countMs;
    let level = this.#level;
    if (level === undefined || isOld(level.at) || level.count + more > mostMessages) {
      const count = await this.store.count(queued, { index: "id", prefix: [this.name] });
      level = { count, at: this.time.now() };
      if (count + more > mostMessages) throw new QueueFullError(this.name, count, more, mostMessages);
      this.#level = level;
    }
    level.count += more;
  }

  /** Takes ready messages, the oldest first, for the subscriber that has this claim. */
  async take(claim: Claim, count: number): Promise<Taken> {
    const { store, name } = this;
    await this.wake();
    const rows = await store.take(queued, {
      index: "ready",
      prefix: [name],
      limit: count,
      where: { held: null },
      set: { ready: null, held: claim.token },
      claim,
    });
    return { rows, more: rows.length === count, dueInMs: await this.dueInMs() };
  }

  /** Takes these messages, in their order. Undefined: it is not ready, or another subscriber has it. */
  async takeNumbers(claim: Claim, numbers: readonly number[]): Promise<(QueuedRow | undefined)[]> {
    const set = { ready: null, held: claim.token, unsent: null };
    const keys = numbers.map((number) => [number]);
    const writes = keys.map((key): Write => {
      const row = { table: queued, key };
      const take: Write = { type: "update", ...row, set };
      return { type: "when", ...row, is: { ready: this.name, held: null }, writes: [take] };
    });
    await this.store.commit({ claim, writes });
    const rows = await this.store.get(queued, keys);
    // One may have been taken by a commit whose answer was lost.
    return rows.map((row) => (row?.held === claim.token ? row : undefined));
  }

  /** Makes delayed messages ready whose time has come: they wait since that time. */
  async wake(): Promise<void> {
    const { name } = this;
    const range = {
      index: "due",
      prefix: [name],
      below: this.time.now() + 1,
      limit: MESSAGE_LIMITS.portion,
    };
    const set = { delayed: null, ready: name };
    if (!this.carried) await this.store.take(queued, { ...range, set });
    else {
      const rows = await this.store.scan(queued, range);
      await newRound(this.store, name, rows, { delayed: name }, { ...set, unsent: name });
    }
  }

  async dueInMs(): Promise<number | undefined> {
    const [first] = await this.store.scan(queued, { index: "due", prefix: [this.name], limit: 1 });
    return first === undefined ? undefined : Math.max(0, (first.due ?? 0) - this.time.now());
  }

  /** The set that settles a message. Refused if the message is not held under this claim. */
  settlement(claim: Claim, message: QueuedRow, settlement: Settlement): WriteSet {
    const { verdict, children } = settlement;
    const { number } = message;
    const expect: Expectation[] = [{ table: queued, key: [number], is: { held: claim.token } }];
    const notify = new Set<string>();
    const writes = this.#verdict(message, settlement);
    if (verdict.type !== "done" && verdict.type !== "dead") notify.add(topicOf(this.name));
    for (const [i, { to, ...child }] of children.entries()) {
      const row = to.row({ ...child, id: `#${number}.${i}`, named: false });
      writes.push({ type: "insert", table: queued, row });
      notify.add(topicOf(to.name));
    }
    return { claim, expect, writes, notify: [...notify] };
  }

  #verdict(message: QueuedRow, { verdict, heartbeats }: Settlement): Write[] {
    const { number, id, named, body, tag, trace } = message;
    const table = queued;
    const at = this.time.now();
    const isEnd = verdict.type !== "done" && "evidence" in verdict;
    const attempts = isEnd || verdict.type === "setback" ? message.attempts : message.attempts + 1;
    const gone: Write = { type: "delete", table, key: [number] };
    if (verdict.type === "done") return named === 1 ? [gone, ...this.#remembered(id, at)] : [gone];
    const by = isEnd ? { evidence: verdict.evidence as string } : {};
    const history = withFailure(message.history, {
      attempt: message.attempts + 1,
      at,
      error: verdict.error,
      ...by,
      ...(verdict.type === "setback" && { setbacks: verdict.setbacks }),
    });
    if (verdict.type === "dead") {
      const row = { queue: this.name, id, named, body, tag, attempts, history, at, trace };
      return [gone, { type: "insert", table: deadMessages, row }];
    }
    const beats = heartbeats === undefined ? {} : { heartbeats, alive: this.name };
    const ends = isEnd ? { quarantines: endsOf(message) + 1 } : {};
    return [this.#later(message, verdict.delayMs, { attempts, history, ...ends, ...beats })];
  }

  /** The message is tried again after a time. */
  #later({ number, round }: QueuedRow, delayMs: number, changes: Partial<QueuedRow>): Write {
    const isDelayed = delayMs > 0;
    const now = this.time.now();
    const set = {
      ...{ held: null, ...changes },
      ready: isDelayed ? null : this.name,
      delayed: isDelayed ? this.name : null,
      due: isDelayed ? Math.ceil(now + delayMs) : now,
      unsent: this.carried && !isDelayed ? this.name : null,
      round: round + 1,
    };
    return { type: "update", table: queued, key: [number], set };
  }

  #remembered(id: string, at: number): Write[] {
    if (this.policy.rememberMs === 0 || this.policy.rememberMost === 0) return [];
    return [{ type: "put", table: settledIds, row: { queue: this.name, id, at } }];
  }

  /** The set that notes how far the handler is with a message. Refused if it is not held under this claim, or was tried again since. */
  beat(claim: Claim, { number, round }: QueuedRow, heartbeats: Beats): WriteSet {
    const row = { table: queued, key: [number] };
    return {
      claim,
      expect: [{ ...row, is: { held: claim.token, round } }],
      writes: [{ type: "update", ...row, set: { heartbeats, alive: this.name } }],
    };
  }

  /** Messages with a heartbeat that are not settled, the oldest first. */
  beating(limit: number): Promise<QueuedRow[]> {
    return this.store.scan(queued, { index: "alive", prefix: [this.name], limit });
  }

  /** Gives messages back that were not tried. */
  async release(claim: Claim, messages: readonly QueuedRow[]): Promise<void> {
    const writes = messages.map((message) => this.#freed(message, claim.token));
    await this.store.commit({ claim, writes, notify: [topicOf(this.name)] });
  }

  /** Makes a message ready that this holder has. One that another subscriber has by now must not keep others back. */
  #freed({ number }: QueuedRow, holder: number): Write {
    const row = { table: queued, key: [number] };
    const set = { held: null, ready: this.name, unsent: this.carried ? this.name : null };
    const ready: Write = { type: "update", ...row, set, add: { round: 1 } };
    return { type: "when", ...row, is: { held: holder }, writes: [ready] };
  }

  /** Notes the subscriber that takes messages under this claim. */
  async enter({ token }: Claim, concurrency: number): Promise<void> {
    const row = { token, queue: this.name, concurrency };
    await this.store.commit({ writes: [{ type: "put", table: subscribers, row }] });
  }

  /** Puts back what dead subscribers held. An end without evidence accuses no message: no attempt is counted. */
  async recover(): Promise<void> {
    const { store, name } = this;
    const rows = await store.scan(subscribers, { index: "queue", prefix: [name] });
    if (rows.length === 0) return;
    // In this order: each subscriber in the table had a claim before the table was read.
    const held = await heldTokens(store, this.claims);
    for (const row of rows) if (!held.has(row.token)) await this.#recoverOne(row.token);
  }

  async #recoverOne(token: number): Promise<void> {
    const lost = await this.store.scan(queued, {
      index: "held",
      prefix: [token],
      limit: MESSAGE_LIMITS.portion,
    });
    if (lost.some(({ queue }) => queue !== this.name)) throw new InvariantError("a claim is of one queue");
    const holder = { table: subscribers, key: [token] };
    const expect: Expectation[] = [{ ...holder, is: "present" }];
    const writes = lost.map((message) => this.#freed(message, token));
    writes.push({ type: "delete", ...holder });
    try {
      await this.store.commit({ expect, writes, notify: [topicOf(this.name)] });
    } catch (error) {
      // Another subscriber recovers it.
      if (!(error instanceof ConflictError)) throw error;
    }
  }

  /** Forgets ids and records of dead letters that were remembered for long enough, and those beyond the most. */
  async forget(): Promise<void> {
    const { name } = this;
    const ids = (await this.#oldest(settledIds, "at")).map(({ id }) => [name, id]);
    const records = (await this.#oldest(deadRecords, "done")).map(({ id, turn }) => [name, id, turn]);
    const writes = [
      ...ids.map((key): Write => ({ type: "delete", table: settledIds, key })),
      ...records.map((key): Write => ({ type: "delete", table: deadRecords, key })),
    ];
    if (writes.length > 0) await this.store.commit({ writes });
  }

  /** Rows that are remembered no longer, by the index that has their time. */
  async #oldest<C extends Columns>(table: Table<C>, index: string): Promise<RowOf<C>[]> {
    const { store, name, policy } = this;
    const prefix = [name];
    const limit = MESSAGE_LIMITS.portion;
    const over = (await store.count(table, { index, prefix })) - policy.rememberMost;
    const below = Math.floor(this.time.now() - policy.rememberMs);
    const old = await store.scan(table, { index, prefix, below, limit });
    return over > old.length ? store.scan(table, { index, prefix, limit: Math.min(over, limit) }) : old;
  }
}
