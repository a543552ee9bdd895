// The acker's decisions: which trees of tuples are complete, failed or too old. No process, no clock, no randomness.
//
// A tree is known by the random id of its root. Its entry is the XOR of all edges that were told of: each is told twice,
// once where it was emitted and once where it was acked, so the XOR is zero when, and but for a chance of 2^-64 only
// when, every edge is acked (Toshniwal et al., "Storm @Twitter", SIGMOD 2014). XOR knows no order, and neither do we:
//
//                 track                   XOR is zero ─▶ COMPLETED, gone
//   (nothing) ─────────────────▶ tracked ─ fail ───────▶ FAILED, gone
//       │  ack            track ▲         tick ────────▶ expired, gone
//       ├──────▶ early ─────────┘
//       │           │ fail        track
//       └──────▶ doomed ───────────────────────────────▶ FAILED, gone
//         fail
//
// An entry that nobody tracked (early or doomed) goes by itself, in silence: it has no spout that could be told. What
// comes late, for a tree that has ended, becomes such an entry. It does not bring the tree back: only a track completes
// or fails anything, and the id of a root is tracked once; a tuple that is replayed gets a new one. Even if a root's id
// came again with new edges, late acks of the first try would only keep the XOR from zero, and the second would expire.
//
// To lose an ack or a fail is as safe: the edge above it is never settled, so the tree ends by expiry and is replayed.
// This is why early entries may be dropped when there is no room.
//
// It changes in place, for speed, but as a pure machine would: the same calls give the same answers.

import { count } from "../../process/options.js";
import { IdTable, refuseZero } from "./id-table.js";

/** Nothing is to be told to anybody. */
export const PENDING = 0;
/** Every edge of the tree is acked: its spout is to be told. */
export const COMPLETED = 1;
/** The tree has failed: its spout is to be told. */
export const FAILED = 2;
/** There is no room for the tree, or its id is taken. It is not tracked; its spout is to be told that it failed. */
export const REFUSED = 3;

/** What a message made of its tree. On anything but {@link PENDING} the spout to tell is {@link AckerMachine.spout}. */
export type Verdict = typeof PENDING | typeof COMPLETED | typeof FAILED | typeof REFUSED;

// States of an entry. One that is new is neither: early.
const DOOMED = 1;
const TRACKED = 2;

export interface AckerMachineOptions {
  /**
   * Entries kept at the same time, tracked or not; a whole number, 1 or more. Those that nobody tracked get half of it
   * at most, so that with twice the number of trees that may be pending, none is ever refused.
   */
  readonly capacity: number;
}

/**
 * Keeps account of the trees of one acker task. All ids and XORs are 64-bit numbers given as two 32-bit integers, and
 * come back as signed ones.
 */
export class AckerMachine {
  /** The spout task of the last verdict other than {@link PENDING}. */
  spout = 0;
  private room = 0;
  private mostUntracked = 0;
  private untracked = 0;
  // The buckets. An entry is made in the youngest, and moves back to it when it is tracked.
  private young = new IdTable();
  private middle = new IdTable();
  private old = new IdTable();
  /** The one where `find` found its slot. */
  private table: IdTable = this.young;

  /** @throws OptionError if the capacity is no whole number of at least 1 */
  constructor({ capacity }: AckerMachineOptions) {
    this.capacity = capacity;
  }

  /** What there is room for. Made less, nothing is thrown out: it takes in less from then on. @throws OptionError */
  set capacity(capacity: number) {
    this.room = count("capacity", capacity, 1);
    this.mostUntracked = Math.ceil(capacity / 2);
  }

  /** Entries, tracked or not. */
  get size(): number {
    return this.young.size + this.middle.size + this.old.size;
  }

  /** Whether the spout of this tree waits for a verdict. */
  tracks(hi: number, lo: number): boolean {
    const slot = this.find(hi, lo);
    return slot >= 0 && this.table.state(slot) === TRACKED;
  }

  /** Trees whose spouts wait for a verdict. */
  get tracked(): number {
    return this.size - this.untracked;
  }

  /** Memory of the entries. */
  get bytes(): number {
    return this.young.bytes + this.middle.bytes + this.old.bytes;
  }

  /**
   * The spout task has emitted a root, with this XOR of its edges. A tree without edges is complete at once. An id that
   * is tracked already is refused, and the tree that has it goes on.
   *
   * @throws OptionError if the id is zero
   */
  track(hi: number, lo: number, xorHi: number, xorLo: number, spout: number): Verdict {
    const found = this.find(hi, lo);
    if (found >= 0) return this.adopt(found, hi, lo, xorHi, xorLo, spout);
    if ((xorHi | xorLo) === 0) return this.told(COMPLETED, spout);
    if (this.size >= this.room) return this.told(REFUSED, spout);
    const { young } = this;
    const slot = young.add(hi, lo);
    young.mix(slot, xorHi, xorLo);
    young.setOwner(slot, spout);
    young.setState(slot, TRACKED);
    return PENDING;
  }

  /**
   * A bolt has acked a tuple of the tree. The XOR is that of the tuple's edge with all edges that were emitted anchored
   * to it.
   *
   * @throws OptionError if the id is zero
   */
  ack(hi: number, lo: number, xorHi: number, xorLo: number): Verdict {
    const found = this.find(hi, lo);
    if (found < 0) {
      const slot = this.begin(hi, lo);
      if (slot >= 0) this.young.mix(slot, xorHi, xorLo);
      return PENDING;
    }
    const { table } = this;
    if (!table.mix(found, xorHi, xorLo) || table.state(found) !== TRACKED) return PENDING;
    return this.end(found, COMPLETED);
  }

  /** A bolt has failed a tuple of the tree. @throws OptionError if the id is zero */
  fail(hi: number, lo: number): Verdict {
    const found = this.find(hi, lo);
    if (found < 0) {
      const slot = this.begin(hi, lo);
      if (slot >= 0) this.young.setState(slot, DOOMED);
      return PENDING;
    }
    if (this.table.state(found) === TRACKED) return this.end(found, FAILED);
    this.table.setState(found, DOOMED);
    return PENDING;
  }

  /** Somebody works on the tree, and takes long: it lives from now on as long as one that is tracked now. */
  extend(hi: number, lo: number): void {
    const slot = this.find(hi, lo);
    const { table, young } = this;
    if (slot < 0 || table === young || table.state(slot) !== TRACKED) return;
    const xorHi = table.xorHi(slot);
    const xorLo = table.xorLo(slot);
    const owner = table.owner(slot);
    table.remove(slot);
    const moved = young.add(hi, lo);
    young.mix(moved, xorHi, xorLo);
    young.setOwner(moved, owner);
    young.setState(moved, TRACKED);
  }

  /**
   * Half a timeout has passed. The entries of the oldest bucket go, and `expired` is called for each that was tracked.
   * As there are three buckets, an entry lives through two ticks and goes with the third: between one timeout and one
   * and a half after it was made or, if that was later, tracked.
   */
  tick(expired: (hi: number, lo: number, spout: number) => void): void {
    const gone = this.old;
    this.old = this.middle;
    this.middle = this.young;
    // A new table gives back the memory of a busy hour; and `expired` may call this machine.
    this.young = new IdTable();
    const tracked: number[] = [];
    gone.forEach((slot) => {
      if (gone.state(slot) === TRACKED) tracked.push(slot);
    });
    this.untracked -= gone.size - tracked.length;
    for (const slot of tracked) expired(gone.hi(slot), gone.lo(slot), gone.owner(slot));
  }

  /**
   * The spout task has died: nobody is left to be told of its trees, and they are forgotten. `dropped` is called for
   * each.
   */
  spoutGone(spout: number, dropped?: (hi: number, lo: number) => void): void {
    const ids: number[] = [];
    for (const table of [this.young, this.middle, this.old]) {
      const first = ids.length;
      table.forEach((slot) => {
        if (table.state(slot) === TRACKED && table.owner(slot) === spout)
          ids.push(table.hi(slot), table.lo(slot));
      });
      for (let i = first; i < ids.length; i += 2)
        table.remove(table.find(ids[i] as number, ids[i + 1] as number));
    }
    for (let i = 0; i < ids.length; i += 2) dropped?.(ids[i] as number, ids[i + 1] as number);
  }

  /** The slot of the id in `this.table`, or -1. @throws OptionError if the id is zero */
  private find(hi: number, lo: number): number {
    this.table = this.young;
    let slot = this.young.find(hi, lo);
    if (slot >= 0) return slot;
    this.table = this.middle;
    slot = this.middle.find(hi, lo);
    if (slot >= 0) return slot;
    this.table = this.old;
    slot = this.old.find(hi, lo);
    if (slot < 0) refuseZero(hi, lo);
    return slot;
  }

  /** Begins an early entry in the youngest bucket, or gives -1 when there is no room. */
  private begin(hi: number, lo: number): number {
    if (this.untracked >= this.mostUntracked || this.size >= this.room) return -1;
    const slot = this.young.add(hi, lo);
    this.untracked++;
    return slot;
  }

  /** A track for an id that has an entry. */
  private adopt(slot: number, hi: number, lo: number, xorHi: number, xorLo: number, spout: number): Verdict {
    const { table, young } = this;
    const state = table.state(slot);
    if (state === TRACKED) return this.told(REFUSED, spout);
    const complete = table.mix(slot, xorHi, xorLo);
    const mixedHi = table.xorHi(slot);
    const mixedLo = table.xorLo(slot);
    table.remove(slot);
    this.untracked--;
    if (state === DOOMED) return this.told(FAILED, spout);
    if (complete) return this.told(COMPLETED, spout);
    // It lives from here on as long as one that was tracked first.
    const moved = young.add(hi, lo);
    young.mix(moved, mixedHi, mixedLo);
    young.setOwner(moved, spout);
    young.setState(moved, TRACKED);
    return PENDING;
  }

  /** Ends the tracked tree of a slot of `this.table`. */
  private end(slot: number, verdict: Verdict): Verdict {
    const spout = this.table.owner(slot);
    this.table.remove(slot);
    return this.told(verdict, spout);
  }

  private told(verdict: Verdict, spout: number): Verdict {
    this.spout = spout;
    return verdict;
  }
}
