// What a strategy is: the part of the simulator that decides. Everything else carries out and records.

import type { Random } from "../kit/random.js";

/** Something that can happen next: one of these is picked for each step. */
export interface PossibleStep {
  /**
   * `run`: a process takes its next message, or starts. `resume`: code that awaited goes on. `deliver`: a delayed
   * message arrives.
   */
  readonly kind: "run" | "resume" | "deliver";
  /** Number of the process, or below 0 of the pair for a delivery, that it belongs to: the same after the same choices. */
  readonly actor: number;
  /** For the strategy's own use; `undefined` when the task has just become possible. */
  rank: number | undefined;
}

/**
 * What one step read and wrote, as keys: `a3` the state of actor 3, `m3` its mailbox, `n:name` a name, `g:group` a
 * group, anything else what the code under test declared. Two steps with nothing in common but reads can change places.
 */
export interface Footprint {
  readonly reads: ReadonlySet<string>;
  readonly writes: ReadonlySet<string>;
}

/** The decisions of one schedule. */
export interface Chooser {
  /** Index of the task to run next; there are at least two. 0 is the one that became possible first. */
  pick(tasks: readonly PossibleStep[]): number;
  /** A whole number from 0 to `n` - 1, where 0 is what ordinarily happens; `n` is at least 2. */
  draw(n: number, label: string): number;
  /** The step that ran, whether or not there was a choice. The footprint is there for strategies that observe. */
  ran?(task: PossibleStep, footprint: Footprint | undefined): void;
  /** What the strategy found pointless: the schedule is given up, and counts as redundant. */
  readonly redundant?: boolean;
}

/** What is known from the schedules before. */
export interface SearchHistory {
  /** Steps of the longest of the last schedules; 0 before the first. */
  readonly longest: number;
  /** Most actors in one schedule so far. */
  readonly actors: number;
}

/** How schedules are searched. */
export interface SearchStrategy {
  readonly name: string;
  /** Wants the footprints of steps: that costs some speed. */
  readonly observes?: boolean;
  /** Goes through all schedules one by one, the ordinary one among them. */
  readonly enumerates?: boolean;
  /** The chooser of the next schedule; undefined when there is none left: the search was exhaustive. */
  begin(index: number, random: Random, history: SearchHistory): Chooser | undefined;
}
