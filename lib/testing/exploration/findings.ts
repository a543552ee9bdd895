// The findings of an exploration: counts, and what each schedule shows first.

import type { SharedMemory } from "../simulator/memory.js";
import type { SearchHistory, SearchStrategy, StrategyYield } from "../strategies/strategy.js";
import type { OutdatedSchedule } from "./kept-schedules.js";
import type { ScheduleResult } from "./schedule.js";

/**
 * Why an exploration ended. `complete`: every schedule was run. `schedules`: as many as were asked for. `time`: the `budgetMs`
 * was over. `plateau`: nothing new was seen for a while.
 */
export type ExplorationEnd = "complete" | "schedules" | "time" | "plateau";

/** The statistics of an exploration that did not fail. */
export interface Exploration {
  /** Name of the search strategy. */
  readonly strategy: string;
  /** Schedules that were run. */
  readonly schedules: number;
  /** Steps of all schedules. */
  readonly steps: number;
  /** Schedules that differ in the order of events. */
  readonly distinctSchedules: number;
  /** Different end states: by living processes, by how much each has handled, and by the values of `sim.state`. */
  readonly distinctStates: number;
  /** Different states on the way, after any step: by what each process has taken from whom, and what has arrived for it. */
  readonly visitedStates: number;
  /** Number of the last schedule, from 1, that showed a new state or a new label of `sim.sometimes`. */
  readonly lastNew: number;
  /** What each strategy showed first, by its name; for a portfolio, by the names of its members. */
  readonly yields: ReadonlyMap<string, StrategyYield>;
  /** Schedules that were cut off at `maxSteps` and did not fail. */
  readonly bounded: number;
  /** Schedules that were abandoned because they could show nothing new. */
  readonly redundant: number;
  /** True when every schedule was run; only an exhaustive strategy can get there. */
  readonly complete: boolean;
  /**
   * What `complete` takes for granted, in sentences. Empty when it takes nothing for granted, or when the exploration is not
   * complete. A search with reduction takes for granted that processes share no memory that it does not know of: see `shared`.
   */
  readonly assumes: readonly string[];
  /**
   * Memory that processes were seen to share besides messages: objects that reached several of them as arguments, in messages or
   * in replies. An exhaustive search takes it into account. Other strategies do not look for it.
   */
  readonly shared: readonly SharedMemory[];
  /** Why it ended. */
  readonly ended: ExplorationEnd;
  /** Labels of `sim.sometimes`, with the number of schedules in which each held. */
  readonly reached: ReadonlyMap<string, number>;
  /** Points of `ctx.buggify` that code has passed, with the number of schedules in which each fired: 0 for one that never did. */
  readonly buggified: ReadonlyMap<string, number>;
  /** Kept schedules of the option `corpus` that failed once and pass now. They count as schedules, too. */
  readonly regressions: number;
  /** Kept schedules that no longer fit the scenario, and did not run. */
  readonly outdated: readonly OutdatedSchedule[];
  /** Virtual milliseconds of all schedules together. */
  readonly virtualMs: number;
}

/** Strategies know the longest of this many last schedules, so that one endless schedule is forgotten. */
const RECENT = 16;

const MEMORY_ASSUMPTION =
  "processes share no memory besides messages, except for what `shared` lists, for `sim.io`, and for what the scenario declares with " +
  "`sim.touch`: memory behind closures cannot be seen. exhaustive({ reduction: false }) needs no such assumption";

/** Makes the kept schedules. */
export const KEPT = "kept schedules";

/** Paths that are kept for the error of a rule that matches nothing. */
const MOST_PATHS = 200;

/** Counts the results of schedules, in the order of the schedules. */
export class Findings {
  schedules = 0;
  lastNew = 0;
  readonly #strategy: string;
  readonly #digests = new Set<number>();
  readonly #states = new Set<string>();
  readonly #reached = new Map<string, number>();
  readonly #yields = new Map<string, { schedules: number; newSchedules: number; newStates: number }>();
  readonly #buggified = new Map<string, number>();
  /** Fault rules that have matched nothing so far; undefined before the first schedule. */
  #idle: ReadonlySet<string> | undefined = undefined;
  /** Paths of processes and names of nodes, as long as a rule has matched nothing. */
  readonly paths: Set<string> = new Set();
  /** Memory that processes share, by its text. */
  readonly #shared = new Map<string, SharedMemory>();
  #visited = 0;
  #steps = 0;
  #bounded = 0;
  #redundant = 0;
  #virtualMs = 0;
  /** Steps of the last schedules. */
  readonly #recent: number[] = [];
  #actors = 0;

  /** Whether the strategy skips orders of steps whose footprints share nothing. */
  readonly #reduces: boolean;

  /** @param labels - labels of `sim.sometimes` that some schedule must reach */
  constructor({ name, observes }: SearchStrategy, labels: readonly string[]) {
    this.#strategy = name;
    this.#reduces = observes === true;
    for (const label of labels) this.#reached.set(label, 0);
  }

  /** @param by - name of the strategy that made the schedule */
  count(result: ScheduleResult, by: string): void {
    const { fresh, redundant, anew } = result;
    if (anew) this.#redundant = this.schedules;
    this.#recent[this.schedules++ % RECENT] = result.steps;
    this.#steps += result.steps;
    this.#actors = Math.max(this.#actors, result.actors);
    this.#virtualMs += result.elapsedMs;
    if (result.bounded) this.#bounded++;
    if (redundant) this.#redundant++;
    this.#match(result);
    for (const memory of result.shared) this.#shared.set(JSON.stringify(memory), memory);
    this.#digests.add(result.digest);
    const before = this.#states.size;
    if (!redundant) this.#states.add(result.state);
    const newStates = fresh.length + this.#states.size - before;
    for (const [label, fired] of result.buggified)
      this.#buggified.set(label, (this.#buggified.get(label) ?? 0) + (fired ? 1 : 0));
    const isNew = this.#reach(result.reached) || newStates > 0;
    this.#visited += fresh.length;
    if (isNew) this.lastNew = this.schedules;
    const yielded = this.#yields.get(by) ?? { schedules: 0, newSchedules: 0, newStates: 0 };
    yielded.schedules++;
    yielded.newStates += newStates;
    if (isNew) yielded.newSchedules++;
    this.#yields.set(by, yielded);
  }

  #match({ idle, paths }: ScheduleResult): void {
    const before = this.#idle;
    this.#idle = before === undefined ? new Set(idle) : new Set(idle.filter((rule) => before.has(rule)));
    if (this.#idle.size > 0) for (const path of paths) if (this.paths.size < MOST_PATHS) this.paths.add(path);
  }

  /** Fault rules that have matched nothing in any schedule. */
  get idleRules(): readonly string[] {
    return [...(this.#idle ?? [])];
  }

  /** Returns whether a label was reached for the first time. */
  #reach(labels: ReadonlyMap<string, boolean>): boolean {
    let first = false;
    for (const [label, holds] of labels) {
      const times = this.#reached.get(label) ?? 0;
      if (holds && times === 0) first = true;
      this.#reached.set(label, times + (holds ? 1 : 0));
    }
    return first;
  }

  /** The facts about the schedules so far that strategies get. */
  get history(): SearchHistory {
    const yields = new Map([...this.#yields].map(([name, yielded]) => [name, { ...yielded }]));
    return { longest: Math.max(0, ...this.#recent), actors: this.#actors, yields };
  }

  /** Labels that no schedule has reached. */
  get unreached(): readonly string[] {
    return [...this.#reached].filter(([, times]) => times === 0).map(([label]) => label);
  }

  /** @param outdated - kept schedules that did not run */
  summary(ended: ExplorationEnd, outdated: readonly OutdatedSchedule[] = []): Exploration {
    return {
      strategy: this.#strategy,
      schedules: this.schedules,
      steps: this.#steps,
      distinctSchedules: this.#digests.size,
      distinctStates: this.#states.size,
      visitedStates: this.#visited,
      lastNew: this.lastNew,
      yields: this.#yields,
      bounded: this.#bounded,
      redundant: this.#redundant,
      complete: ended === "complete",
      assumes: ended === "complete" && this.#reduces ? [MEMORY_ASSUMPTION] : [],
      shared: [...this.#shared.values()],
      ended,
      reached: this.#reached,
      regressions: this.#yields.get(KEPT)?.schedules ?? 0,
      outdated,
      buggified: this.#buggified,
      virtualMs: this.#virtualMs,
    };
  }
}
