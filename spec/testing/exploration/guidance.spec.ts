// New states guide a portfolio: strategies that only repeat what is known get fewer turns.

import { type Exploration, explore, type SearchStrategy } from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { pct } from "../../../lib/testing/strategies/pct.js";
import { portfolio } from "../../../lib/testing/strategies/portfolio.js";
import { randomWalk } from "../../../lib/testing/strategies/random-walk.js";
import { proving } from "../../support/proof.js";
import { boundedBuffer } from "../support/bounded-buffer.js";

function search(strategy: SearchStrategy, schedules: number): Promise<Exploration> {
  return explore(boundedBuffer, { strategy, schedules, recheck: 0 });
}

/** The schedules of each member. */
async function turns(schedules: number): Promise<readonly number[]> {
  const { yields } = await search(portfolio([randomWalk(), pct({ depth: 2 })]), schedules);
  return ["random walk", "PCT(2)"].map((name) => yields.get(name)?.schedules ?? 0);
}

describe("a portfolio", () => {
  test("takes turns at first, and then prefers members that show new states [T20]", async () => {
    expect(await turns(257)).toEqual([128, 128]);
    const [walk = 0, priorities = 0] = await turns(2_257);
    // A quarter of the rest each by turns at least: half of it is guided.
    expect(priorities).toBeGreaterThan(128 + 400);
    expect(walk).toBeGreaterThan(128 + 1_200);
  });

  test("shows more states than by turns alone", async () => {
    const members = (): SearchStrategy[] => [randomWalk(), pct({ depth: 2 })];
    const guided = portfolio(members());
    const byTurns: SearchStrategy = {
      name: "by turns",
      begin: (index, random, { longest, actors }) => guided.begin(index, random, { longest, actors }),
    };
    const schedules = proving ? 3_000 : 500;
    const [one, other] = [await search(portfolio(members()), schedules), await search(byTurns, schedules)];
    expect(one.visitedStates).toBeGreaterThan(other.visitedStates);
    expect(one.distinctSchedules).toBeGreaterThan(other.distinctSchedules);
  });
});
