// The strategies: which children go down and come up again with a failed one. Each is one file, one pure function.

import { oneForAll } from "./one-for-all.js";
import { oneForOne } from "./one-for-one.js";
import { restForOne } from "./rest-for-one.js";

/**
 * Given the place of the failed child and the number of children in start order, the range of children that are
 * stopped, last first, and then started, first first. `to` is exclusive.
 */
export type StrategyRange = (failed: number, count: number) => { readonly from: number; readonly to: number };

export type Strategy = "one_for_one" | "one_for_all" | "rest_for_one";

export const STRATEGIES: { readonly [name in Strategy]: StrategyRange } = {
  one_for_one: oneForOne,
  one_for_all: oneForAll,
  rest_for_one: restForOne,
};
