// one_for_one: children do not depend on each other; only the failed one is started again.

import type { StrategyRange } from "./protocol.js";

export const oneForOne: StrategyRange = (failed) => ({ from: failed, to: failed + 1 });
