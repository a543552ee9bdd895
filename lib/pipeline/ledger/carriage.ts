// The messages of an execution over a broker. The ledger decides; the broker says which host works on which message.
//
//     commit: children, and a row of the outbox for each ──▶ published ──▶ confirmed ──▶ row of the outbox removed ──▶ acknowledged
//     letter ──▶ taken in the ledger, if the message is there and has no holder ──▶ handed out
//
// A letter is no more than a hint: its message is taken in the store, so a letter that comes twice, late, or from before changes nothing.
// A ready message without a holder has a row in the outbox or a letter in the channel; channels.ts looks after letters that the broker loses.

import { EffectLoop } from "../../process/effect-loop.js";
import type { Kernel } from "../../process/kernel.js";
import { outside } from "../../process/origin.js";
import { ConflictError, type Store, type Write } from "../../store/index.js";
import type { MessageId } from "../definition/message-id.js";
import type { Carrier, CarrierDelivery, Consumption } from "../messages/carrier.js";
import { Channels } from "../messages/channels.js";
import { MESSAGE_LIMITS } from "../messages/limits.js";
import { decide, initial, type OutboxEffect, type OutboxEvent } from "../messages/outbox-machine.js";
import { LedgerLetters } from "./ledger-letters.js";
import type { LedgerState, StoreLedgerOptions } from "./ledger-state.js";
import type { LiveMessage } from "./live-message.js";
import type { Place } from "./step-writes.js";
import { carriedChannels, type MessageRow, messages, outbox } from "./tables.js";

/** Where a message is in the ledger of an execution. */
interface Spot {
  readonly queue: string;
  readonly lane: number;
  readonly id: MessageId;
}

/** A message that is to be sent. */
interface Parcel extends Spot {
  /** When its row of the outbox was written: a later one is another one. */
  readonly round: number;
  /** The channel that has confirmed it. */
  readonly channel?: string;
}

/** Parcels to send, and letters to acknowledge after them. */
interface Shipment {
  readonly parcels: readonly Parcel[];
  readonly letters: readonly CarrierDelivery[];
}

/** The letters of one queue that have arrived and were not looked at. */
interface Inbox {
  readonly arrived: CarrierDelivery[];
  readonly waiting: (() => void)[];
  readonly unwatch: () => void;
  consumption: { readonly channel: string; readonly of: Consumption } | undefined;
}

/** How often the outbox is searched for messages that others have left behind, in milliseconds. */
const LOOK_MS = 1_000;
/** A row that is in the outbox for so long was left behind, in milliseconds. */
const STALE_MS = 3_000;
/** A letter of a message that is in work here comes again after this time, in milliseconds. */
const IN_WORK_MS = 10_000;
/** Most messages that are sent at a time. */
const AT_ONCE = 500;
/** Most shipments at the same time: one need not wait for the answers of the broker and the store to the one before. */
const MOST_SHIPMENTS = 8;
/** Letters ahead, for each message that the host can work on at a time; and the fewest. */
const AHEAD = 2;
const FEWEST = 4;

const keyOf = ({ queue, lane, id }: Spot): string => `${queue} ${lane} ${id}`;

export class Carriage {
  readonly #ledger: LedgerState;
  readonly #carrier: Carrier;
  readonly #kernel: Kernel;
  readonly #channels: Channels;
  readonly #queues: readonly string[];
  readonly #inboxes = new Map<string, Inbox>();
  /** Letters of the messages that this host has. */
  readonly #inWork = new Map<string, CarrierDelivery>();
  /** Keys of the messages that are being sent, or wait to be sent. */
  readonly #underWay = new Set<string>();
  #waiting: Shipment[] = [];
  #shipments = 0;
  /** Queues whose outbox is sent regardless of its age. */
  readonly #hurry = new Set<string>();
  #looking: Promise<void> | undefined;
  #sinceChannels = 0;
  #cancelLook: (() => void) | undefined;
  #cancelDue: (() => void) | undefined;
  #dueAt: number | undefined;
  #isClosed = false;

  constructor(ledger: LedgerState, { carrier, kernel }: NonNullable<StoreLedgerOptions["carried"]>) {
    this.#ledger = ledger;
    this.#carrier = carrier;
    this.#kernel = kernel;
    const { queues } = ledger.options;
    this.#queues = queues;
    const letters = new LedgerLetters(ledger.store, ledger.place, {
      now: () => ledger.now(),
      isInWork: (row) => this.#inWork.has(keyOf(row)),
      hurry: (queue) => this.hasten([queue]),
    });
    this.#channels = new Channels(letters, carrier, kernel);
    for (const queue of queues) this.#open(queue);
    this.#lookLater();
  }

  /** Has all messages without a holder sent again. */
  static async anew(store: Store, { scope, claim }: Place, queues: readonly string[]): Promise<void> {
    const writes = queues.map(
      (queue): Write => ({
        type: "update",
        table: carriedChannels,
        key: [scope, queue],
        set: { complete: 0 },
      }),
    );
    await store.commit({ claim, writes });
  }

  // ── from the broker ──────────────────────────────────────────────────────────────────────────────────────────

  #open(queue: string): void {
    const prefetch = Math.max(FEWEST, AHEAD * this.#ledger.inWork(queue));
    const inbox: Inbox = {
      arrived: [],
      waiting: [],
      consumption: undefined,
      unwatch: this.#channels.watch(queue, (channel) => this.#consume(queue, inbox, channel, prefetch)),
    };
    this.#inboxes.set(queue, inbox);
  }

  #consume(queue: string, inbox: Inbox, channel: string, prefetch: number): void {
    if (this.#isClosed || inbox.consumption?.channel === channel) return;
    void inbox.consumption?.of.close();
    const deliver = async (letter: CarrierDelivery): Promise<void> => {
      if (this.#isClosed) return letter.nak(0);
      inbox.arrived.push(letter);
      this.#ledger.handOut.news(queue);
      if (inbox.arrived.length >= prefetch) await new Promise<void>((resolve) => inbox.waiting.push(resolve));
    };
    const gone = (): void => {
      inbox.consumption = undefined;
      this.#channels.gone(queue, channel);
    };
    inbox.consumption = { channel, of: this.#carrier.consume(channel, prefetch, deliver, gone) };
  }

  /** Whether letters of this queue have arrived that were not looked at. */
  has(queue: string): boolean {
    return (this.#inboxes.get(queue)?.arrived.length ?? 0) > 0;
  }

  /** Messages whose letters have arrived, and that have no holder. This host holds them from now on. */
  async take(queue: string, count: number): Promise<readonly MessageRow[]> {
    const inbox = this.#inboxes.get(queue);
    const letters = inbox?.arrived.splice(0, count) ?? [];
    for (const goOn of inbox?.waiting.splice(0) ?? []) goOn();
    if (letters.length === 0) return [];
    try {
      return await this.#take(queue, letters);
    } catch (error) {
      for (const letter of letters) letter.nak(MESSAGE_LIMITS.again.maxMs);
      throw error;
    }
  }

  async #take(queue: string, letters: readonly CarrierDelivery[]): Promise<readonly MessageRow[]> {
    const free = new Map<string, { readonly spot: Spot; readonly letter: CarrierDelivery }>();
    for (const letter of letters) {
      const spot = spotIn(queue, letter.body);
      const key = spot === undefined ? "" : keyOf(spot);
      // It comes again, in case this host gives the message back.
      if (this.#inWork.has(key)) letter.nak(IN_WORK_MS);
      // A letter that says nothing is of a stranger: it is acknowledged, as one of a message that is gone.
      else if (spot === undefined || free.has(key)) letter.ackUnconfirmed();
      else free.set(key, { spot, letter });
    }
    const all = [...free.entries()];
    const rows = await this.#hold(all.map(([, { spot }]) => spot));
    return all.flatMap(([key, { letter }], i) => {
      const row = rows[i];
      if (row === undefined) {
        letter.ackUnconfirmed();
        return [];
      }
      this.#inWork.set(key, letter);
      return [row];
    });
  }

  /** The messages among these that this host has now. A store of one process notes nothing: all messages are its. */
  async #hold(spots: readonly Spot[]): Promise<readonly (MessageRow | undefined)[]> {
    const { store, place } = this.#ledger;
    const { scope, claim } = place;
    if (spots.length === 0) return [];
    const keys = spots.map(({ queue, lane, id }) => [scope, queue, lane, id]);
    if (!place.shared) return store.get(messages, keys);
    const writes = keys.map((key): Write => {
      const row = { table: messages, key };
      const held = { type: "update" as const, ...row, set: { holder: claim.token } };
      return { type: "when", ...row, is: { holder: null }, writes: [held] };
    });
    // Not one after the other: only the commit decides which host gets the messages.
    const [rows, { results }] = await Promise.all([
      store.get(messages, keys),
      store.commit({ claim, writes }),
    ]);
    const isMine = (i: number): boolean => results[i] === 1;
    // Put there after the rows were read, and before they were held.
    const isLate = rows.some((row, i) => row === undefined && isMine(i));
    return (isLate ? await store.get(messages, keys) : rows).map((row, i) => (isMine(i) ? row : undefined));
  }

  // ── to the broker ────────────────────────────────────────────────────────────────────────────────────────────

  /** A commit has settled or delayed messages, and has made children. They are sent; the letters are acknowledged last. */
  committed(done: readonly LiveMessage[], children: readonly Spot[], at: number): void {
    const letters = done.flatMap((message) => this.#lettersOf(message));
    const parcels = children.map((child) => ({ ...child, round: at }));
    const now = this.#ledger.now();
    for (const { lane } of parcels) if (lane > now) this.#lookAt(lane);
    this.#ship(
      parcels.filter(({ lane }) => lane <= now),
      letters,
    );
  }

  /** This host has lost the message: its letter comes again, to the host that has the message then. */
  lost(message: LiveMessage): void {
    for (const letter of this.#lettersOf(message)) letter.nak(IN_WORK_MS);
  }

  #lettersOf(message: LiveMessage): CarrierDelivery[] {
    const key = keyOf(message);
    const letter = this.#inWork.get(key);
    this.#inWork.delete(key);
    return letter === undefined ? [] : [letter];
  }

  #ship(parcels: readonly Parcel[], letters: readonly CarrierDelivery[]): void {
    if (this.#isClosed || parcels.length + letters.length === 0) return;
    for (const parcel of parcels) this.#underWay.add(keyOf(parcel));
    this.#waiting.push({ parcels, letters });
    // Outside any process: a shipment has parcels of several processes, and each of these may end before the broker answers.
    outside(() => this.#begin());
  }

  #begin(): void {
    if (this.#shipments >= MOST_SHIPMENTS || this.#waiting.length === 0) return;
    let count = 0;
    let size = 0;
    while (count < this.#waiting.length && size < AT_ONCE)
      size += this.#waiting[count++]?.parcels.length ?? 0;
    const some = this.#waiting.splice(0, count);
    const parcels = some.flatMap((one) => one.parcels);
    const letters = some.flatMap((one) => one.letters);
    this.#shipments++;
    void new Promise<void>((resolve) => this.#shipped(parcels, letters, resolve)).then(() => {
      for (const parcel of parcels) this.#underWay.delete(keyOf(parcel));
      this.#shipments--;
      this.#begin();
      // Messages that are marked now are no longer in the way of the rest.
      if (this.#hurry.size > 0) this.#lookSoon();
    });
  }

  /** Publishes, marks, and acknowledges last, as outbox-machine.ts decides. */
  #shipped(parcels: readonly Parcel[], letters: readonly CarrierDelivery[], ended: () => void): void {
    const kernel = this.#kernel;
    const begin = initial<Parcel>(MESSAGE_LIMITS.again);
    const loop = new EffectLoop(begin, decide<Parcel>, (effect: OutboxEffect<Parcel>) => {
      // The rest of the shipment stays in the outbox, and its letters come again.
      if (this.#isClosed && effect.type !== "ack") return ended();
      const inMs = effect.type === "ack" ? 0 : effect.inMs;
      const work = (): void => follow(this.#carryOut(effect, letters));
      if (inMs > 0) kernel.addTimer(inMs, { fire: () => (this.#isClosed ? ended() : work()) });
      else work();
    });
    const follow = (work: Promise<OutboxEvent<Parcel>>): void => {
      const tell = (event: OutboxEvent<Parcel>): void => {
        loop.dispatch(event);
        if (loop.state.phase === "ended") ended();
      };
      work.then(tell, () => tell({ type: "failed", roll: kernel.env.random() }));
    };
    loop.dispatch({ type: "taken" });
    loop.dispatch({ type: "settled", children: parcels });
  }

  async #carryOut(
    effect: OutboxEffect<Parcel>,
    letters: readonly CarrierDelivery[],
  ): Promise<OutboxEvent<Parcel>> {
    switch (effect.type) {
      case "publish":
        return { type: "confirmed", children: await this.#publish(effect.children) };
      case "mark":
        return { type: (await this.#mark(effect.children)) ? "marked" : "void" };
      case "ack":
        // Nothing waits for the broker's word: a letter that comes again is of a message that is gone.
        for (const letter of letters) letter.ackUnconfirmed();
        return { type: "acked" };
      default:
        return effect satisfies never;
    }
  }

  async #publish(parcels: readonly Parcel[]): Promise<Parcel[]> {
    const { token } = this.#ledger.place.claim;
    const sent = await Promise.all(
      [...byQueue(parcels)].map(([queue, some]) =>
        this.#channels.use(queue, async (channel) => {
          const letters = some.map(({ lane, id, round }) => ({
            id: `${token}/${id}/${lane}/${round}`,
            body: JSON.stringify([lane, id]),
          }));
          await this.#carrier.publish(channel, letters);
          return some.map((parcel) => ({ ...parcel, channel }));
        }),
      ),
    );
    return sent.flat();
  }

  /** False: the store names another channel, so the broker may have lost what it has confirmed. */
  async #mark(parcels: readonly Parcel[]): Promise<boolean> {
    const { store, place } = this.#ledger;
    const { scope } = place;
    for (const [queue, some] of byQueue(parcels)) {
      const writes = some.map(({ lane, id, round }): Write => {
        const row = { table: outbox, key: [scope, queue, lane, id] };
        return { type: "when", ...row, is: { round }, writes: [{ type: "delete", ...row }] };
      });
      const expect = [...new Set(some.map(({ channel }) => channel))].map((channel) => ({
        table: carriedChannels,
        key: [scope, queue],
        is: { channel: channel ?? null },
      }));
      try {
        await store.commit({ expect, writes });
      } catch (error) {
        if (!(error instanceof ConflictError)) throw error;
        await this.#channels.look([queue]);
        return false;
      }
    }
    return true;
  }

  // ── what is due, and what others have left behind ────────────────────────────────────────────────────────────

  #lookLater(): void {
    const kernel = this.#kernel;
    const timer = kernel.addTimer(LOOK_MS, {
      fire: () => {
        this.#look().then(
          () => !this.#isClosed && this.#lookLater(),
          (error: Error) => this.#ledger.lose(error),
        );
      },
    });
    this.#cancelLook = () => void kernel.cancelTimer(timer);
  }

  /** The outbox of these queues is sent now, all of it. */
  hasten(queues: readonly string[] = this.#queues): void {
    for (const queue of queues) this.#hurry.add(queue);
    this.#lookSoon();
  }

  #lookSoon(): void {
    if (!this.#isClosed) this.#look().catch((error: Error) => this.#ledger.lose(error));
  }

  /** Looks when a delayed message is due. @param at - by the clock of the store */
  #lookAt(at: number): void {
    if (this.#isClosed || (this.#dueAt !== undefined && this.#dueAt <= at)) return;
    const kernel = this.#kernel;
    this.#cancelDue?.();
    this.#dueAt = at;
    const fire = (): void => {
      this.#dueAt = undefined;
      this.hasten();
    };
    const timer = kernel.addTimer(Math.max(1, at - this.#ledger.now()), { fire });
    this.#cancelDue = () => void kernel.cancelTimer(timer);
  }

  #look(): Promise<void> {
    this.#looking ??= this.#lookAtAll().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookAtAll(): Promise<void> {
    for (const queue of this.#queues) await this.#lookAtOutbox(queue);
    this.#sinceChannels += LOOK_MS;
    if (this.#sinceChannels < MESSAGE_LIMITS.lookMs || this.#isClosed) return;
    this.#sinceChannels = 0;
    // A broker that is away is asked again the next time.
    await this.#channels.look(this.#queues).catch(() => undefined);
  }

  async #lookAtOutbox(queue: string): Promise<void> {
    const { store, place } = this.#ledger;
    const prefix = [place.scope, queue];
    const now = this.#ledger.now();
    const rows = await store.scan(outbox, { prefix, below: now + 1, limit: AT_ONCE });
    if (this.#isClosed) return;
    const isHurried = this.#hurry.has(queue);
    const left = rows.filter(
      (row) =>
        !this.#underWay.has(keyOf(row)) && (isHurried || now - Math.max(row.round, row.lane) >= STALE_MS),
    );
    if (rows.length < AT_ONCE) this.#hurry.delete(queue);
    this.#ship(left, []);
    // In a shared store, the host that has delayed a message sends it in time.
    if (place.shared) return;
    const [next] = await store.scan(outbox, { prefix, after: now, limit: 1 });
    if (next !== undefined) this.#lookAt(next.lane);
  }

  // ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Delivers and sends nothing more, and does not wait for the broker, which may be away: messages in flight change nothing that matters,
   * since the store has all. The ledger gives back the messages that are not settled.
   */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#cancelLook?.();
    this.#cancelDue?.();
    this.#waiting = [];
    for (const { arrived, waiting, consumption, unwatch } of this.#inboxes.values()) {
      unwatch();
      for (const letter of arrived.splice(0)) letter.nak(0);
      for (const goOn of waiting.splice(0)) goOn();
      void consumption?.of.close();
    }
    for (const letter of this.#inWork.values()) letter.nak(0);
    this.#inWork.clear();
    this.#channels.close();
  }

  /** The execution has ended: its channels are no longer needed. */
  ended(): void {
    this.#channels.end();
    this.close();
  }
}

/** Lane and id of the message that a letter is about. */
function spotIn(queue: string, body: string): Spot | undefined {
  try {
    const [lane, id] = JSON.parse(body) as readonly unknown[];
    return Number.isSafeInteger(lane) && typeof id === "string"
      ? { queue, lane: lane as number, id }
      : undefined;
  } catch {
    return undefined;
  }
}

function byQueue(parcels: readonly Parcel[]): Map<string, Parcel[]> {
  const all = new Map<string, Parcel[]>();
  for (const parcel of parcels) {
    const some = all.get(parcel.queue);
    if (some === undefined) all.set(parcel.queue, [parcel]);
    else some.push(parcel);
  }
  return all;
}
