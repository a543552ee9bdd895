// How many trees a spout's task may have under way: no more than the bolts can finish before they expire.
//
// Time is counted in beats, of half a message timeout each: a tree that nobody acks expires with the third beat after its
// emit. So the age of an ack tells what the wait was like, without a look at the clock:
//
//   no beat passed    it took less than half a timeout: half a place more for each such ack, so that room doubles soon
//   one beat passed   it took less than a timeout: one place more for two rounds of such acks
//   two beats passed  it took more than half a timeout: nothing
//
// A tree that expires means congestion when most of what ended in the last timeout ended late or not at all, and when more
// was under way than the tasks can work on at once: else there is no queue, and one tuple got lost. In a congestion the room
// shrinks to what was acked in the last timeout, and by a quarter at least, but not below what keeps every task at work;
// once for all trees that were emitted before. (Additive increase, multiplicative decrease:
// Chiu and Jain, "Analysis of the Increase and Decrease Algorithms for Congestion Avoidance in Computer Networks", 1989.)
//
// It changes in place, for speed, but as a pure machine would: the same calls give the same answers.

/** What is known when there is congestion. */
export interface Congestion {
  /** Trees that were acked in the last message timeout or so. */
  readonly acked: number;
  /** Trees that may be under way from now on. */
  readonly limit: number;
}

/** Beats after its emit with which a tree expires. */
export const LIFE_IN_BEATS = 3;

export class Admission {
  private readonly most: number;
  private room: number;
  /** The last beat that was seen, and what ended in it and in the two before, the latest first. */
  private beat = 0;
  private acks: [number, number, number] = [0, 0, 0];
  private late: [number, number, number] = [0, 0, 0];
  private expired: [number, number, number] = [0, 0, 0];
  /** Of trees that were emitted before this beat, no more is learnt: the room has shrunk since. */
  private since = 0;

  /** @param most - what `maxPending` allows */
  constructor(most: number) {
    this.most = most;
    this.room = most;
  }

  /** Trees that may be under way: a whole number from 1 to `maxPending`. */
  get limit(): number {
    return Math.floor(this.room);
  }

  /** A tree is done. @param born - the beat of its emit @param now - the beat of this moment */
  done(born: number, now: number): void {
    if (now !== this.beat) this.moveOn(now);
    this.acks[0]++;
    const age = now - born;
    if (age >= 2) this.late[0]++;
    else if (this.room < this.most)
      this.room = Math.min(this.most, this.room + (age === 0 ? 1 / 2 : 1 / (2 * this.room)));
  }

  /**
   * A tree has expired. When that shows congestion, there is less room from now on.
   *
   * @param flying - trees that are under way still
   * @param least - trees that the tasks can work on at once
   */
  lost(born: number, now: number, flying: number, least: number): Congestion | undefined {
    if (now !== this.beat) this.moveOn(now);
    const flew = flying + ++this.expired[0];
    if (born < this.since || flew <= least) return undefined;
    const acked = sum(this.acks);
    const bad = sum(this.late) + sum(this.expired);
    if (bad * 2 < acked + sum(this.expired)) return undefined;
    const less = Math.min(Math.floor(Math.min(this.limit, flew) * 0.75), acked);
    this.room = Math.min(this.limit, Math.max(1, least, less));
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
