// The messages of an execution over a broker. The ledger decides; the broker says which host works on which message.
//
//     commit: children, and a row of the outbox for each ──▶ letters of settled messages acknowledged
//                                      └──▶ published ──▶ confirmed ──▶ row of the outbox removed
//     letter ──▶ taken in the ledger, if the message is there and has no holder ──▶ handed out
//
// A letter is no more than a hint: its message is taken in the store, so a letter that comes twice, late, or from before changes nothing.
// A ready message without a holder has a row in the outbox or a letter in the channel; channels.ts looks after letters that the broker loses.

import type { Kernel } from "../../process/kernel.js";
import { outside } from "../../process/origin.js";
import type { Store, Write } from "../../store/index.js";
import type { MessageId } from "../definition/message-id.js";
import { Channels } from "../messages/channels.js";
import { Inbox } from "../messages/inbox.js";
import { MESSAGE_LIMITS } from "../messages/limits.js";
import { byQueue, Outbox, type OutboxRows, type Sendable, Shipment } from "../messages/outbox.js";
import { LedgerChannels } from "./ledger-channels.js";
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

/** A message that is to be sent. Its round is when its row of the outbox was written. */
interface Outgoing extends Spot, Sendable {}

/** How often the outbox is searched for messages that others have left behind, in milliseconds. */
const LOOK_MS = 1_000;
/** A row that is in the outbox for so long was left behind, in milliseconds. */
const STALE_MS = 3_000;
/** A letter of a message that is in work here comes again after this time, in milliseconds. */
const IN_WORK_MS = 10_000;
/** Most messages that are sent at a time. */
const AT_ONCE = 500;
/** Most shipments of a queue at the same time: one need not wait for the answers of the broker and the store to the one before. */
const MOST_SHIPMENTS = 8;
/** Letters ahead, for each message that the host can work on at a time; and the fewest. */
const AHEAD = 2;
const FEWEST = 4;

const keyOf = ({ queue, lane, id }: Spot): string => `${queue} ${lane} ${id}`;
const letterOf = ({ lane, id }: Omit<Spot, "queue">): string => JSON.stringify([lane, id]);

export class LedgerBroker {
  readonly #ledger: LedgerState;
  readonly #kernel: Kernel;
  readonly #channels: Channels;
  readonly #outbox: Outbox<Outgoing>;
  readonly #queues: readonly string[];
  readonly #inboxes = new Map<string, Inbox<Spot>>();
  /** Keys of the messages that are being sent, or wait to be sent. */
  readonly #underWay = new Set<string>();
  /** What is to be sent of each queue, and how many shipments of it are on their way. */
  readonly #outgoing = new Map<string, { waiting: Outgoing[]; shipments: number }>();
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
    this.#kernel = kernel;
    const { queues } = ledger.options;
    this.#queues = queues;
    this.#channels = new Channels(new LedgerChannels(ledger), carrier, kernel);
    this.#outbox = new Outbox(ledger.store, carrier, this.#channels, outgoingRows(ledger));
    const channels = this.#channels;
    for (const queue of queues) {
      const prefetch = Math.max(FEWEST, AHEAD * ledger.inWork(queue));
      const news = (): void => ledger.handOut.news(queue);
      const read = (letter: string): Spot | undefined => spotIn(queue, letter);
      const source = { queue, carrier, channels, prefetch, inWorkMs: IN_WORK_MS, read, news };
      this.#inboxes.set(queue, new Inbox(source));
    }
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

  /** Whether this host has the message, by a letter. */
  has(message: Spot): boolean {
    return this.#inboxes.get(message.queue)?.has(letterOf(message)) === true;
  }

  /** Whether letters of this queue have arrived that were not looked at. */
  hasLetters(queue: string): boolean {
    return this.#inboxes.get(queue)?.isEmpty === false;
  }

  /** Messages whose letters have arrived, and that have no holder. This host holds them from now on. */
  async take(queue: string, count: number): Promise<readonly MessageRow[]> {
    const inbox = this.#inboxes.get(queue);
    return inbox === undefined ? [] : inbox.take(count, (spots) => this.#hold(spots));
  }

  /** The messages among these that this host has now. A store of one process notes nothing: all messages are its. */
  async #hold(spots: readonly Spot[]): Promise<readonly (MessageRow | undefined)[]> {
    const { store, place } = this.#ledger;
    const { scope, claim } = place;
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

  /** A commit has settled or delayed messages, and has made children. Their letters are over, and the children are sent. */
  committed(done: readonly LiveMessage[], children: readonly Spot[], at: number): void {
    for (const message of done) this.#inboxes.get(message.queue)?.settled(letterOf(message));
    const outgoing = children.map((child) => ({ ...child, round: at }));
    const now = this.#ledger.now();
    for (const { lane } of outgoing) if (lane > now) this.#lookAt(lane);
    this.#ship(outgoing.filter(({ lane }) => lane <= now));
  }

  /** This host has lost the message. */
  lost(message: LiveMessage): void {
    this.#inboxes.get(message.queue)?.lost(letterOf(message));
  }

  #ship(outgoing: readonly Outgoing[]): void {
    if (this.#isClosed || outgoing.length === 0) return;
    for (const one of outgoing) this.#underWay.add(keyOf(one));
    // Outside any process: a shipment has messages of several processes, and each of these may end before the broker answers.
    outside(() => {
      for (const [queue, some] of byQueue(outgoing)) {
        this.#of(queue).waiting.push(...some);
        this.#begin(queue);
      }
    });
  }

  #of(queue: string): { waiting: Outgoing[]; shipments: number } {
    let one = this.#outgoing.get(queue);
    if (one === undefined) {
      one = { waiting: [], shipments: 0 };
      this.#outgoing.set(queue, one);
    }
    return one;
  }

  #begin(queue: string): void {
    const of = this.#of(queue);
    if (of.shipments >= MOST_SHIPMENTS || of.waiting.length === 0) return;
    const outgoing = of.waiting.splice(0, AT_ONCE);
    of.shipments++;
    const ended = (): void => {
      for (const one of outgoing) this.#underWay.delete(keyOf(one));
      of.shipments--;
      this.#begin(queue);
      // Messages that are marked now are no longer in the way of the rest.
      if (this.#hurry.size > 0) this.#lookSoon();
    };
    const kernel = this.#kernel;
    new Shipment({
      ...{ outbox: this.#outbox, queue, ended },
      after: (ms, fn) => void kernel.addTimer(ms, { fire: fn }),
      random: () => kernel.env.random(),
      // Once this host is closed, the rest stays in the outbox.
      goesOn: () => !this.#isClosed,
    }).send(outgoing);
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
    this.#channels.look(this.#queues);
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
    this.#ship(left);
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
    this.#outgoing.clear();
    for (const inbox of this.#inboxes.values()) void inbox.close();
    this.#channels.close();
  }

  /** The execution has ended: its channels are no longer needed. */
  ended(): void {
    this.#channels.end();
    this.close();
  }
}

/** The message that a letter is about. Undefined: a stranger has written it. */
function spotIn(queue: string, letter: string): Spot | undefined {
  try {
    const [lane, id] = JSON.parse(letter) as readonly unknown[];
    const spot = { queue, lane: lane as number, id: id as string };
    return Number.isSafeInteger(lane) && typeof id === "string" && letterOf(spot) === letter
      ? spot
      : undefined;
  } catch {
    return undefined;
  }
}

function outgoingRows({ place: { scope, claim } }: LedgerState): OutboxRows<Outgoing> {
  return {
    letter: (spot) => ({ id: `${claim.token}/${spot.id}/${spot.lane}/${spot.round}`, body: letterOf(spot) }),
    marked: ({ queue, lane, id, round }) => {
      const row = { table: outbox, key: [scope, queue, lane, id] };
      return { type: "when", ...row, is: { round }, writes: [{ type: "delete", ...row }] };
    },
    named: (queue, channel) => ({ table: carriedChannels, key: [scope, queue], is: { channel } }),
  };
}
