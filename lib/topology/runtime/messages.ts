// The messages between tasks, besides tuples.

import type { Incarnation } from "./task-slots.js";

export const TRACK = 0;
export const ACK = 1;
export const FAIL = 2;
export const RETURN = 3;
export const EXTEND = 4;
export type AckerKind = typeof TRACK | typeof ACK | typeof FAIL | typeof RETURN | typeof EXTEND;

/**
 * To an acker: a tree was emitted (TRACK); a tuple of it is acked (ACK), has failed (FAIL), came back before a task took it
 * (RETURN), or takes longer (EXTEND). Ids and XORs are pairs of 32-bit integers.
 */
export class AckerMessage {
  readonly kind: AckerKind;
  readonly hi: number;
  readonly lo: number;
  readonly xorHi: number;
  readonly xorLo: number;
  /** With TRACK: the process of the spout. */
  readonly spout: Incarnation | undefined;
  constructor(
    kind: AckerKind,
    hi: number,
    lo: number,
    xorHi: number,
    xorLo: number,
    spout: Incarnation | undefined,
  ) {
    this.kind = kind;
    this.hi = hi;
    this.lo = lo;
    this.xorHi = xorHi;
    this.xorLo = xorLo;
    this.spout = spout;
  }
}

/**
 * To any task. `activate`, `deactivate`: at the start, at the end and around a pause. `go`: a spout may be able to emit, or
 * an acker has to read its capacity again. `tick`: a period has passed. `flush`: settle the tuples that are held.
 */
export type Order = "activate" | "deactivate" | "go" | "tick" | "flush";
