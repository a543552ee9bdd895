// Memory that processes share besides messages: an exhaustive search finds what can be seen, and says what it takes for granted.

import { defineServer, type ServerRef, type System } from "signalbox";
import { exhaustive, explore, type Scenario, type Simulation } from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { failureOf } from "../support/found.js";

type Visits = Map<string, number>;

/** Between the read and the write of a visit, other steps may come. */
const Gate = defineServer({ init: () => ({}), calls: { pass: () => undefined } });
type Gate = Awaited<ReturnType<System["start"]>> & { readonly call: { pass(): Promise<undefined> } };

async function visit(gate: Gate, visits: Visits): Promise<void> {
  const before = visits.get("door") ?? 0;
  await gate.call.pass();
  visits.set("door", before + 1);
}

const Counter = defineServer({
  init: (_ctx, visits: Visits, gate: Gate) => ({ visits, gate }),
  casts: { visit: ({ visits, gate }) => visit(gate, visits) },
});

/** So many steps of the scenario that whatever runs meanwhile is done, in the ordinary schedule. */
async function later(sim: Simulation): Promise<void> {
  for (let i = 0; i < 6; i++) await sim.sleep(0);
}

/** Two servers that have the same Map as an argument, and nothing else in common. */
const byArgument: Scenario = async (sim) => {
  const system = sim.system({ name: "shop" });
  const visits: Visits = new Map();
  const counters: ServerRef<object, { visit: () => unknown }>[] = [];
  for (let i = 0; i < 2; i++) counters.push(await system.start(Counter, visits, await system.start(Gate)));
  for (const counter of counters) {
    counter.cast.visit();
    await later(sim);
  }
  sim.finally("both visits count", () => visits.get("door") === 2);
};

/** A server gives its Map away in a reply. */
const Owner = defineServer({
  init: (_ctx, gate: Gate) => ({ visits: new Map() as Visits, gate }),
  calls: { share: (state) => state.visits },
  casts: { visit: ({ visits, gate }) => visit(gate, visits) },
});

const byReply: Scenario = async (sim) => {
  const system = sim.system({ name: "shop" });
  const owner = await system.start(Owner, await system.start(Gate));
  const visits = await owner.call.share();
  owner.cast.visit();
  await later(sim);
  const before = visits.get("door") ?? 0;
  await later(sim);
  visits.set("door", before + 1);
  sim.finally("both visits count", () => visits.get("door") === 2);
};

/** A class hides its state, and its methods are synchronous. */
class Repository {
  readonly #rows = new Map<string, number>();
  get = (): number => this.#rows.get("door") ?? 0;
  set = (value: number): void => void this.#rows.set("door", value);
}

const Clerk = defineServer({
  init: (_ctx, rows: Repository, gate: Gate) => ({ rows, gate }),
  casts: {
    visit: async ({ rows, gate }) => {
      const before = rows.get();
      await gate.call.pass();
      rows.set(before + 1);
    },
  },
});

const byInstance: Scenario = async (sim) => {
  const system = sim.system({ name: "shop" });
  const rows = new Repository();
  for (let i = 0; i < 2; i++) {
    (await system.start(Clerk, rows, await system.start(Gate))).cast.visit();
    await later(sim);
  }
  sim.finally("both visits count", () => rows.get() === 2);
};

const ways: readonly [way: string, scenario: Scenario][] = [
  ["a Map that two servers got as an argument", byArgument],
  ["a Map in a reply", byReply],
  ["an instance that hides its state", byInstance],
];

/** Nothing shows that these two share memory: their functions do. */
const byClosure: Scenario = async (sim) => {
  const system = sim.system({ name: "shop" });
  let visits = 0;
  for (let i = 0; i < 2; i++) {
    const pid = system.spawn<string>(async (ctx) => {
      const before = visits;
      await ctx.receive();
      visits = before + 1;
    });
    system.send(pid, "go");
    for (let step = 0; step < 3; step++) await sim.sleep(0);
  }
  sim.finally("both visits count", () => visits === 2);
};

const search = { strategy: exhaustive(), schedules: 20_000 };

describe("an exhaustive search", () => {
  test.each(ways)("finds a lost update over %s [T34]", async (_way, scenario) => {
    const error = await failureOf(scenario, search);
    expect(error.message).toContain("both visits count");
  });

  test("lists the memory that it saw processes share, and what it takes for granted [T34]", async () => {
    const shares = await explore(async (sim) => {
      const system = sim.system({ name: "shop" });
      const visits: Visits = new Map();
      const counters = [1, 2].map(async () => system.start(Counter, visits, await system.start(Gate)));
      for (const counter of await Promise.all(counters)) {
        counter.cast.visit();
        await sim.quiet();
      }
      expect(visits.get("door")).toBe(2);
    }, search);
    expect(shares.complete).toBe(true);
    expect(shares.shared).toEqual([
      { what: "a Map", holders: ["scenario", "shop/server#3", "shop/server#4"] },
    ]);
    expect(shares.assumes).toEqual([expect.stringMatching(/^processes share no memory besides messages/)]);
  });

  test("does not take constant data for shared memory, also in messages [T34]", async () => {
    const Reader = defineServer({
      init: (_ctx, prices: ReadonlyMap<string, number>, options: { readonly factor: number }) => ({
        prices,
        options,
      }),
      calls: {
        price: ({ prices, options }, asked: { readonly of: string }) => ({
          price: (prices.get(asked.of) ?? 0) * options.factor,
        }),
      },
    });
    const { complete, shared, schedules } = await explore(async (sim) => {
      const system = sim.system();
      const [prices, options] = [new Map([["tea", 2]]), { factor: 2 }];
      const readers = [
        await system.start(Reader, prices, options),
        await system.start(Reader, prices, options),
      ];
      const asked = { of: "tea" };
      const answers = await Promise.all(readers.map((reader) => reader.call.price(asked)));
      expect(answers).toEqual([{ price: 4 }, { price: 4 }]);
    }, search);
    expect([complete, shared, schedules]).toEqual([true, [], 2]);
  });

  test("without reduction takes nothing for granted, and finds what closures share [T34]", async () => {
    const reduced = await explore(byClosure, search);
    expect([reduced.complete, reduced.assumes.length]).toEqual([true, 1]);
    const all = exhaustive({ reduction: false });
    await expect(explore(byClosure, { strategy: all })).rejects.toThrow("both visits count");
    const { complete, assumes } = await explore(async (sim) => sim.sleep(1), {
      strategy: exhaustive({ reduction: false }),
    });
    expect([complete, assumes]).toEqual([true, []]);
  });
});
