// How many trees of a spout's task may be in flight: no more than the bolts can finish before the trees expire.
//
// Time is counted in beats of half a message timeout. A tree that is not acked expires with the third beat after its emit.
// So the age of an ack in beats shows how long the tree waited, without a look at the clock:
//
//   no beat passed    less than half a timeout: each such ack adds half a tree to the limit, so that the limit soon doubles
//   one beat passed   less than a timeout: two rounds of such acks add one tree to the limit
//   two beats passed  more than half a timeout: the limit stays
//
// An expired tree is a sign of congestion under two conditions. Most trees that ended in the last timeout ended late or
// expired; and more trees were in flight than the tasks can work on at once, for otherwise there is no queue and a tuple was
// lost. In a congestion the limit falls to the number of trees acked in the last timeout, and by at least a quarter, but not
// below the number that keeps every task busy. It falls once for all trees that were emitted before. (Additive increase, multiplicative decrease:
// Chiu and Jain, "Analysis of the Increase and Decrease Algorithms for Congestion Avoidance in Computer Networks", 1989.)
//
// The state changes in place, for speed, but deterministically: the same calls give the same answers.

/** The figures of a congestion. */
export interface Congestion {
  /** Trees that were acked in about the last message timeout. */
  readonly acked: number;
  /** Trees that may be in flight from now on. */
  readonly limit: number;
}

/** A tree expires with this beat after its emit. */
export const LIFE_IN_BEATS = 3;

export class Admission {
  private readonly most: number;
  private allowed: number;
  /** The last beat, and the ends in it and in the two beats before, the latest first. */
  private beat = 0;
  private acks: [number, number, number] = [0, 0, 0];
  private late: [number, number, number] = [0, 0, 0];
  private expired: [number, number, number] = [0, 0, 0];
  /** Trees that were emitted before this beat count no more: the limit has fallen since. */
  private since = 0;

  /** @param most - `maxPending` */
  constructor(most: number) {
    this.most = most;
    this.allowed = most;
  }

  /** Trees that may be in flight: a whole number from 1 to `maxPending`. */
  get limit(): number {
    return Math.floor(this.allowed);
  }

  /** A tree is done. @param born - the beat of its emit @param now - the beat of this moment */
  done(born: number, now: number): void {
    if (now !== this.beat) this.moveOn(now);
    this.acks[0]++;
    const age = now - born;
    if (age >= 2) this.late[0]++;
    else if (this.allowed < this.most)
      this.allowed = Math.min(this.most, this.allowed + (age === 0 ? 1 / 2 : 1 / (2 * this.allowed)));
  }

  /**
   * A tree has expired. When that is a sign of congestion, the limit falls.
   *
   * @param inFlight - trees that are still in flight
   * @param least - trees that the tasks can work on at once
   */
  lost(born: number, now: number, inFlight: number, least: number): Congestion | undefined {
    if (now !== this.beat) this.moveOn(now);
    const wereInFlight = inFlight + ++this.expired[0];
    if (born < this.since || wereInFlight <= least) return undefined;
    const acked = sum(this.acks);
    const bad = sum(this.late) + sum(this.expired);
    if (bad * 2 < acked + sum(this.expired)) return undefined;
    const less = Math.min(Math.floor(Math.min(this.limit, wereInFlight) * 0.75), acked);
    this.allowed = Math.min(this.limit, Math.max(1, least, less));
    this.since = now;
    return { acked, limit: this.limit };
  }

  private moveOn(now: number): void {
    for (const counts of [this.acks, this.late, this.expired]) {
      const gone = Math.min(LIFE_IN_BEATS, now - this.beat);
      for (let i = 0; i < gone; i++) {
        counts.pop();
        counts.unshift(0);
      }
    }
    this.beat = now;
  }
}

function sum([a, b, c]: readonly [number, number, number]): number {
  return a + b + c;
}
