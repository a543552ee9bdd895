// The strategies: which children go down and come up again with a failed one. Each is a pure function.

import type { RestartStrategy, StrategyRange } from "./protocol.js";

export const STRATEGIES: { readonly [name in RestartStrategy]: StrategyRange } = {
  /** Children do not depend on each other: only the failed one is started again. */
  one_for_one: (failed) => ({ from: failed, to: failed + 1 }),
  /** All children depend on each other: when one fails, all go down and come up together. */
  one_for_all: (_failed, end) => ({ from: 0, to: end }),
  /** Later children depend on earlier ones: the failed one and those started after it go down and come up together. */
  rest_for_one: (failed, end) => ({ from: failed, to: end }),
};
