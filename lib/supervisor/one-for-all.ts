// one_for_all: all children depend on each other; when one fails, all go down and come up together.

import type { StrategyRange } from "./protocol.js";

export const oneForAll: StrategyRange = (_failed, end) => ({ from: 0, to: end });
