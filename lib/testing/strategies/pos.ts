// Partial order sampling: tasks have random ranks, and a task keeps its rank until a step conflicts with it.

import { only } from "../../process/known-options.js";
import type { Random } from "../kit/random.js";
import { Patience } from "./random-walk.js";
import type { Footprint, PossibleStep, SearchHistory, SearchStrategy } from "./strategy.js";
import { checkRates, type FaultRateOptions, type FaultRates, RandomChooser } from "./swarm.js";

/** Whether a step touched what the task is known to change. */
function conflicts({ reads, writes }: Footprint, { changes = [] }: PossibleStep): boolean {
  for (const key of changes) if (writes.has(key) || reads.has(key)) return true;
  return false;
}

class Pos extends RandomChooser {
  readonly #patience: Patience;
  /** The footprints of the steps since the last pick. */
  #touched: Footprint[] = [];
  #fair = false;

  constructor(rates: FaultRates, random: Random, history: SearchHistory) {
    super(random, rates);
    this.#patience = new Patience(history);
  }

  pick(tasks: readonly PossibleStep[]): number {
    this.#fair ||= this.#patience.isOver(tasks);
    if (this.#fair) return this.random.below(tasks.length);
    let best = 0;
    let bestRank = -1;
    for (let i = 0; i < tasks.length; i++) {
      const task = tasks[i] as PossibleStep;
      if (task.rank === undefined || this.#conflicted(task)) {
        // 30 bits: V8 stores such numbers without a heap object.
        task.rank = this.random.bits() >>> 2;
      }
      if (task.rank > bestRank) {
        best = i;
        bestRank = task.rank;
      }
    }
    if (this.#touched.length > 0) this.#touched = [];
    return best;
  }

  ran(_task: PossibleStep, footprint: Footprint | undefined): void {
    if (footprint !== undefined) this.#touched.push(footprint);
  }

  #conflicted(task: PossibleStep): boolean {
    for (const footprint of this.#touched) if (conflicts(footprint, task)) return true;
    return false;
  }
}

/**
 * Gives each task a random rank when it becomes possible, and always runs the highest. Afterwards the tasks that conflict with
 * the executed step draw new ranks; the others keep theirs. So the order of independent steps uses up no randomness: a step
 * that must wait for a chain of `k` others comes last with probability 1 / (k + 1), instead of 2^-k on a random walk. POS
 * observes: footprints cost some speed.
 *
 * Before it runs, a task is known only to take from its actor's mailbox and to change the actor's state; a delivery, to add to the
 * mailbox of its receiver. Ranks are not fair: once
 * a task has been overtaken 1,000 times, and as often as half the longest schedule has steps, the rest of the schedule is a
 * random walk.
 *
 * @see Yuan, Yang and Gu, "Partial Order Aware Concurrency Sampling", 2018
 * @throws OptionError for wrong rates
 * @example
 * const strategy = pos({ rates: { drop: 0.05 } });
 */
export function pos(options: FaultRateOptions = {}): SearchStrategy {
  only("", options, ["rates"]);
  const rates = checkRates(options.rates);
  return {
    name: "POS",
    recipe: { kind: "POS", options },
    observes: true,
    begin: (_index, random, history) => new Pos(rates, random, history),
  };
}
