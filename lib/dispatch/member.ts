// A member of a consumer group, with its live counters: what routing functions choose among.

import { invariant } from "../process/invariant.js";
import type { Kernel } from "../process/kernel.js";
import type { Pid } from "../process/pid.js";

/**
 * Whether a consumer takes more: `accept` it does; `defer` it has as much in flight as it may, and a dispatch that
 * chooses it waits; `reject` its buffer is full, and a dispatch that chooses it fails.
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

export type Tags = Readonly<Record<string, string | number | boolean>>;

/** A consumer as a routing function sees it. The counters are live: read them, they are of this moment. */
export interface ConsumerView {
  readonly id: string;
  readonly pid: Pid;
  /**
   * Envelopes that it has and has not settled: those that wait in its mailbox and those that it works on, also when their
   * dispatch has ended since. 0 once it has exited.
   */
  readonly inFlight: number;
  readonly maxInFlight: number;
  /** Messages waiting in its mailbox. */
  readonly bufferDepth: number;
  readonly maxBuffer: number;
  readonly pressure: Pressure;
  /** Its share of the work, for `weighted` and `leastLoaded`; 0 for none. */
  readonly weight: number;
  readonly tags: Tags;
  /** Envelopes forwarded to it so far. */
  readonly delivered: number;
}

/** How a consumer joins its group. */
export interface JoinOptions {
  /** Names the consumer within the group. Default: the text of its pid. */
  readonly id?: string;
  /** Envelopes it may have in flight; beyond that dispatches wait. Default `Infinity`. */
  readonly maxInFlight?: number;
  /** Messages that may wait in its mailbox; beyond that dispatches to it are rejected. Default `Infinity`. */
  readonly maxBuffer?: number;
  /** Its share of the work, for `weighted` and `leastLoaded`; 0 for none. Default 1. */
  readonly weight?: number;
  /** For predicates. */
  readonly tags?: Tags;
  /**
   * Whether it acknowledges. One that cannot is sent the bare payload, and a dispatch to it counts as delivered when it
   * has not ended within the handoff window. Default true.
   */
  readonly acknowledges?: boolean;
}

/** A dispatch that waits for a consumer to have room, or for any consumer at all. */
export interface WaitingDispatch {
  /** Has it choose again. */
  wake(): void;
}

/** The group of a registration, as far as the slots of its consumers go. */
export interface MemberGroup {
  /** The dispatch that chooses now was offered a slot: those that are kept for others of its kind are free to it. */
  readonly isOffering: boolean;
  /** A consumer has room again. */
  freed(consumer: Member): void;
  /** A consumer has exited. */
  lost(consumer: Member): void;
  touched(kernel: Kernel): void;
}

/** A consumer's place in its group, from join to leave. */
export class Member implements ConsumerView {
  readonly id: string;
  readonly pid: Pid;
  delivered = 0;
  readonly maxInFlight: number;
  readonly maxBuffer: number;
  readonly weight: number;
  readonly tags: Tags;
  readonly acknowledges: boolean;
  /** Slots kept for dispatches that were woken for them, and have yet to choose. */
  reserved = 0;
  private slots = 0;
  private successor: Member | undefined = undefined;
  private readonly group: MemberGroup;

  constructor(pid: Pid, options: Required<JoinOptions>, group: MemberGroup) {
    this.pid = pid;
    this.group = group;
    this.id = options.id;
    this.maxInFlight = options.maxInFlight;
    this.maxBuffer = options.maxBuffer;
    this.weight = options.weight;
    this.tags = options.tags;
    this.acknowledges = options.acknowledges;
  }

  get inFlight(): number {
    return this.pid.process === undefined ? 0 : this.slots;
  }

  /** An envelope is forwarded to it. */
  take(): void {
    this.slots++;
    this.delivered++;
  }

  /** It left and joins again: what it still works on is its load here. */
  takeOverFrom(before: Member): void {
    this.slots = before.inFlight;
    before.successor = this;
  }

  /** One of its envelopes is settled, or taken back. Once for each {@link take}, whatever became of the dispatch. */
  free(kernel: Kernel): void {
    if (this.successor !== undefined) {
      this.successor.free(kernel);
      return;
    }
    invariant(this.slots > 0, "a slot that is freed was taken");
    this.slots--;
    this.group.touched(kernel);
    if (this.pid.process === undefined) this.group.lost(this);
    else this.group.freed(this);
  }

  get bufferDepth(): number {
    return this.pid.process?.depth ?? 0;
  }

  get pressure(): Pressure {
    const depth = this.maxBuffer === Number.POSITIVE_INFINITY ? 0 : this.bufferDepth;
    const kept = this.group.isOffering ? 0 : this.reserved;
    return pressureOf(this.inFlight + kept, this.maxInFlight, depth, this.maxBuffer);
  }
}
