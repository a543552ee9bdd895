// What the tasks of a topology tell each other, besides tuples.

import type { Incarnation } from "./task-slots.js";

export const TRACK = 0;
export const ACK = 1;
export const FAIL = 2;
export const RETURN = 3;
export const EXTEND = 4;
export type AckerKind = typeof TRACK | typeof ACK | typeof FAIL | typeof RETURN | typeof EXTEND;

/** To an acker: a tree has begun, a tuple of it is done, has failed, came back untaken, or takes longer. Ids and XORs are pairs of 32-bit integers. */
export class AckerMessage {
  readonly kind: AckerKind;
  readonly hi: number;
  readonly lo: number;
  readonly xorHi: number;
  readonly xorLo: number;
  /** Of a track: the spout's process. */
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
 * To any task: `activate` and `deactivate` at the start, the end and around a pause; `go`: there may be something to do
 * for a spout; `tick`: a period has passed; `flush`: no more will come, settle what is held back.
 */
export type Order = "activate" | "deactivate" | "go" | "tick" | "flush";
