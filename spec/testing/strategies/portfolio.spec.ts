// A portfolio: its members by turns, each with a count of its own.

import { OptionError } from "signalbox";
import { describe, expect, test } from "vitest";
import { Random } from "../../../lib/testing/kit/random.js";
import { pct } from "../../../lib/testing/strategies/pct.js";
import { portfolio, usualStrategies } from "../../../lib/testing/strategies/portfolio.js";
import { pos } from "../../../lib/testing/strategies/pos.js";
import { randomWalk } from "../../../lib/testing/strategies/random-walk.js";
import type { Chooser, SearchStrategy } from "../../../lib/testing/strategies/strategy.js";

const chooser: Chooser = { pick: () => 0, draw: () => 0 };
const history = { longest: 0, actors: 0 };

/** Notes with which index it was asked to begin; has `schedules` of them. */
function noting(name: string, begun: string[], schedules = Number.POSITIVE_INFINITY): SearchStrategy {
  return {
    name,
    begin: (index) => {
      if (index >= schedules) return undefined;
      begun.push(`${name}${index}`);
      return chooser;
    },
  };
}

function begin(strategy: SearchStrategy, schedules: number): (Chooser | undefined)[] {
  return Array.from({ length: schedules }, (_, index) =>
    strategy.begin(index, new Random(1, index), history),
  );
}

describe("a portfolio", () => {
  test("gives schedules to its members by turns, and each counts its own", () => {
    const begun: string[] = [];
    begin(portfolio([noting("a", begun), noting("b", begun), noting("c", begun)]), 7);
    expect(begun).toEqual(["a0", "b0", "c0", "a1", "b1", "c1", "a2"]);
  });

  test("passes on the random numbers and the history, and gives the member's own chooser", () => {
    const random = new Random(1);
    const member: SearchStrategy = {
      name: "a",
      begin: (...given) => {
        expect(given).toEqual([0, random, history]);
        expect(given[1]).toBe(random);
        return chooser;
      },
    };
    expect(portfolio([member]).begin(0, random, history)).toBe(chooser);
  });

  test("leaves the turns of a member that has none left to the next one", () => {
    const begun: string[] = [];
    begin(portfolio([noting("a", begun), noting("b", begun, 1), noting("c", begun)]), 7);
    expect(begun).toEqual(["a0", "b0", "c0", "a1", "c1", "c2", "a2"]);
  });

  test("is over when no member has any left", () => {
    const begun: string[] = [];
    const strategy = portfolio([noting("a", begun, 2), noting("b", begun, 1)]);
    expect(begin(strategy, 5).map((one) => one !== undefined)).toEqual([true, true, true, false, false]);
    expect(begun).toEqual(["a0", "b0", "a1"]);
  });

  test("asks a member that has none left no more, and begins anew at index 0", () => {
    let asked = 0;
    const over: SearchStrategy = {
      name: "over",
      begin: () => {
        asked++;
        return undefined;
      },
    };
    const begun: string[] = [];
    const strategy = portfolio([over, noting("a", begun)]);
    begin(strategy, 4);
    expect(asked).toBe(1);
    begin(strategy, 2);
    expect(asked).toBe(2);
    expect(begun).toEqual(["a0", "a1", "a2", "a3", "a0", "a1"]);
  });

  test("is named for its members, and observes when one of them does", () => {
    expect(portfolio([randomWalk(), pct({ depth: 2 })]).name).toBe("portfolio of random walk, PCT(2)");
    expect(portfolio([randomWalk(), pct()]).observes).toBe(false);
    expect(portfolio([randomWalk(), pos()]).observes).toBe(true);
  });

  test("has the usual members when it is given none", () => {
    expect(portfolio().name).toBe("portfolio of random walk, POS, PCT(2), PCT(3), delay-bounded(3)");
  });

  test("has given rates of faults in all of the usual members", () => {
    const strategy = portfolio(usualStrategies({ rates: { crash: 1, drop: 0 } }));
    for (const one of begin(strategy, 20)) {
      expect([one?.draw(2, "crash:a"), one?.draw(2, "drop:a")]).toEqual([1, 0]);
    }
  });

  test("keeps the members it was given, whatever becomes of the list", () => {
    const begun: string[] = [];
    const members = [noting("a", begun)];
    const strategy = portfolio(members);
    members.push(noting("b", begun));
    begin(strategy, 2);
    expect(begun).toEqual(["a0", "a1"]);
  });

  test.each<[unknown, string]>([
    [[], "strategies"],
    [null, "strategies"],
    [randomWalk(), "strategies"],
    [[randomWalk(), undefined], "strategies[1]"],
    [[randomWalk], "strategies[0]"],
  ])("of %j is refused at %s", (given, path) => {
    let error: unknown;
    try {
      portfolio(given as readonly SearchStrategy[]);
    } catch (e) {
      error = e;
    }
    expect(error).toBeInstanceOf(OptionError);
    expect(error).toMatchObject({ path });
  });
});
