// A hash table from 64-bit ids to a few 32-bit integers, in one typed array. No id costs an allocation.
//
// Open addressing with linear probing. A removal shifts the rest of its run back by one (Knuth, "The Art of Computer
// Programming", volume 3, section 6.4, algorithm R), so that no tombstones accumulate and a lookup that fails ends soon.

import { OptionError } from "../../process/errors.js";

// An entry is the place of an id's first integer in `cells`; its fields follow. Eight integers: two entries a cache line.
const HI = 0;
const LO = 1;
const XOR_HI = 2;
const XOR_LO = 3;
const OWNER = 4;
const STATE = 5;
const STRIDE_BITS = 3;
const STRIDE = 1 << STRIDE_BITS;

/** The places of a new table, and the fewest of any table. */
const LEAST_PLACES = 16;
const LEAST_LENGTH = LEAST_PLACES << STRIDE_BITS;

/** Where the search for an id begins. Ids need not be random: small and consecutive ones are spread, too. */
function home(hi: number, lo: number, mask: number): number {
  const mixed = Math.imul(hi ^ Math.imul(lo, 0x9e37_79b1), 0x85eb_ca6b);
  return ((mixed ^ (mixed >>> 15)) << STRIDE_BITS) & mask;
}

/**
 * Has three fields for each id, zero at first: the XOR of all numbers that were mixed in, an owner and a state. An id is two
 * 32-bit integers, signed or not, that are not both zero. They are returned as signed ones.
 *
 * An entry stays valid until the next `add` or `remove`. Memory is bounded by the number of ids: at most eight places of 32
 * bytes for each id, or sixteen places in all.
 */
export class IdTable {
  private cells: Int32Array = new Int32Array(LEAST_LENGTH);
  /** Turns any number into an entry: the length is a power of two, and the lowest bits are those of the fields. */
  private mask: number = LEAST_LENGTH - STRIDE;
  private ids = 0;

  /** The number of ids. */
  get size(): number {
    return this.ids;
  }

  /** Memory of the cells. */
  get bytes(): number {
    return this.cells.byteLength;
  }

  /** The entry of the id, or -1. Zero is in no table. */
  find(hi: number, lo: number): number {
    const { cells, mask } = this;
    const high = hi | 0;
    const low = lo | 0;
    for (let entry = home(high, low, mask); ; entry = (entry + STRIDE) & mask) {
      const hiThere = cells[entry + HI] as number;
      const loThere = cells[entry + LO] as number;
      if ((hiThere | loThere) === 0) return -1;
      if (hiThere === high && loThere === low) return entry;
    }
  }

  /** The entry of the id, which is added if it is missing. @throws OptionError if the id is zero */
  add(hi: number, lo: number): number {
    const found = this.find(hi, lo);
    if (found >= 0) return found;
    refuseZero(hi, lo);
    // At most three places of four are taken: beyond that, runs get long.
    if (((this.ids + 1) << STRIDE_BITS) * 4 > this.cells.length * 3) this.resize(this.cells.length * 2);
    this.ids++;
    const entry = vacancy(this.cells, this.mask, hi | 0, lo | 0);
    this.cells[entry + HI] = hi;
    this.cells[entry + LO] = lo;
    return entry;
  }

  /** Removes the id of an entry. */
  remove(entry: number): void {
    const { cells, mask } = this;
    let hole = entry;
    for (let next = (hole + STRIDE) & mask; !isFree(cells, next); next = (next + STRIDE) & mask) {
      // An id may go back to the hole unless that is before its home, where no search would look for it.
      const begin = home(cells[next + HI] as number, cells[next + LO] as number, mask);
      if (((next - begin) & mask) < ((next - hole) & mask)) continue;
      copy(cells, next, cells, hole);
      hole = next;
    }
    cells[hole + HI] = 0;
    cells[hole + LO] = 0;
    cells[hole + XOR_HI] = 0;
    cells[hole + XOR_LO] = 0;
    cells[hole + OWNER] = 0;
    cells[hole + STATE] = 0;
    this.ids--;
    if (cells.length > LEAST_LENGTH && (this.ids << STRIDE_BITS) * 8 < cells.length) {
      this.resize(cells.length / 2);
    }
  }

  /**
   * Calls `visit` with each entry. The order is arbitrary, but the same after the same calls. `visit` must not add or remove
   * ids.
   */
  forEach(visit: (entry: number) => void): void {
    const { cells } = this;
    for (let entry = 0; entry < cells.length; entry += STRIDE) if (!isFree(cells, entry)) visit(entry);
  }

  hi(entry: number): number {
    return this.cells[entry + HI] as number;
  }

  lo(entry: number): number {
    return this.cells[entry + LO] as number;
  }

  /** XORs a 64-bit number into that of the entry. True if it is zero now. */
  mix(entry: number, hi: number, lo: number): boolean {
    const { cells } = this;
    const high = (cells[entry + XOR_HI] as number) ^ hi;
    const low = (cells[entry + XOR_LO] as number) ^ lo;
    cells[entry + XOR_HI] = high;
    cells[entry + XOR_LO] = low;
    return (high | low) === 0;
  }

  xorHi(entry: number): number {
    return this.cells[entry + XOR_HI] as number;
  }

  xorLo(entry: number): number {
    return this.cells[entry + XOR_LO] as number;
  }

  owner(entry: number): number {
    return this.cells[entry + OWNER] as number;
  }

  setOwner(entry: number, owner: number): void {
    this.cells[entry + OWNER] = owner;
  }

  state(entry: number): number {
    return this.cells[entry + STATE] as number;
  }

  setState(entry: number, state: number): void {
    this.cells[entry + STATE] = state;
  }

  private resize(length: number): void {
    const before = this.cells;
    const cells = new Int32Array(length);
    const mask = length - STRIDE;
    this.forEach((entry) => {
      copy(
        before,
        entry,
        cells,
        vacancy(cells, mask, before[entry + HI] as number, before[entry + LO] as number),
      );
    });
    this.cells = cells;
    this.mask = mask;
  }
}

/** Zero marks a free place, so it is no id. @throws OptionError */
export function refuseZero(hi: number, lo: number): void {
  if ((hi | lo) === 0) throw new OptionError("id", 0, "a 64-bit number other than zero");
}

function isFree(cells: Int32Array, entry: number): boolean {
  return ((cells[entry + HI] as number) | (cells[entry + LO] as number)) === 0;
}

/** The first free place for an id that is not in the table. */
function vacancy(cells: Int32Array, mask: number, hi: number, lo: number): number {
  let entry = home(hi, lo, mask);
  while (!isFree(cells, entry)) entry = (entry + STRIDE) & mask;
  return entry;
}

function copy(from: Int32Array, source: number, to: Int32Array, target: number): void {
  to[target + HI] = from[source + HI] as number;
  to[target + LO] = from[source + LO] as number;
  to[target + XOR_HI] = from[source + XOR_HI] as number;
  to[target + XOR_LO] = from[source + XOR_LO] as number;
  to[target + OWNER] = from[source + OWNER] as number;
  to[target + STATE] = from[source + STATE] as number;
}
