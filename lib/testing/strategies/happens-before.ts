// The happens-before order of one schedule, by vector clocks: Mattern, "Virtual Time and Global States of Distributed Systems",
// 1989. Two steps race if they depend on each other and nothing between orders them: then they can run in the other order.

import { type Deed, isCause } from "./dependence.js";

/** For each chain, one more than the last step of the chain that happened before, or is, the step; 0 or absent for none. */
export type Clock = readonly number[];

/** A step's place in the order. */
export interface StepOrder {
  readonly clock: Clock;
  /** Number of its chain. */
  readonly chain: number;
  /** Earlier steps that it races with, the last one first. */
  readonly races: readonly number[];
}

/** The last steps that touched a key. */
interface Touches {
  write: number;
  /** Reads since the last write. */
  reads: number[];
}

interface Entry {
  readonly key: string;
  readonly deed: Deed;
  readonly place: StepOrder;
}

/** The order of the steps of one schedule. A step costs time in proportion to its footprint and to the number of chains. */
export class HappensBefore {
  readonly #steps: Entry[] = [];
  readonly #chains = new Map<string, number>();
  /** The last step of each chain since the last barrier; -1 for none. */
  #last: number[] = [];
  readonly #keys = new Map<string, Touches>();
  #barrier = -1;

  /**
   * Adds the next step.
   *
   * @param key - names its task: the steps of a task have one order
   * @param enabler - the step that made it possible; -1 for the beginning
   * @param isFree - false for a step that only runs when all others have run: it races with none
   */
  add(key: string, deed: Deed, enabler: number, isFree: boolean): StepOrder {
    const index = this.#steps.length;
    const chain = this.#chainOf(deed.chain);
    const candidates = this.#candidates(deed, chain, enabler);
    const causes = new Set([enabler]);
    for (const read of deed.reads) if (isCause(read)) causes.add(this.#keys.get(read)?.write ?? -1);
    const clock: number[] = [];
    const races: number[] = [];
    for (const early of candidates) {
      const { place, key: before } = this.#steps[early] as Entry;
      if ((clock[place.chain] ?? 0) > early) continue;
      if (isFree && before !== key && !causes.has(early)) races.push(early);
      join(clock, place.clock);
    }
    for (let i = clock.length; i <= chain; i++) clock.push(0);
    clock[chain] = index + 1;
    const place = { clock, chain, races };
    this.#steps.push({ key, deed, place });
    this.#enter(deed, chain, index);
    return place;
  }

  /** Whether the earlier step happens before the later one. */
  precedes(early: number, late: number): boolean {
    const { chain } = (this.#steps[early] as Entry).place;
    return ((this.#steps[late] as Entry).place.clock[chain] ?? 0) > early;
  }

  /** Forgets all but the first steps. */
  truncate(length: number): void {
    this.#steps.length = length;
    this.#keys.clear();
    this.#last = [];
    this.#barrier = -1;
    const chains = new Set<number>();
    for (const [index, { deed, place }] of this.#steps.entries()) {
      chains.add(place.chain);
      this.#enter(deed, place.chain, index);
    }
    for (const [name, chain] of this.#chains) if (!chains.has(chain)) this.#chains.delete(name);
  }

  #chainOf(name: string): number {
    const known = this.#chains.get(name);
    if (known !== undefined) return known;
    // Numbers are given in the order of the steps, and taken back in the reverse order.
    const chain = this.#chains.size;
    this.#chains.set(name, chain);
    return chain;
  }

  /** The steps that can be the last ones before it, the latest first. */
  #candidates(deed: Deed, chain: number, enabler: number): readonly number[] {
    const found = new Set<number>([this.#barrier, enabler]);
    if (deed.barrier) for (const step of this.#last) found.add(step);
    else {
      found.add(this.#last[chain] ?? -1);
      for (const key of deed.reads) found.add(this.#keys.get(key)?.write ?? -1);
      for (const key of deed.writes) {
        const touches = this.#keys.get(key);
        if (touches === undefined) continue;
        found.add(touches.write);
        for (const read of touches.reads) found.add(read);
      }
    }
    found.delete(-1);
    return [...found].sort((a, b) => b - a);
  }

  #enter(deed: Deed, chain: number, index: number): void {
    if (deed.barrier) {
      this.#barrier = index;
      this.#last = [];
      this.#keys.clear();
      return;
    }
    for (let i = this.#last.length; i <= chain; i++) this.#last.push(-1);
    this.#last[chain] = index;
    for (const key of deed.writes) this.#keys.set(key, { write: index, reads: [] });
    for (const key of deed.reads) {
      if (deed.writes.has(key)) continue;
      const touches = this.#keys.get(key);
      if (touches === undefined) this.#keys.set(key, { write: -1, reads: [index] });
      else touches.reads.push(index);
    }
  }
}

function join(clock: number[], other: Clock): void {
  for (let chain = 0; chain < other.length; chain++) {
    const time = other[chain] as number;
    if (chain >= clock.length) clock.push(time);
    else if (time > (clock[chain] as number)) clock[chain] = time;
  }
}
