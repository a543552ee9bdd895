// The acker's decisions: which trees of tuples are complete, failed or too old. No process, no clock, no randomness.
//
// A tree is identified by the random id of its root. Its entry is the XOR of all edges that were reported. Each edge is
// reported twice: when it is emitted and when it is acked. So the XOR is zero when every edge is acked, and otherwise with
// a chance of 2^-64 (Toshniwal et al., "Storm @Twitter", SIGMOD 2014). The order of the reports does not matter:
//
//                 track                   XOR is zero ─▶ COMPLETED, gone
//   (nothing) ─────────────────▶ tracked ─ fail ───────▶ FAILED, gone
//       │  ack            track ▲         tick ────────▶ expired, gone
//       ├──────▶ early ─────────┘
//       │           │ fail        track
//       └──────▶ doomed ───────────────────────────────▶ FAILED, gone
//         fail
//
// An entry without a track (early or doomed) expires without an effect: there is no spout to notify. A late report for a
// tree that has ended becomes such an entry. It does not bring the tree back: only a tracked tree completes or fails, and
// the id of a root is tracked once; a retried tuple gets a new one. Even if the id of a root came again with new edges, late
// acks of the first try would only keep the XOR from zero, and the second tree would expire.
//
// A lost ack or fail does no harm either: the edge above it is never settled, so the tree expires and its tuple is retried.
// Therefore early entries may be dropped when the capacity is reached.
//
// Each call is an event, and returns its effect: the end of a tree, if there is one. The table changes in place, for
// speed, but deterministically: the same calls give the same answers.

import { invariant } from "../../process/invariant.js";
import { count } from "../../process/options.js";
import { IdTable, refuseZero } from "./id-table.js";

// How a tree ends.
/** Every edge of the tree is acked. */
export const COMPLETED = 1;
/** A bolt has failed a tuple of the tree. */
export const FAILED = 2;
/** The capacity is reached, or the id of the tree is taken. It is not tracked, and has failed. */
export const REFUSED = 3;
/** The tree was not complete in time. */
export const EXPIRED = 4;
/** A tuple of the tree came back: its task ended before it took the tuple, or does not run. */
export const RETURNED = 5;
export type TreeOutcome =
  | typeof COMPLETED
  | typeof FAILED
  | typeof REFUSED
  | typeof EXPIRED
  | typeof RETURNED;

/** The one effect of the machine: notify the spout task that the tree has ended. The task is sent this very object. */
export class TreeEnd {
  readonly outcome: TreeOutcome;
  readonly hi: number;
  readonly lo: number;
  /** The number by which the machine knows the spout task. */
  readonly spout: number;

  constructor(outcome: TreeOutcome, hi: number, lo: number, spout: number) {
    this.outcome = outcome;
    this.hi = hi;
    this.lo = lo;
    this.spout = spout;
  }
}

// States of an entry. A new entry has neither: it is early.
const DOOMED = 1;
const TRACKED = 2;

export interface AckerMachineOptions {
  /**
   * Entries at the same time, tracked or not; a whole number, 1 or more. Entries without a track get at most half of it.
   * So with twice the number of trees that may be pending, no track is ever refused.
   */
  readonly capacity: number;
}

/**
 * The trees of one acker task. Ids and XORs are 64-bit numbers, given as two 32-bit integers and returned as two signed
 * ones.
 */
export class AckerMachine {
  private most = 0;
  private mostUntracked = 0;
  private untracked = 0;
  // The buckets. An entry is made in the youngest, and moves back to it when it is tracked.
  private young = new IdTable();
  private middle = new IdTable();
  private old = new IdTable();
  /** The bucket in which `find` found its entry. */
  private table: IdTable = this.young;

  /** @throws OptionError if the capacity is not a whole number of at least 1 */
  constructor({ capacity }: AckerMachineOptions) {
    this.capacity = capacity;
  }

  /** The most entries. A lower capacity removes no entry; it refuses new ones. @throws OptionError */
  set capacity(capacity: number) {
    this.most = count("capacity", capacity, 1);
    this.mostUntracked = Math.ceil(capacity / 2);
  }

  /** Entries, tracked or not. */
  get size(): number {
    return this.young.size + this.middle.size + this.old.size;
  }

  /** Whether the spout of this tree waits for its end. */
  tracks(hi: number, lo: number): boolean {
    const entry = this.find(hi, lo);
    return entry >= 0 && this.table.state(entry) === TRACKED;
  }

  /** Trees whose spouts wait for their ends. */
  get tracked(): number {
    return this.size - this.untracked;
  }

  /** Bytes of memory for the entries. */
  get bytes(): number {
    return this.young.bytes + this.middle.bytes + this.old.bytes;
  }

  /**
   * The spout task has emitted a root with this XOR of its edges. A tree without edges is complete at once. An id that is
   * already tracked is refused, and its tree goes on.
   *
   * @throws OptionError if the id is zero
   */
  track(hi: number, lo: number, xorHi: number, xorLo: number, spout: number): TreeEnd | undefined {
    const found = this.find(hi, lo);
    if (found >= 0) return this.adopt(found, hi, lo, xorHi, xorLo, spout);
    if ((xorHi | xorLo) === 0) return new TreeEnd(COMPLETED, hi, lo, spout);
    if (this.size >= this.most) return new TreeEnd(REFUSED, hi, lo, spout);
    const { young } = this;
    const entry = young.add(hi, lo);
    young.mix(entry, xorHi, xorLo);
    young.setOwner(entry, spout);
    young.setState(entry, TRACKED);
    return undefined;
  }

  /**
   * A bolt has acked a tuple of the tree. The XOR is that of the tuple's edge and the edges of all tuples anchored to it.
   *
   * @throws OptionError if the id is zero
   */
  ack(hi: number, lo: number, xorHi: number, xorLo: number): TreeEnd | undefined {
    const found = this.find(hi, lo);
    if (found < 0) {
      const entry = this.begin(hi, lo);
      if (entry >= 0) this.young.mix(entry, xorHi, xorLo);
      return undefined;
    }
    const { table } = this;
    if (!table.mix(found, xorHi, xorLo) || table.state(found) !== TRACKED) return undefined;
    return this.end(found, COMPLETED, hi, lo);
  }

  /**
   * A tuple of the tree has failed. @param outcome - RETURNED when no bolt had taken the tuple
   *
   * @throws OptionError if the id is zero
   */
  fail(hi: number, lo: number, outcome: typeof FAILED | typeof RETURNED = FAILED): TreeEnd | undefined {
    const found = this.find(hi, lo);
    if (found < 0) {
      const entry = this.begin(hi, lo);
      if (entry >= 0) this.young.setState(entry, DOOMED);
      return undefined;
    }
    if (this.table.state(found) === TRACKED) return this.end(found, outcome, hi, lo);
    this.table.setState(found, DOOMED);
    return undefined;
  }

  /** A bolt works on the tree for long: the tree lives from now on as long as a tree that is tracked now. */
  extend(hi: number, lo: number): void {
    const entry = this.find(hi, lo);
    const { table, young } = this;
    if (entry < 0 || table === young || table.state(entry) !== TRACKED) return;
    const xorHi = table.xorHi(entry);
    const xorLo = table.xorLo(entry);
    const owner = table.owner(entry);
    table.remove(entry);
    const moved = young.add(hi, lo);
    young.mix(moved, xorHi, xorLo);
    young.setOwner(moved, owner);
    young.setState(moved, TRACKED);
  }

  /**
   * Half a timeout has passed. The entries of the oldest bucket go, and those of them that were tracked have expired. As
   * there are three buckets, an entry lives through two ticks and goes with the third: between one timeout and one and a
   * half after it was made or, if that was later, tracked.
   */
  tick(): readonly TreeEnd[] {
    const gone = this.old;
    this.old = this.middle;
    this.middle = this.young;
    // A new table gives back the memory of a busy hour.
    this.young = new IdTable();
    const ends: TreeEnd[] = [];
    gone.forEach((entry) => {
      if (gone.state(entry) === TRACKED)
        ends.push(new TreeEnd(EXPIRED, gone.hi(entry), gone.lo(entry), gone.owner(entry)));
    });
    this.untracked -= gone.size - ends.length;
    invariant(this.untracked >= 0 && this.untracked <= this.size, "untracked entries are among all entries");
    return ends;
  }

  /** The spout task has ended: the machine forgets its trees, and returns their ids in pairs of halves. */
  spoutGone(spout: number): readonly number[] {
    const ids: number[] = [];
    for (const table of [this.young, this.middle, this.old]) {
      const first = ids.length;
      table.forEach((entry) => {
        if (table.state(entry) === TRACKED && table.owner(entry) === spout)
          ids.push(table.hi(entry), table.lo(entry));
      });
      for (let i = first; i < ids.length; i += 2)
        table.remove(table.find(ids[i] as number, ids[i + 1] as number));
    }
    return ids;
  }

  /** The entry of the id in `this.table`, or -1. @throws OptionError if the id is zero */
  private find(hi: number, lo: number): number {
    this.table = this.young;
    let entry = this.young.find(hi, lo);
    if (entry >= 0) return entry;
    this.table = this.middle;
    entry = this.middle.find(hi, lo);
    if (entry >= 0) return entry;
    this.table = this.old;
    entry = this.old.find(hi, lo);
    if (entry < 0) refuseZero(hi, lo);
    return entry;
  }

  /** Makes an early entry in the youngest bucket. -1 when the capacity is reached. */
  private begin(hi: number, lo: number): number {
    if (this.untracked >= this.mostUntracked || this.size >= this.most) return -1;
    const entry = this.young.add(hi, lo);
    this.untracked++;
    return entry;
  }

  /** Handles a track for an id that has an entry. */
  private adopt(
    entry: number,
    hi: number,
    lo: number,
    xorHi: number,
    xorLo: number,
    spout: number,
  ): TreeEnd | undefined {
    const { table, young } = this;
    const state = table.state(entry);
    if (state === TRACKED) return new TreeEnd(REFUSED, hi, lo, spout);
    const complete = table.mix(entry, xorHi, xorLo);
    const mixedHi = table.xorHi(entry);
    const mixedLo = table.xorLo(entry);
    table.remove(entry);
    this.untracked--;
    if (state === DOOMED) return new TreeEnd(FAILED, hi, lo, spout);
    if (complete) return new TreeEnd(COMPLETED, hi, lo, spout);
    // The tree lives from here on as long as one that was tracked first.
    const moved = young.add(hi, lo);
    young.mix(moved, mixedHi, mixedLo);
    young.setOwner(moved, spout);
    young.setState(moved, TRACKED);
    return undefined;
  }

  /** Ends the tracked tree of an entry of `this.table`. */
  private end(entry: number, outcome: TreeOutcome, hi: number, lo: number): TreeEnd {
    const end = new TreeEnd(outcome, hi, lo, this.table.owner(entry));
    this.table.remove(entry);
    return end;
  }
}
