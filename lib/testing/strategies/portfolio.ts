// Several strategies by turns: each finds bugs that the others are slow to find.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import type { Random } from "../kit/random.js";
import { delayBounded } from "./delay-bounded.js";
import { pct } from "./pct.js";
import { pos } from "./pos.js";
import { randomWalk } from "./random-walk.js";
import type { SearchHistory, SearchStrategy } from "./strategy.js";
import type { FaultRateOptions } from "./swarm.js";

/**
 * The default members of a {@link portfolio}: random walk, POS, PCT of depth 2 and 3, delay-bounded.
 *
 * @param options - passed to each member, to fix rates of faults
 * @throws OptionError for wrong rates
 * @example
 * const strategy = portfolio(usualStrategies({ rates: { crash: 0.01 } }));
 */
export function usualStrategies(options: FaultRateOptions = {}): SearchStrategy[] {
  only("", options, ["rates"]);
  return [
    randomWalk(options),
    pos(options),
    pct({ ...options, depth: 2 }),
    pct({ ...options, depth: 3 }),
    delayBounded(options),
  ];
}

/** Schedules before the first guided one. */
const UNGUIDED = 256;

function isGuided(index: number): boolean {
  return index >= UNGUIDED && index % 2 === 1;
}

/** A member by chance, in proportion to the square of the new states that its schedules have shown so far, on average. */
function mostNew(members: readonly SearchStrategy[], random: Random, { yields }: SearchHistory): number {
  const rates = members.map(({ name }) => {
    const { schedules, newStates } = yields?.get(name) ?? { schedules: 1, newStates: 1 };
    return (newStates / schedules) ** 2;
  });
  const sum = rates.reduce((total, rate) => total + rate, 0);
  let left = random.unit() * sum;
  const chosen = rates.findIndex((rate) => {
    left -= rate;
    return left < 0;
  });
  return Math.max(0, chosen);
}

/**
 * Lets its members provide schedules by turns: of `n` members, number `i % n` provides schedule `i`. From schedule 256 on, every
 * second one comes from a member by chance, in proportion to the square of the new states that its schedules have shown so far, on average: where some
 * members only repeat what is known, the others get half of their turns. Each member counts its own schedules from 0. A member that has no schedule left passes its turns to the next one; when no member has one, the search is
 * over. The portfolio observes if a member does.
 *
 * @param strategies - at least one; by default {@link usualStrategies}
 * @throws OptionError for an empty list or a member that is no strategy
 * @example
 * const strategy = portfolio([pct({ depth: 2 }), pct({ depth: 4 }), randomWalk()]);
 */
export function portfolio(strategies: readonly SearchStrategy[] = usualStrategies()): SearchStrategy {
  if (!Array.isArray(strategies) || strategies.length === 0)
    throw new OptionError("strategies", strategies, "a list of strategies, at least one");
  for (const [i, strategy] of strategies.entries()) {
    if (typeof (strategy as Partial<SearchStrategy> | null)?.begin !== "function")
      throw new OptionError(`strategies[${i}]`, strategy, "a strategy, as randomWalk() gives one");
  }
  const members: readonly SearchStrategy[] = [...strategies];
  const begun: number[] = members.map(() => 0);
  const over: boolean[] = members.map(() => false);
  const recipes = members.flatMap(({ recipe }) => recipe ?? []);
  return {
    ...(recipes.length === members.length && { recipe: { kind: "portfolio", members: recipes } }),
    name: `portfolio of ${members.map((member) => member.name).join(", ")}`,
    observes: members.some((member) => member.observes === true),
    begin: (index, random, history) => {
      if (index === 0) {
        begun.fill(0);
        over.fill(false);
      }
      // Every second schedule: the others would be turns of every second member only.
      const byTurns = index < UNGUIDED ? index : index >> 1;
      const first = isGuided(index) ? mostNew(members, random, history) : byTurns;
      for (let i = 0; i < members.length; i++) {
        const turn = (first + i) % members.length;
        if (over[turn]) continue;
        const member = members[turn] as SearchStrategy;
        const chooser = member.begin(begun[turn] as number, random, history);
        if (chooser !== undefined) {
          chooser.by ??= member.name;
          begun[turn] = (begun[turn] as number) + 1;
          return chooser;
        }
        over[turn] = true;
      }
      return undefined;
    },
  };
}
