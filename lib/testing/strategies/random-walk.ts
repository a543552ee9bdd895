// The random walk: every possible task is as likely. It is fair, so others go over to it when they have starved a task.

import type { Random } from "../kit/random.js";
import type { Chooser, PossibleStep, SearchHistory, SearchStrategy } from "./strategy.js";
import { checkRates, FaultDraws, type FaultRateOptions, type FaultRates } from "./swarm.js";

class RandomWalk implements Chooser {
  private readonly random: Random;
  private readonly faults: FaultDraws;

  constructor(random: Random, rates: FaultRates) {
    this.random = random;
    this.faults = new FaultDraws(random, rates);
  }

  pick(tasks: readonly PossibleStep[]): number {
    return this.random.below(tasks.length);
  }

  draw(n: number, label: string): number {
    return this.faults.draw(n, label);
  }
}

/**
 * Picks uniformly among the possible tasks: simple, fair, and good at bugs that need few steps in an order of their
 * own. A step that must wait for a chain of `k` others is found late: with probability 2^-k. Faults come by rates drawn
 * for each schedule, unless given.
 *
 * @see Thomson, Donaldson and Betts, "Concurrency Testing Using Controlled Schedulers: An Empirical Study", 2016
 * @throws OptionError for a rate that is not from 0 to 1, or is of an unknown kind
 * @example
 * const strategy = randomWalk({ rates: { crash: 0.01, drop: 0 } });
 */
export function randomWalk(options: FaultRateOptions = {}): SearchStrategy {
  const rates = checkRates(options.rates);
  return { name: "random walk", begin: (_index, random) => new RandomWalk(random, rates) };
}

/** A task is overtaken this often at least before a strategy that honours priorities loses patience. */
const LEAST_PATIENCE = 1_000;

/**
 * Sees that no task waits for ever while others that wait for it go round in circles: what a scheduler that honours
 * priorities would report as a livelock is none on a fair one.
 *
 * Half the longest schedule, not all of it: a schedule that starved a task is itself the longest then, and with all of
 * it the next would starve its task for longer still.
 */
export class Patience {
  private readonly most: number;
  private oldest: PossibleStep | undefined;
  private overtaken = 0;

  constructor(history: SearchHistory) {
    this.most = Math.max(LEAST_PATIENCE, history.longest / 2);
  }

  /** Called once for each pick: whether the task that became possible first has been overtaken too often. */
  isOver(tasks: readonly PossibleStep[]): boolean {
    if (tasks[0] !== this.oldest) {
      this.oldest = tasks[0];
      this.overtaken = 0;
      return false;
    }
    return ++this.overtaken >= this.most;
  }
}
