// Strategies as plain data, so that another thread can make the same strategy.

import { delayBounded } from "./delay-bounded.js";
import { pct } from "./pct.js";
import { portfolio } from "./portfolio.js";
import { pos } from "./pos.js";
import { randomWalk } from "./random-walk.js";
import type { SearchStrategy, StrategyRecipe } from "./strategy.js";

export function strategyOf({ kind, options, members }: StrategyRecipe): SearchStrategy {
  switch (kind) {
    case "random walk":
      return randomWalk(options);
    case "POS":
      return pos(options);
    case "PCT":
      return pct(options);
    case "delay-bounded":
      return delayBounded(options);
    case "portfolio":
      return portfolio(members?.map(strategyOf));
    default:
      return kind satisfies never;
  }
}
