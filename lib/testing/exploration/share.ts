// The schedules of a block, or every n-th of them. They do not depend on each other: the knowledge of strategies about earlier
// schedules changes only between two blocks.

import type { Fingerprints } from "../kit/fingerprints.js";
import { Random } from "../kit/random.js";
import { ORDINARY } from "../simulator/oracle.js";
import type { Chooser, SearchHistory } from "../strategies/strategy.js";
import type { ExplorePlan } from "./options.js";
import { alike, type Runs } from "./runs.js";
import type { ScheduleResult } from "./schedule.js";

/** The schedules to run. */
export interface Share {
  /** Number of the first schedule of the block, from 0, and of the one after its last. */
  readonly first: number;
  readonly last: number;
  /** What strategies know. */
  readonly history: SearchHistory;
  /** The states that earlier schedules have seen; the new ones are added. */
  readonly seen: Fingerprints;
  /** The host's time at which a schedule is given up, apart from the first one. */
  readonly deadline?: number;
  /** Which schedules, if not all: those whose number leaves the remainder `at` when it is divided by `of`. */
  readonly of?: number;
  readonly at?: number;
}

/** The result of a schedule. */
export interface ScheduleOutcome {
  /** Number of the schedule, from 0. */
  readonly index: number;
  /** Name of the strategy that made it. */
  readonly by: string;
  readonly result: ScheduleResult;
  readonly failed: boolean;
  /** A second run of the same choices, if it came to something else. */
  readonly second: ScheduleResult | undefined;
}

/** Ends early when the strategy has no schedule left. */
export async function* runShare(
  runs: Runs,
  { first, last, history, seen, deadline = Number.POSITIVE_INFINITY, of = 1, at = 0 }: Share,
): AsyncGenerator<ScheduleOutcome, void> {
  const { strategy, recheck } = runs.plan;
  for (let index = first; index < last; index++) {
    if (index % of !== at) continue;
    const chooser = chooserOf(runs.plan, index, history);
    if (chooser === undefined) return;
    const observe = strategy.observes === true && chooser.ran !== undefined;
    const limit = index === 0 ? Number.POSITIVE_INFINITY : deadline;
    const result = await runs.under(chooser, { seen, observe, deadline: limit });
    if (result.late) return;
    const failed = result.failure !== undefined;
    const isRechecked = recheck > 0 && index % recheck === 0 && !failed && !result.redundant;
    const again = isRechecked ? await runs.of(result.choices) : result;
    const second = alike(result, again) ? undefined : again;
    yield { index, by: chooser.by ?? strategy.name, result, failed, second };
  }
}

/** The chooser of a schedule; undefined when the search is complete. */
function chooserOf(
  { strategy, seed }: ExplorePlan,
  index: number,
  history: SearchHistory,
): Chooser | undefined {
  if (strategy.enumerates === true) return strategy.begin(index, new Random(seed, index), history);
  return index === 0 ? ORDINARY : strategy.begin(index - 1, new Random(seed, index), history);
}
