// Exhaustive search: all schedules, one of each equivalence class, or all with few deviations from the ordinary one.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count } from "../../process/options.js";
import { CautiousWalk } from "./cautious-walk.js";
import { ReducedWalk } from "./reduced-walk.js";
import type { Chooser, PossibleStep, SearchStrategy } from "./strategy.js";
import { END_TEXT, ExplorationDivergedError, isEnumerated, Walk } from "./tree.js";

/** Options of {@link exhaustive}. */
export interface ExhaustiveOptions {
  /**
   * Most preemptions in one schedule: tasks picked before a task that became possible earlier; 0 for none. Default Infinity.
   * Faults and other draws do not count.
   */
  readonly preemptions?: number;
  /** Skips schedules that differ only in the order of independent steps. Default true; not combined with `preemptions`. */
  readonly reduction?: boolean;
}

/** Provides schedules one after another. */
interface Search extends Chooser {
  /** Advances to the next schedule; false when there is none. Not needed before the first schedule. */
  turn(): boolean;
}

/** An executed schedule, reduced to what deviations from it need. */
interface Executed {
  /** The choices up to the last one other than 0. */
  readonly choices: readonly number[];
  /** The number of alternatives of each choice; negative for a draw. */
  readonly sizes: readonly number[];
}

/** A schedule to execute: choices, and the sizes that they must meet. */
type Plan = Executed;

/** All schedules with a limited number of deviations, those with fewer first. */
class Levels implements Search {
  readonly #plans: Generator<Plan, void>;
  #plan: Plan;
  #sizes: number[] = [];
  #diverged: ExplorationDivergedError | undefined = undefined;

  constructor(preemptions: number) {
    this.#plans = this.#levels(preemptions);
    this.#plan = this.#plans.next().value as Plan;
  }

  turn(): boolean {
    if (this.#sizes.length < this.#plan.choices.length) this.#expect(undefined);
    if (this.#diverged !== undefined) throw this.#diverged;
    const next = this.#plans.next();
    if (next.done === true) return false;
    this.#plan = next.value;
    this.#sizes = [];
    return true;
  }

  pick(tasks: readonly PossibleStep[]): number {
    return this.#choose(tasks.length);
  }

  draw(n: number, label: string): number {
    return isEnumerated(label) ? this.#choose(-n) : 0;
  }

  #choose(size: number): number {
    const index = this.#sizes.length;
    const choice = this.#plan.choices[index];
    if (choice === undefined) {
      this.#sizes.push(size);
      return 0;
    }
    this.#expect(size);
    this.#sizes.push(size);
    return choice;
  }

  #expect(size: number | undefined): void {
    const index = this.#sizes.length;
    const expected = this.#plan.sizes[index];
    if (expected === size) return;
    this.#diverged ??= new ExplorationDivergedError(index + 1, sizeText(expected), sizeText(size));
    throw this.#diverged;
  }

  /** Each schedule is a branch of the one without its last deviation, or last draw other than 0. */
  *#levels(preemptions: number): Generator<Plan, void> {
    let plans: Iterable<Plan> = [{ choices: [], sizes: [] }];
    for (let deviations = 0; ; deviations++) {
      const level: Executed[] = [];
      for (const plan of plans) {
        yield plan;
        level.push({ choices: plan.choices, sizes: this.#sizes });
      }
      // The level grows during the loop: faults do not count, so schedules with more faults belong to the same level.
      for (const schedule of level) {
        for (const plan of branches(schedule, (size) => size < 0)) {
          yield plan;
          level.push({ choices: plan.choices, sizes: this.#sizes });
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

/** The schedules with one more choice other than 0, after the last one. */
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

/** Another search in place of one whose schedules show that its reduction is not sound for this scenario; else undefined. */
function restarted(search: Search | undefined): Search | undefined {
  if (!(search instanceof ReducedWalk || search instanceof CautiousWalk)) return undefined;
  const isUnsure = search instanceof ReducedWalk && search.isUnsure;
  const { knowledge } = search;
  if (!isUnsure && !knowledge.isOutdated) return undefined;
  return isUnsure || search instanceof CautiousWalk
    ? new CautiousWalk(knowledge.next())
    : new ReducedWalk(knowledge.next(), true);
}

/**
 * Enumerates schedules until none is left. A property that holds in all of them holds for this scenario with certainty. Use it for
 * scenarios with few steps; in larger ones a random strategy finds bugs sooner.
 *
 * Every order of tasks and every value of every draw gives a schedule. Random numbers are the exception: they keep their ordinary
 * values. Of the schedules that differ only in the order of independent steps, one is explored in full (`reduction`). Two steps
 * are independent if their footprints share nothing that one of them writes. A step without a footprint depends on everything, as
 * do faults between steps, except crashes and failures to start. A schedule that turns out equivalent to an explored one is
 * abandoned and counts as redundant. The first draw or fault of a search makes it begin anew, more cautiously: it then runs some
 * classes more than once, and abandons more schedules. The schedules that it ran until then count as redundant.
 *
 * Equivalent schedules end in the same state, but pass through different states. So a check after every step that reads several
 * processes sees only some of the states: search without reduction for such a check.
 *
 * With `preemptions`, schedules come in the order of their deviations from first come, first served: the first failure has as few
 * as possible, and schedules with more than the bound are skipped. Few bugs need more than two. This search does not reduce,
 * because the one explored schedule of a class might have too many deviations while another has few. It holds the choices of
 * all schedules in memory, except those with most deviations. Without a bound, the search is depth first and needs little
 * memory.
 *
 * The scenario must be deterministic: the same choices must lead to the same tasks and draws.
 *
 * @see Flanagan and Godefroid, "Dynamic Partial-Order Reduction for Model Checking Software", 2005; Abdulla, Aronsson,
 * Jonsson and Sagonas, "Optimal Dynamic Partial Order Reduction", 2014; Musuvathi and Qadeer, "Iterative Context
 * Bounding for Systematic Testing of Multithreaded Programs", 2007; Coons, Musuvathi and McKinley, "Bounded
 * Partial-Order Reduction", 2013
 * @throws OptionError unless `preemptions` is a whole number of at least 0
 * @throws ExplorationDivergedError during the search, when the same choices have different consequences
 * @example
 * const strategy = exhaustive({ preemptions: 2 });
 */
export function exhaustive(options: ExhaustiveOptions = {}): SearchStrategy {
  only("", options, ["preemptions", "reduction"]);
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
      const isLeft = search?.turn() === true;
      const other = restarted(search);
      search = other ?? search;
      return isLeft || other !== undefined ? search : undefined;
    },
  };
}
