// Probabilistic concurrency testing: actors have random priorities, which change at a few random steps.

import { only } from "../../process/known-options.js";
import { count } from "../../process/options.js";
import type { Random } from "../kit/random.js";
import { Patience } from "./random-walk.js";
import type { PossibleStep, SearchHistory, SearchStrategy } from "./strategy.js";
import { checkRates, type FaultRateOptions, type FaultRates, RandomChooser } from "./swarm.js";

/** Options of {@link pct}. */
export interface PctOptions extends FaultRateOptions {
  /** Bug depth to search for: the number of orderings between steps that a bug needs. Default 3. */
  readonly depth?: number;
}

/** Assumed length of the first schedule. */
const FIRST_LENGTH = 100;

/** Numbers of `many` random steps of the longest schedule so far, in rising order; one may come twice. */
export function drawSteps(many: number, random: Random, { longest }: SearchHistory): number[] {
  const length = longest > 0 ? longest : FIRST_LENGTH;
  return Array.from({ length: many }, () => 1 + random.below(length)).sort((a, b) => a - b);
}

class Pct extends RandomChooser {
  readonly #patience: Patience;
  readonly #changes: readonly number[];
  readonly #priorities = new Map<number, number>();
  #fair = false;
  #steps = 0;
  #changed = 0;

  constructor(depth: number, rates: FaultRates, random: Random, history: SearchHistory) {
    super(random, rates);
    this.#patience = new Patience(history);
    this.#changes = drawSteps(depth - 1, random, history);
  }

  pick(tasks: readonly PossibleStep[]): number {
    this.#fair ||= this.#patience.isOver(tasks);
    if (this.#fair) return this.random.below(tasks.length);
    let best = 0;
    let bestPriority = Number.NEGATIVE_INFINITY;
    let bestRank = 0;
    for (let i = 0; i < tasks.length; i++) {
      const task = tasks[i] as PossibleStep;
      const priority = this.#priority(task.actor);
      // Tasks of one actor have one priority; in the order of arrival they would never be tried in another order.
      task.rank ??= this.#small();
      if (priority > bestPriority || (priority === bestPriority && task.rank > bestRank)) {
        best = i;
        bestPriority = priority;
        bestRank = task.rank;
      }
    }
    return best;
  }

  ran(task: PossibleStep): void {
    this.#steps++;
    for (; this.#changes[this.#changed] === this.#steps; this.#changed++) {
      // Lower than all random priorities, and lower than the earlier changes.
      this.#priorities.set(task.actor, -1 - this.#changed);
    }
  }

  #priority(actor: number): number {
    let priority = this.#priorities.get(actor);
    if (priority === undefined) {
      priority = this.#small();
      this.#priorities.set(actor, priority);
    }
    return priority;
  }

  /** 30 bits: V8 stores such numbers without a heap object. */
  #small(): number {
    return this.random.bits() >>> 2;
  }
}

/**
 * Gives each actor a random priority when it first appears, and always runs the possible task with the highest priority. After
 * each of `depth` - 1 steps, drawn over the longest schedule so far, the actor that ran falls below all others. In a program
 * of `n` actors and `k` steps, a bug of that depth shows in one schedule with a probability of at least
 * 1 / (n * k^(depth - 1)). Most bugs have a depth of 1 to 3.
 *
 * Priorities are not fair. Once a task has been overtaken 1,000 times, and as often as half the longest schedule has steps, the
 * rest of the schedule is a random walk.
 *
 * @see Burckhardt, Kothari, Musuvathi and Nagarakatte, "A Randomized Scheduler with Probabilistic Guarantees of Finding
 * Bugs", 2010
 * @throws OptionError for a depth below 1, or for wrong rates
 * @example
 * const strategy = pct({ depth: 2, rates: { crash: 0.01 } });
 */
export function pct(options: PctOptions = {}): SearchStrategy {
  only("", options, ["depth", "rates"]);
  const depth = count("depth", options.depth ?? 3, 1);
  const rates = checkRates(options.rates);
  return {
    name: `PCT(${depth})`,
    recipe: { kind: "PCT", options },
    begin: (_index, random, history) => new Pct(depth, rates, random, history),
  };
}
