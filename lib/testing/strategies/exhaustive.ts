// The exhaustive search: every schedule there is, or one of each kind, or all with few deviations from the ordinary one.

import { OptionError } from "../../process/errors.js";
import { count } from "../../process/options.js";
import { ReducedWalk } from "./independence.js";
import type { Chooser, PossibleStep, SearchStrategy } from "./strategy.js";
import { END_TEXT, ExplorationDivergedError, isEnumerated, Walk } from "./tree.js";

/** Options of {@link exhaustive}. */
export interface ExhaustiveOptions {
  /**
   * At most this many tasks of a schedule are picked before one that became possible earlier; 0 for none. Default
   * Infinity. Faults and other draws are not counted.
   */
  readonly preemptions?: number;
  /** Leaves out schedules that differ only in the order of independent steps. Default true; not with `preemptions`. */
  readonly reduction?: boolean;
}

/** Schedules one after another. */
interface Search extends Chooser {
  /** Turns to the next schedule; false when there is none. The first one is there from the start. */
  turn(): boolean;
}

/** A schedule that was executed, as far as it is needed to deviate from it. */
interface Executed {
  /** Up to the last that is not 0. */
  readonly choices: readonly number[];
  /** How many alternatives each choice of the whole schedule had; below 0 for a draw. */
  readonly sizes: readonly number[];
}

/** A schedule to execute: choices, and the sizes that they must meet. */
type Plan = Executed;

/** All schedules with at most so many deviations, those with fewer first. */
class Levels implements Search {
  private readonly plans: Generator<Plan, void>;
  private plan: Plan;
  private sizes: number[] = [];
  private diverged: ExplorationDivergedError | undefined = undefined;

  constructor(preemptions: number) {
    this.plans = this.levels(preemptions);
    this.plan = this.plans.next().value as Plan;
  }

  turn(): boolean {
    if (this.sizes.length < this.plan.choices.length) this.expect(undefined);
    if (this.diverged !== undefined) throw this.diverged;
    const next = this.plans.next();
    if (next.done === true) return false;
    this.plan = next.value;
    this.sizes = [];
    return true;
  }

  pick(tasks: readonly PossibleStep[]): number {
    return this.choose(tasks.length);
  }

  draw(n: number, label: string): number {
    return isEnumerated(label) ? this.choose(-n) : 0;
  }

  private choose(size: number): number {
    const index = this.sizes.length;
    const choice = this.plan.choices[index];
    if (choice === undefined) {
      this.sizes.push(size);
      return 0;
    }
    this.expect(size);
    this.sizes.push(size);
    return choice;
  }

  private expect(size: number | undefined): void {
    const index = this.sizes.length;
    const expected = this.plan.sizes[index];
    if (expected === size) return;
    this.diverged ??= new ExplorationDivergedError(index + 1, sizeText(expected), sizeText(size));
    throw this.diverged;
  }

  /** Each schedule is a branch of the one without its last deviation, or last draw that is not 0. */
  private *levels(preemptions: number): Generator<Plan, void> {
    let plans: Iterable<Plan> = [{ choices: [], sizes: [] }];
    for (let deviations = 0; ; deviations++) {
      const level: Executed[] = [];
      for (const plan of plans) {
        yield plan;
        level.push({ choices: plan.choices, sizes: this.sizes });
      }
      // The level grows meanwhile: faults do not count, so that those with more of them are of the same level.
      for (const schedule of level) {
        for (const plan of branches(schedule, (size) => size < 0)) {
          yield plan;
          level.push({ choices: plan.choices, sizes: this.sizes });
        }
      }
      if (level.length === 0 || deviations === preemptions) return;
      plans = deviating(level);
    }
  }
}

function* deviating(level: readonly Executed[]): Generator<Plan, void> {
  for (const schedule of level) yield* branches(schedule, (size) => size > 0);
}

/** What comes of one more choice that is not 0, after the last. */
function* branches({ choices, sizes }: Executed, at: (size: number) => boolean): Generator<Plan, void> {
  for (let index = choices.length; index < sizes.length; index++) {
    const size = sizes[index] as number;
    if (!at(size)) continue;
    const zeros = new Array<number>(index - choices.length).fill(0);
    for (let choice = 1; choice < Math.abs(size); choice++)
      yield { choices: [...choices, ...zeros, choice], sizes };
  }
}

function sizeText(size: number | undefined): string {
  if (size === undefined) return END_TEXT;
  return size > 0 ? `a choice of ${size} tasks` : `a draw of ${-size}`;
}

/**
 * Enumerates schedules until there is none left: what holds in all of them holds, for this scenario, not only probably.
 * For scenarios with few steps; a random strategy finds bugs in the others.
 *
 * Every order of tasks and every value of every draw is a schedule of its own, random numbers excepted, which stay what
 * they ordinarily are. Of the schedules that differ only in the order of independent steps, one is explored in full
 * (`reduction`); where draws differ in what they lead to, now and then two. Steps are independent when their footprints
 * say so; a step without one, and a fault between steps, depends on everything. A schedule that turns out to be one of
 * those explored before is given up, and counts as redundant.
 *
 * Such schedules end in the same state, but come to it by other states. What is checked after every step, of several
 * processes at once, is therefore checked in some of the states only: search without reduction for that.
 *
 * With `preemptions`, schedules come by the number of deviations from first come, first served, so that the first
 * failure has as few as can be, and those with more than the bound never come. Few bugs need more than two. There is no
 * reduction then: the one schedule of its kind that would be explored might have too many deviations where another has
 * few. Choices of all schedules but those with most deviations are held in memory. Without a bound, the order is depth
 * first, and little memory is needed.
 *
 * The scenario must be deterministic: the same choices must lead to the same tasks and draws.
 *
 * @see Flanagan and Godefroid, "Dynamic Partial-Order Reduction for Model Checking Software", 2005; Abdulla, Aronsson,
 * Jonsson and Sagonas, "Optimal Dynamic Partial Order Reduction", 2014; Musuvathi and Qadeer, "Iterative Context
 * Bounding for Systematic Testing of Multithreaded Programs", 2007; Coons, Musuvathi and McKinley, "Bounded
 * Partial-Order Reduction", 2013
 * @throws OptionError for preemptions that are no whole number, 0 or more
 * @throws ExplorationDivergedError from the search, when the same choices lead to something else
 * @example
 * const strategy = exhaustive({ preemptions: 2 });
 */
export function exhaustive(options: ExhaustiveOptions = {}): SearchStrategy {
  const preemptions = count("preemptions", options.preemptions ?? Number.POSITIVE_INFINITY, 0, true);
  const { reduction = true } = options;
  if (typeof reduction !== "boolean") throw new OptionError("reduction", reduction, "true or false");
  const bounded = preemptions !== Number.POSITIVE_INFINITY;
  const reduced = reduction && !bounded;
  let search: Search | undefined;
  return {
    name: bounded ? `exhaustive(${preemptions})` : reduced ? "exhaustive" : "exhaustive without reduction",
    observes: reduced,
    enumerates: true,
    begin: (index) => {
      if (index === 0) {
        search = bounded ? new Levels(preemptions) : reduced ? new ReducedWalk() : new Walk();
        return search;
      }
      return search?.turn() === true ? search : undefined;
    },
  };
}
