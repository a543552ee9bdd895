// A member of a consumer group, with its live counters. Routing functions choose among members.

import { invariant } from "../process/invariant.js";
import type { Pid } from "../process/pid.js";
import type { Process } from "../process/process.js";
import type { Access } from "../process/shared-state.js";
import { search } from "../process/shared-state.js";
import type { Flights } from "./flights.js";

/**
 * Whether a consumer takes another envelope.
 *
 * - `accept`: it does.
 * - `defer`: it has `maxInFlight` envelopes in flight. A dispatch that chooses it waits.
 * - `reject`: its buffer is full. A dispatch that chooses it fails.
 */
export type Pressure = "accept" | "defer" | "reject";

/** The rule of pressure. @param bufferDepth - messages waiting in the consumer's mailbox */
export function pressureOf(
  inFlight: number,
  maxInFlight: number,
  bufferDepth: number,
  maxBuffer: number,
): Pressure {
  if (bufferDepth >= maxBuffer) return "reject";
  return inFlight >= maxInFlight ? "defer" : "accept";
}

/** The tags of a consumer: values by name, which predicates compare. */
export type Tags = Readonly<Record<string, string | number | boolean>>;

/** A consumer as a routing function sees it. The counters are live: each read gives the current value. */
export interface ConsumerView {
  /** Names the consumer within its group. */
  readonly id: string;
  /** The process of the consumer. */
  readonly pid: Pid;
  /**
   * Envelopes that the consumer was given and has not settled: those that wait in its mailbox and those that it works on,
   * even if their dispatch has ended meanwhile. 0 once the consumer has exited.
   */
  readonly inFlight: number;
  /** Envelopes that the consumer may have in flight, 1 or more; `Infinity` for no limit. */
  readonly maxInFlight: number;
  /** Messages that wait in the mailbox of the consumer. */
  readonly bufferDepth: number;
  /** Messages that may wait in the mailbox before the consumer rejects, 1 or more; `Infinity` for no limit. */
  readonly maxBuffer: number;
  /** Whether the consumer takes another envelope now. */
  readonly pressure: Pressure;
  /** Share of the work, for `weighted` and `leastLoaded`. A consumer of weight 0 gets none. */
  readonly weight: number;
  /** Values that predicates compare; empty when the consumer joined without tags. */
  readonly tags: Tags;
  /** Envelopes forwarded to the consumer so far. */
  readonly delivered: number;
}

/** Options of `group.join`, and of a {@link consumer} that joins by itself. */
export interface JoinOptions {
  /** Names the consumer within the group. Default: the text of its pid. */
  readonly id?: string;
  /** Envelopes that the consumer may have in flight. Further dispatches to it wait. Default `Infinity`. */
  readonly maxInFlight?: number;
  /** Messages that may wait in its mailbox. Further dispatches to it fail. Default `Infinity`. */
  readonly maxBuffer?: number;
  /** Share of the work, for `weighted` and `leastLoaded`. A consumer of weight 0 gets none. Default 1. */
  readonly weight?: number;
  /** Values that predicates compare (`match.tag(name)`). Default none. */
  readonly tags?: Tags;
  /**
   * Whether the consumer acknowledges. A consumer that cannot is sent the bare payload, and the dispatch counts as delivered
   * when the consumer is still alive at the end of the handoff window (`handoffMs`). Default true.
   */
  readonly acknowledges?: boolean;
}

/** A dispatch that waits for a slot of a consumer, or for any consumer at all. */
export interface WaitingDispatch {
  /** Has the dispatch choose again. */
  wake(): void;
}

/** The group of a member, as far as slots are concerned. */
export interface MemberGroup {
  /** The dispatch that chooses now was offered a slot. To such a dispatch reserved slots count as free. */
  readonly isOffering: boolean;
  /** The consumer has a free slot again. */
  freed(consumer: Member): void;
  /** The consumer has exited. */
  lost(consumer: Member): void;
  /** Notifies an exhaustive search. */
  touched(access: Access): void;
}

/** A consumer in its group, from join to leave. */
export class Member implements ConsumerView {
  readonly id: string;
  readonly pid: Pid;
  readonly maxInFlight: number;
  readonly maxBuffer: number;
  readonly weight: number;
  readonly tags: Tags;
  readonly acknowledges: boolean;
  /** Slots reserved for dispatches that were woken for them and have not chosen yet. The queue counts them. */
  reserved = 0;
  /** The consumer has left the group. The queue writes it. */
  hasLeft = false;
  /** The dispatches in flight here that have no process. The group writes it when its watcher watches the consumer. */
  flights: Flights | undefined = undefined;
  /** The consumer on another node, if `pid` is the process that stands for it here. */
  standsFor: Pid | undefined = undefined;
  /** Told when the consumer's slots are taken or freed, if the group spans nodes. */
  onLoad: (() => void) | undefined = undefined;
  private slots = 0;
  /** Of a consumer on another node: its slots that dispatches of other nodes take. */
  private elsewhere = 0;
  private forwarded = 0;
  private successor: Member | undefined = undefined;
  private readonly group: MemberGroup;
  /** The process of `pid`, alive or not. */
  readonly process: Process;

  constructor(process: Process, options: Required<JoinOptions>, group: MemberGroup) {
    this.pid = process.pid;
    this.process = process;
    this.group = group;
    this.id = options.id;
    this.maxInFlight = options.maxInFlight;
    this.maxBuffer = options.maxBuffer;
    this.weight = options.weight;
    this.tags = options.tags;
    this.acknowledges = options.acknowledges;
  }

  get inFlight(): number {
    if (search.shared !== undefined) this.looked("read");
    return this.process.alive ? this.slots + this.elsewhere : 0;
  }

  /** An envelope is forwarded to the consumer: it takes a slot. */
  take(): void {
    if (search.shared !== undefined) this.group.touched("write");
    this.slots++;
    this.forwarded++;
    this.onLoad?.();
  }

  /** News of the slots that dispatches of other nodes take at the consumer. */
  takenElsewhere(slots: number): void {
    const before = this.elsewhere;
    this.elsewhere = slots;
    for (let freed = before - slots; freed > 0 && this.process.alive; freed--) this.group.freed(this);
  }

  get delivered(): number {
    this.group.touched("read");
    return this.forwarded;
  }

  /** The consumer left and joins again. The envelopes that it still works on take slots here. */
  takeOverFrom(before: Member): void {
    this.slots = before.slots;
    before.successor = this;
  }

  /** One envelope is settled or taken back: its slot is free. Once for each {@link take}, however the dispatch ended. */
  free(): void {
    if (search.shared !== undefined) {
      this.looked("read");
      this.group.touched("write");
    }
    if (this.successor !== undefined) {
      this.successor.free();
      return;
    }
    invariant(this.slots > 0, "a slot that is freed was taken");
    this.slots--;
    this.onLoad?.();
    if (!this.process.alive) this.group.lost(this);
    else this.group.freed(this);
  }

  get bufferDepth(): number {
    if (search.shared !== undefined) {
      this.looked("write");
      search.shared.mailbox(this.pid, "read");
    }
    return this.process.alive ? this.process.depth : 0;
  }

  get pressure(): Pressure {
    const depth = this.maxBuffer === Number.POSITIVE_INFINITY ? 0 : this.bufferDepth;
    const kept = this.group.isOffering ? 0 : this.reserved;
    return pressureOf(this.inFlight + kept, this.maxInFlight, depth, this.maxBuffer);
  }

  /** The result depends on whether the consumer lives. Its own steps change the depth of its mailbox, and only read its life. */
  private looked(access: Access): void {
    search.shared?.process(this.pid, access);
    this.group.touched("read");
  }
}
