// How an exploration is spread over threads.

import type { ScenarioSource } from "../report/failure-file.js";
import type { StrategyRecipe } from "../strategies/strategy.js";

export interface CrewPlan {
  readonly threads: number;
  readonly source: ScenarioSource;
  /** Plain data: the options that each thread needs. */
  readonly options: object;
  readonly strategy: StrategyRecipe;
}
