// A mailbox that is fair to its senders: each has a queue of its own, and the process takes one message from each in turn
// (J. Nagle, "On Packet Switches with Infinite Storage", RFC 970). A process class of its own, so that others pay nothing.
//
// The order of each sender is kept, signals included: a signal waits behind the messages of the process that it is about. Messages
// whose sender is not known, such as those from outside of all processes, count as those of one sender.

import { type MailboxLimits, type ProcessClass, queueing } from "./bound.js";
import {
  ContextMessage,
  InspectionTask,
  isEntry,
  isGone,
  isSpecial,
  SignalEntry,
  TaskEntry,
  type Withdrawable,
} from "./entries.js";
import { MailboxFullError } from "./errors.js";
import { isOutsideBound } from "./inbox.js";
import { only } from "./known-options.js";
import { EMPTY, Ring } from "./mailbox.js";
import { count, oneOf } from "./options.js";
import type { Pid } from "./pid.js";
import type { Process } from "./process.js";
import { Request } from "./request.js";
import { captureSenderContext } from "./sender-context.js";

/** Options of {@link fairMailbox}. */
export interface FairMailboxOptions {
  /** How many messages of one sender may wait, 1 or more. Default `Infinity`. */
  readonly perSender?: number;
  /**
   * What happens to a message of a sender that has as many waiting: see {@link MailboxLimits}. `drop-oldest` drops the oldest of the
   * same sender. Default `reject`.
   */
  readonly overflow?: MailboxLimits["overflow"];
}

/**
 * A mailbox under which a sender that floods the process delays others by no more than its share: the process takes one
 * message of each sender in turn. The messages of one sender keep their order. Messages from outside of all processes, and those
 * of handles without `from`, count as those of one sender.
 *
 * In a function body a receive looks at the senders in turn, too; a selective one may look at a message more than once.
 *
 * @throws OptionError
 * @see J. Nagle, "On Packet Switches with Infinite Storage", RFC 970
 * @example
 * const desk = system.spawn<Job>({ handle: (_ctx, job) => log(job) }, { mailbox: fairMailbox({ perSender: 100 }) });
 */
export function fairMailbox(options: FairMailboxOptions = {}): MailboxLimits {
  only("", options, ["perSender", "overflow"]);
  const { perSender = Number.POSITIVE_INFINITY, overflow = "reject" } = options;
  return {
    capacity: count("perSender", perSender, 1, true),
    overflow: oneOf("overflow", overflow, ["reject", "drop-newest", "drop-oldest", "exit"]),
    [queueing]: fairClass,
  };
}

/** The sender of an entry; undefined for all that are not known. */
function senderOf(process: Process, entry: unknown): Pid | undefined {
  if (!isEntry(entry)) return undefined;
  if (entry instanceof ContextMessage) return entry.from;
  if (entry instanceof Request) return entry.caller;
  if (entry instanceof InspectionTask) return undefined;
  if (entry instanceof TaskEntry) return entry.from ?? process.pid;
  if (!(entry instanceof SignalEntry)) return undefined;
  const { signal } = entry;
  const about = signal.type === "exit" ? signal.from : signal.pid;
  // Messages from other nodes and from outside carry no sender, and signals keep their order with these.
  const isKnown = about.node === process.kernel.node && about !== process.kernel.outside;
  return isKnown ? about : undefined;
}

/** The waiting entries of one sender. */
class Lane {
  readonly ring: Ring = new Ring();
  /** Messages that count toward the bound. */
  messages = 0;
  readonly sender: Pid | undefined;
  constructor(sender: Pid | undefined) {
    this.sender = sender;
  }
}

/** The queue behind the first entry of a fair mailbox. By index, the entries of one sender come after those of another. */
class FairRing extends Ring {
  /** The entries that were put before all others. */
  readonly #front = new Ring();
  readonly #lanes = new Map<Pid | undefined, Lane>();
  /** Every lane that is not empty, the next one first. */
  readonly #turns = new Ring();
  readonly #laneOf: (entry: unknown) => Pid | undefined;
  /** The sender of the first entry, which is not in the ring. */
  readonly #served: () => Pid | undefined;
  /** Where the last look by index ended: a lane, and the index of its first entry. */
  #turn = 0;
  #base = 0;

  constructor(senderOf: (entry: unknown) => Pid | undefined, served: () => Pid | undefined) {
    super();
    this.#laneOf = senderOf;
    this.#served = served;
  }

  /** Messages of a sender that count toward its bound. */
  waiting(sender: Pid | undefined): number {
    return this.#lanes.get(sender)?.messages ?? 0;
  }

  override push(item: unknown): void {
    const sender = this.#laneOf(item);
    let lane = this.#lanes.get(sender);
    if (lane === undefined) {
      lane = new Lane(sender);
      this.#join(lane);
    }
    lane.ring.push(item);
    if (!isOutsideBound(item)) lane.messages++;
    this.size++;
    this.#changed();
  }

  /** A new lane comes last, but before that of the sender whose turn it is now: that one goes to the end with its turn. */
  #join(lane: Lane): void {
    this.#lanes.set(lane.sender, lane);
    const last = this.#turns.size - 1;
    const served = last < 0 ? undefined : (this.#turns.at(last) as Lane);
    const isServed = served !== undefined && served.sender === this.#served();
    if (isServed) this.#turns.removeAt(last);
    this.#turns.push(lane);
    if (isServed) this.#turns.push(served);
  }

  override unshift(item: unknown): void {
    this.#front.unshift(item);
    this.size++;
    this.#changed();
  }

  override shift(): unknown {
    return this.shiftLive();
  }

  override shiftLive(): unknown {
    this.#changed();
    const item = this.#takeFrom(this.#front);
    if (item !== EMPTY) return item;
    while (this.#turns.size > 0) {
      const lane = this.#turns.shift() as Lane;
      const next = this.#takeFrom(lane.ring);
      if (next !== EMPTY && !isOutsideBound(next)) lane.messages--;
      if (lane.ring.size > 0) this.#turns.push(lane);
      else this.#lanes.delete(lane.sender);
      if (next !== EMPTY) return next;
    }
    return EMPTY;
  }

  #takeFrom(ring: Ring): unknown {
    const { size, gone } = ring;
    const item = ring.shiftLive();
    this.size -= size - ring.size;
    this.gone -= gone - ring.gone;
    return item;
  }

  override at(index: number): unknown {
    if (index < this.#front.size) return this.#front.at(index);
    const lane = this.#find(index);
    return lane === undefined ? EMPTY : lane.ring.at(index - this.#base);
  }

  override removeAt(index: number): unknown {
    const lane = index < this.#front.size ? undefined : this.#find(index);
    const ring = lane?.ring ?? this.#front;
    const item = ring.removeAt(lane === undefined ? index : index - this.#base);
    this.size--;
    if (lane !== undefined) {
      if (!isOutsideBound(item) && !isGone(item)) lane.messages--;
      if (lane.ring.size === 0) this.#drop(lane);
    }
    this.#changed();
    return item;
  }

  /** Removes the entry at `index` to be handled: its sender has had its turn. */
  takeAt(index: number): unknown {
    const lane = index < this.#front.size ? undefined : this.#find(index);
    const item = this.removeAt(index);
    if (lane !== undefined && lane.ring.size > 0) this.#toEnd(lane);
    const served = this.#lanes.get(this.#served());
    if (served !== undefined) this.#toEnd(served);
    return item;
  }

  #toEnd(lane: Lane): void {
    this.#turns.removeAt(this.#turnOf(lane));
    this.#turns.push(lane);
    this.#changed();
  }

  override withdrawn(entry: Withdrawable, before: number): number {
    const lane = this.#isInFront(entry) ? undefined : this.#lanes.get(this.#laneOf(entry));
    const ring = lane?.ring ?? this.#front;
    if (lane !== undefined && !isOutsideBound(entry)) lane.messages--;
    const { size } = ring;
    this.gone++;
    ring.withdrawn(entry, 0);
    const cleared = size - ring.size;
    if (cleared === 0) return 0;
    this.size -= cleared;
    this.gone -= cleared;
    if (lane !== undefined && ring.size === 0) this.#drop(lane);
    this.#changed();
    // Looked at again from the start, so that nothing is missed.
    return Math.max(0, before);
  }

  /** The place of the last entry of a sender, or of its oldest message that counts toward the bound. */
  placeOf(sender: Pid | undefined, which: "last" | "oldest"): number {
    const lane = this.#lanes.get(sender);
    if (lane === undefined) return this.size;
    let base = this.#front.size;
    for (let turn = 0; this.#turns.at(turn) !== lane; turn++)
      base += (this.#turns.at(turn) as Lane).ring.size;
    if (which === "last") return base + lane.ring.size - 1;
    let offset = 0;
    for (let item = lane.ring.at(0); isOutsideBound(item) || isGone(item); item = lane.ring.at(offset))
      offset++;
    return base + offset;
  }

  #isInFront(entry: unknown): boolean {
    for (let index = 0; index < this.#front.size; index++) if (this.#front.at(index) === entry) return true;
    return false;
  }

  #turnOf(lane: Lane): number {
    let turn = 0;
    while (this.#turns.at(turn) !== lane) turn++;
    return turn;
  }

  #drop(lane: Lane): void {
    this.#turns.removeAt(this.#turnOf(lane));
    this.#lanes.delete(lane.sender);
  }

  /** Finds the lane of an index behind the front. A look at each entry in turn takes constant time for each. */
  #find(index: number): Lane | undefined {
    if (this.#base < this.#front.size || index < this.#base) {
      this.#turn = 0;
      this.#base = this.#front.size;
    }
    for (; this.#turn < this.#turns.size; this.#turn++) {
      const lane = this.#turns.at(this.#turn) as Lane;
      if (index < this.#base + lane.ring.size) return lane;
      this.#base += lane.ring.size;
    }
    return undefined;
  }

  #changed(): void {
    this.#turn = 0;
    this.#base = this.#front.size;
  }
}

const made = new Map<ProcessClass, ProcessClass>();

/** Makes the class of a process whose mailbox is fair. */
function fairClass(Base: ProcessClass): ProcessClass {
  const known = made.get(Base) ?? fairClassOf(Base as typeof Process);
  made.set(Base, known);
  return known;
}

function fairClassOf(Base: typeof Process): typeof Process {
  return class FairProcess extends Base {
    protected override ring: FairRing = new FairRing(
      (entry) => senderOf(this, entry),
      () => senderOf(this, this.first),
    );

    /** Each message carries its sender, also while a simulator delays it. */
    override deliver(message: unknown, from?: Process): void {
      this.mixed = true;
      const entry = isSpecial(message)
        ? message
        : new ContextMessage(message, captureSenderContext(this.kernel), from?.pid);
      super.deliver(entry, from);
    }

    protected override queueBehind(message: unknown): boolean {
      const bound = this.rare?.mailbox as MailboxLimits;
      const isFull = this.#waitingLike(message) >= bound.capacity;
      if (isFull && !this.makeRoom(message, bound)) return false;
      this.push(message);
      this.measure();
      return true;
    }

    /** Messages that wait and have the sender of this one. */
    #waitingLike(message: unknown): number {
      const sender = senderOf(this, message);
      return this.ring.waiting(sender) + (this.#isFirstOf(sender) ? 1 : 0);
    }

    #isFirstOf(sender: Pid | undefined): boolean {
      return this.first !== EMPTY && !isOutsideBound(this.first) && senderOf(this, this.first) === sender;
    }

    protected override oldest(message: unknown): number {
      const sender = senderOf(this, message);
      return this.#isFirstOf(sender) ? 0 : 1 + this.ring.placeOf(sender, "oldest");
    }

    protected override full(capacity: number): MailboxFullError {
      return new MailboxFullError(this.pid, capacity, " of this sender");
    }

    /** A receive under way looks at what comes before the place up to which it has looked. */
    override push(item: unknown): void {
      super.push(item);
      const { pendingReceive } = this;
      if (pendingReceive === undefined || pendingReceive.scanned < 2) return;
      const place = 1 + this.ring.placeOf(senderOf(this, item), "last");
      pendingReceive.scanned = Math.min(pendingReceive.scanned, place);
    }

    override takeAt(index: number): unknown {
      if (index === 0) return super.takeAt(index);
      const item = this.ring.takeAt(index - 1);
      if (isOutsideBound(item)) (this.rare as { unbounded: number }).unbounded--;
      return item;
    }

    override skim(place: { scanned: number }): unknown {
      return this.peek(place.scanned++);
    }
  };
}
