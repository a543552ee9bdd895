// A member of a consumer group, with its live counters: what routing functions choose among.

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
  /** Envelopes forwarded to it and not yet settled. */
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
   * has not ended within the hand-off window. Default true.
   */
  readonly acknowledges?: boolean;
}

/** Someone who waits for a consumer to have room, or for any consumer at all. */
export interface Waiter {
  /** Number of the last vacancy that it was told of. */
  readonly wokenBy: number;
  /** It has waited before, in effect: it goes ahead of those that have not. */
  readonly urgent: boolean;
  /** Tells of a vacancy, at `consumer` or anywhere. False when there is nobody any more to tell. */
  wake(vacancy: number, consumer: Registration | undefined): boolean;
}

/** A consumer's place in its group, from join to leave. */
export class Registration implements ConsumerView {
  readonly id: string;
  readonly pid: Pid;
  inFlight = 0;
  delivered = 0;
  readonly maxInFlight: number;
  readonly maxBuffer: number;
  readonly weight: number;
  readonly tags: Tags;
  readonly acknowledges: boolean;
  /** Dispatches that have chosen this consumer and wait for it to have room. */
  readonly waiters: Set<Waiter> = new Set();

  constructor(pid: Pid, options: Required<JoinOptions>) {
    this.pid = pid;
    this.id = options.id;
    this.maxInFlight = options.maxInFlight;
    this.maxBuffer = options.maxBuffer;
    this.weight = options.weight;
    this.tags = options.tags;
    this.acknowledges = options.acknowledges;
  }

  get bufferDepth(): number {
    return this.pid.process?.depth ?? 0;
  }

  get pressure(): Pressure {
    const depth = this.maxBuffer === Number.POSITIVE_INFINITY ? 0 : this.bufferDepth;
    return pressureOf(this.inFlight, this.maxInFlight, depth, this.maxBuffer);
  }
}
