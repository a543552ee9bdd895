// rest_for_one: children depend on those started before them; the failed one and all later ones start again.

import type { StrategyRange } from "./protocol.js";

export const restForOne: StrategyRange = (failed, end) => ({ from: failed, to: end });
