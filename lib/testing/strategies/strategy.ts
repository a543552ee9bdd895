// The interface of strategies. A strategy makes all decisions; the rest of the simulator executes and records them.

import type { Random } from "../kit/random.js";
import type { Knowledge } from "./knowledge.js";
import type { FaultRateOptions } from "./swarm.js";

/** A task that can run next. Each step runs one of them. */
export interface PossibleStep {
  /**
   * `run`: a process takes its next message, or starts. `resume`: code continues after an await. `deliver`: a delayed message
   * arrives. `timer`: a timer fires. `effect`: a request of `sim.io` takes effect.
   */
  readonly kind: "run" | "resume" | "deliver" | "effect" | "timer";
  /**
   * Number of its process, or, for a delivery, a timer or an effect, a negative number of its channel, owner or request: the same
   * after the same choices. Two processes may have each other's numbers in another order of independent steps.
   */
  readonly actor: number;
  /** Names the task among those of its kind, also in other orders of independent steps. */
  readonly key?: string;
  /** Keys of footprints that the step is known to change, before it runs. */
  readonly changes?: readonly string[];
  /** For the strategy's own use; `undefined` when the task has just become possible. */
  rank: number | undefined;
}

/**
 * The keys that one step read and wrote, by the table in lib/process/shared-state.ts. Two steps can swap places if neither writes
 * what the other reads or writes.
 */
export interface Footprint {
  /** The keys that the step read. */
  readonly reads: ReadonlySet<string>;
  /** The keys that the step wrote. */
  readonly writes: ReadonlySet<string>;
  /** The step touches the same keys for all values that it reads. */
  readonly isFixed?: boolean;
}

/** Makes the decisions of one schedule. */
export interface Chooser {
  /** Called before each step, and before the faults that can strike in its place, with the tasks that can run, if any. */
  offered?(tasks: readonly PossibleStep[]): void;
  /** Index of the task to run next; there are at least two. 0 is the task that became possible first. */
  pick(tasks: readonly PossibleStep[]): number;
  /**
   * A whole number from 0 to `n` - 1, where 0 is the ordinary outcome; `n` is at least 2.
   *
   * @param probability - for a point of `ctx.buggify`: how often it fires where it is enabled
   * @param actor - the number of the actor that the draw is for, if known
   * @param names - for a fault between steps: what each outcome from 1 on does, the same in equivalent schedules
   */
  draw(n: number, label: string, probability?: number, actor?: number, names?: readonly string[]): number;
  /** Called after each step, whether or not there was a choice. The footprint is passed to strategies that observe. */
  ran?(task: PossibleStep, footprint: Footprint | undefined): void;
  /** Called after a fault between steps, if its footprint is known. */
  struck?(footprint: Footprint | undefined): void;
  /** Footprints say which step queued the item that a step took. */
  readonly tracesCauses?: boolean;
  /** What the search knows besides footprints; schedules add to it. */
  readonly knowledge?: Knowledge;
  /** Name of the strategy that made it. A strategy that uses others sets it. */
  by?: string;
  /** This is the first schedule of a search that began anew: all earlier ones count as redundant. */
  readonly isAnew?: boolean;
  /** True once the schedule can show nothing new. It is abandoned, and counts as redundant. */
  readonly redundant?: boolean;
}

/** The results of the schedules of one strategy. */
export interface StrategyYield {
  /** Schedules that the strategy made. */
  readonly schedules: number;
  /** Those of them that showed a state or a label of `sim.sometimes` that no earlier schedule had shown. */
  readonly newSchedules: number;
  /** States that they showed first. */
  readonly newStates: number;
}

/** Facts about earlier schedules, up to some schedule before this one. */
export interface SearchHistory {
  /** Steps of the longest of the last schedules; 0 before the first. */
  readonly longest: number;
  /** Most actors in one schedule so far. */
  readonly actors: number;
  /** What each strategy showed first, by its name. */
  readonly yields?: ReadonlyMap<string, StrategyYield>;
}

/** A strategy as plain data, so that another thread can make the same one. */
export interface StrategyRecipe {
  readonly kind: "random walk" | "POS" | "PCT" | "delay-bounded" | "portfolio";
  readonly options?: FaultRateOptions;
  /** Of a portfolio. */
  readonly members?: readonly StrategyRecipe[];
}

/** A way to search schedules. */
export interface SearchStrategy {
  /** Name of the strategy in reports and statistics. */
  readonly name: string;
  /** How another thread makes it; undefined for a strategy that only one thread can have. */
  readonly recipe?: StrategyRecipe;
  /** Needs the footprints of steps, which cost some speed. */
  readonly observes?: boolean;
  /** Enumerates schedules, including the ordinary one. */
  readonly enumerates?: boolean;
  /** The chooser of the next schedule; undefined when no schedule is left, so that the search was exhaustive. */
  begin(index: number, random: Random, history: SearchHistory): Chooser | undefined;
}
