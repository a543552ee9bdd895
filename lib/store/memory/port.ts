// The connection of a store in memory to a simulator.

import type { Environment } from "../../process/environment.js";

/** Puts a store in memory at a distance: each of its operations takes a step of its own, and may fail. */
export interface MemoryPort {
  /**
   * Runs `effect`, in a step of its own, at most once; then fulfils with its result, in another one. May reject, also when the
   * effect has happened: the store finds out by itself whether it has.
   */
  perform<T>(what: string, effect: () => T): Promise<T>;
  /** Returns a number from 0 to `n` - 1, where 0 is the ordinary outcome; `n` is at least 2. Labels begin with `store:`. */
  choose(n: number, label: string): number;
  /** The current step reads or writes the store. */
  touched(how: "read" | "write"): void;
  /**
   * Tells the machines apart that have the store open. Handles of one machine commit in common groups; those of two share nothing
   * that one of them could take with it when it loses power. Absent: there is one machine.
   */
  machine?(environment: Environment): unknown;
}
