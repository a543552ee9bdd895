// Delay-bounded scheduling: first come, first served, except that a few random tasks are moved to the end.

import { only } from "../../process/known-options.js";
import { count } from "../../process/options.js";
import type { Random } from "../kit/random.js";
import { drawSteps } from "./pct.js";
import { Patience } from "./random-walk.js";
import type { PossibleStep, SearchHistory, SearchStrategy } from "./strategy.js";
import { checkRates, type FaultRateOptions, type FaultRates, RandomChooser } from "./swarm.js";

/** Options of {@link delayBounded}. */
export interface DelayBoundedOptions extends FaultRateOptions {
  /** Most tasks to delay in one schedule; 0 for none. Default 3. */
  readonly delays?: number;
}

class DelayBounded extends RandomChooser {
  readonly #patience: Patience;
  /** Numbers of the steps before which a task is delayed. */
  readonly #places: readonly number[];
  #steps = 0;
  #delayed = 0;

  constructor(delays: number, rates: FaultRates, random: Random, history: SearchHistory) {
    super(random, rates);
    this.#patience = new Patience(history);
    this.#places = drawSteps(delays, random, history);
  }

  pick(tasks: readonly PossibleStep[]): number {
    if (this.#patience.isOver(tasks)) return 0;
    let first = this.#first(tasks);
    // A place without a choice is carried over to the next choice; otherwise few delays would happen.
    while (
      this.#delayed < this.#places.length &&
      (this.#places[this.#delayed] as number) <= this.#steps + 1
    ) {
      (tasks[first] as PossibleStep).rank = this.#delayed++;
      first = this.#first(tasks);
    }
    return first;
  }

  ran(): void {
    this.#steps++;
  }

  /** The first task that was never delayed, or else the one whose last delay was the longest ago. */
  #first(tasks: readonly PossibleStep[]): number {
    let first = 0;
    let firstRank = Number.POSITIVE_INFINITY;
    for (let i = 0; i < tasks.length; i++) {
      const rank = (tasks[i] as PossibleStep).rank;
      if (rank === undefined) return i;
      if (rank < firstRank) {
        first = i;
        firstRank = rank;
      }
    }
    return first;
  }
}

/**
 * Runs tasks in the order in which they became possible. At `delays` places, drawn over the longest schedule so far, the first
 * task is moved behind all others until it has run. Many bugs need only one or two delays, and the schedules stay close to the
 * ordinary one, so that a failure is easy to read.
 *
 * A delayed task is overtaken at most 1,000 times or half as often as the longest schedule has steps: the larger number counts.
 *
 * @see Emmi, Qadeer and Rakamaric, "Delay-Bounded Scheduling", 2011
 * @throws OptionError unless `delays` is a whole number of at least 0, or for wrong rates
 * @example
 * const strategy = delayBounded({ delays: 1 });
 */
export function delayBounded(options: DelayBoundedOptions = {}): SearchStrategy {
  only("", options, ["delays", "rates"]);
  const delays = count("delays", options.delays ?? 3, 0);
  const rates = checkRates(options.rates);
  return {
    name: `delay-bounded(${delays})`,
    recipe: { kind: "delay-bounded", options },
    begin: (_index, random, history) => new DelayBounded(delays, rates, random, history),
  };
}
