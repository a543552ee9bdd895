// The random walk: all possible tasks are equally likely. It is fair, so unfair strategies change to it when a task starves.

import { only } from "../../process/known-options.js";
import type { PossibleStep, SearchHistory, SearchStrategy } from "./strategy.js";
import { checkRates, type FaultRateOptions, RandomChooser } from "./swarm.js";

class RandomWalk extends RandomChooser {
  pick(tasks: readonly PossibleStep[]): number {
    return this.random.below(tasks.length);
  }
}

/**
 * Picks one of the possible tasks with equal probability: simple, fair, and good at bugs that need few steps in a certain order.
 * A step that must wait for a chain of `k` others comes last only with probability 2^-k. Each schedule draws its rates of
 * faults, unless they are given.
 *
 * @see Thomson, Donaldson and Betts, "Concurrency Testing Using Controlled Schedulers: An Empirical Study", 2016
 * @throws OptionError for a rate that is not from 0 to 1, or for an unknown kind
 * @example
 * const strategy = randomWalk({ rates: { crash: 0.01, drop: 0 } });
 */
export function randomWalk(options: FaultRateOptions = {}): SearchStrategy {
  only("", options, ["rates"]);
  const rates = checkRates(options.rates);
  return {
    name: "random walk",
    recipe: { kind: "random walk", options },
    begin: (_index, random) => new RandomWalk(random, rates),
  };
}

/** A strategy with priorities lets a task be overtaken at least this often. */
const LEAST_PATIENCE = 1_000;

/**
 * Detects that a task starves while others that wait for it spin. A strategy with priorities would report a livelock that a fair
 * scheduler does not have.
 *
 * The limit is half the longest schedule. With the whole length, a schedule that starved a task would be the longest itself, and
 * the next one would starve its task even longer.
 */
export class Patience {
  readonly #most: number;
  #oldest: PossibleStep | undefined;
  #overtaken = 0;

  constructor(history: SearchHistory) {
    this.#most = Math.max(LEAST_PATIENCE, history.longest / 2);
  }

  /** Called once for each pick. Returns whether the task that became possible first was overtaken too often. */
  isOver(tasks: readonly PossibleStep[]): boolean {
    if (tasks[0] !== this.#oldest) {
      this.#oldest = tasks[0];
      this.#overtaken = 0;
      return false;
    }
    return ++this.#overtaken >= this.#most;
  }
}
