// The strategies: which children go down and come up again with a failed one. Each is one file, one pure function.

import { oneForAll } from "./one-for-all.js";
import { oneForOne } from "./one-for-one.js";
import type { RestartStrategy, StrategyRange } from "./protocol.js";
import { restForOne } from "./rest-for-one.js";

export const STRATEGIES: { readonly [name in RestartStrategy]: StrategyRange } = {
  one_for_one: oneForOne,
  one_for_all: oneForAll,
  rest_for_one: restForOne,
};
