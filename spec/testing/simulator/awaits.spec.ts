// Where code under simulation is interrupted: at awaits of promises, and nowhere else.

import { defineServer, ownerOf, type Pid } from "signalbox";
import { type ExploreOptions, exhaustive, explore, type Simulation, simulate } from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { failureOf } from "../support/found.js";

type Wait = (sim: Simulation) => unknown;

/** Logs a before the wait and b after it; another process logs x. All orders there are. */
async function orders(
  wait: Wait,
  where: "scenario" | "process",
  options: ExploreOptions = {},
): Promise<string[]> {
  const seen = new Set<string>();
  const { complete } = await explore(
    async (sim) => {
      const system = sim.system();
      let order = "";
      const log = (what: string): void => {
        sim.touch("log");
        order += what;
      };
      const work = async (): Promise<void> => {
        log("a");
        await wait(sim);
        log("b");
      };
      const other = system.spawn<string>({ handle: (_ctx, message) => log(message) });
      system.send(other, "x");
      if (where === "scenario") await work();
      else system.send(system.spawn<string>({ handle: work }), "go");
      await sim.quiet();
      seen.add(order);
    },
    { strategy: exhaustive(), schedules: 10_000, ...options },
  );
  expect(complete).toBe(true);
  return [...seen].sort();
}

describe("an await", () => {
  const steps: readonly [what: string, wait: Wait][] = [
    ["sim.sleep(0)", (sim) => sim.sleep(0)],
    ["a fake of sim.io", (sim) => sim.io("store", () => undefined)()],
    ["a fake that begins with sim.sleep(0)", (sim) => (async () => sim.sleep(0))()],
  ];
  const plain: readonly [what: string, wait: Wait][] = [
    ["a settled promise", () => Promise.resolve()],
    ["a plain asynchronous fake", () => (async () => 1)()],
    ["a plain fake that awaits another", () => (async () => (async () => 1)())()],
    ["a plain fake that takes microtasks", () => new Promise<void>((done) => queueMicrotask(done))],
    ["several of them at once", () => Promise.all([Promise.resolve(), (async () => null)()])],
    [
      "one that has ended long since",
      async () => {
        const begun = (async () => 1)();
        for (let i = 0; i < 20; i++) await null;
        await begun;
      },
    ],
    ["one that rejects", () => Promise.reject(new Error("no")).catch(() => undefined)],
  ];

  test.each([...steps, ...plain])(
    "of %s lets any other step come first, or not [T23]",
    async (_what, wait) => {
      // The scenario runs before any process, so the other process cannot come first.
      expect(await orders(wait, "scenario")).toEqual(["abx", "axb"]);
      expect(await orders(wait, "process")).toEqual(["abx", "axb", "xab"]);
    },
  );

  test.each(["null", "a value", "a thenable"])("of %s goes on within the same step [T23]", async (what) => {
    // biome-ignore lint/suspicious/noThenProperty: this is what it is
    const thenable = { then: (done: () => void) => done() };
    const wait = (): unknown => (what === "null" ? null : what === "a value" ? 1 : thenable);
    expect(await orders(wait, "scenario")).toEqual(["abx"]);
    expect(await orders(wait, "process")).toEqual(["abx", "xab"]);
  });

  test.each(plain)(
    "of %s goes on within the same step, with `plainAwaits: false` [T23]",
    async (_what, wait) => {
      expect(await orders(wait, "scenario", { plainAwaits: false })).toEqual(["abx"]);
      expect(await orders(wait, "process", { plainAwaits: false })).toEqual(["abx", "xab"]);
    },
  );

  test("of an async function that awaits a call is one step: the end of the call [T23]", async () => {
    const Echo = defineServer({ init: () => ({}), calls: { one: () => 1 } });
    const steps = async (nested: boolean): Promise<number> => {
      const { steps } = await simulate(async (sim) => {
        const echo = await sim.system().start(Echo);
        const call = (): Promise<number> => echo.call.one();
        const wrapped = async (): Promise<number> => await (async () => await call())();
        await (nested ? wrapped() : call());
      });
      return steps;
    };
    expect(await steps(true)).toBe(await steps(false));
  });

  test("leaves promises as they are: their class, their owner, their rejections", async () => {
    await explore(
      async (sim) => {
        const error = new Error("no");
        const promise = Promise.reject(error);
        await expect((async () => await promise)()).rejects.toBe(error);
        expect([promise.constructor.name, Object.keys(promise), promise instanceof Promise]).toEqual([
          "Promise",
          [],
          true,
        ]);
        expect(await promise.then(undefined, (reason) => reason)).toBe(error);
        const pid = sim.system().spawn(async () => {
          await Promise.resolve();
          expect(ownerOf(Promise.resolve())).toBe(pid);
        });
        await sim.quiet();
      },
      { schedules: 3 },
    );
    expect(Object.getOwnPropertyDescriptor(Promise.prototype, "constructor")).toEqual({
      value: Promise,
      writable: true,
      enumerable: false,
      configurable: true,
    });
  });

  test("of sim.quiet goes on when no other step is possible [T23]", async () => {
    expect(await orders((sim) => sim.quiet(), "scenario")).toEqual(["axb"]);
  });
});

describe("the host's queues", () => {
  const queues: readonly [what: string, later: (fn: () => void) => void][] = [
    ["promises", (fn) => void Promise.resolve().then(fn)],
    ["queueMicrotask", (fn) => queueMicrotask(fn)],
    ["process.nextTick", (fn) => process.nextTick(fn)],
    ["nextTick behind queueMicrotask", (fn) => queueMicrotask(() => process.nextTick(fn))],
    ["queueMicrotask behind nextTick", (fn) => process.nextTick(() => queueMicrotask(fn))],
  ];

  // More steps than the simulator drains in one turn of the event loop.
  const STEPS = 300;

  test.each(queues)("of %s are empty before the next step, step after step [T4]", async (_what, later) => {
    await explore(
      async (sim) => {
        const system = sim.system();
        let open = 0;
        let steps = 0;
        for (const _ of [1, 2]) {
          const pid: Pid<number> = system.spawn<number>({
            handle: async (ctx, left) => {
              expect(open).toBe(0);
              open++;
              steps++;
              later(() => later(() => open--));
              if (left > 1) ctx.send(pid, left - 1);
              await null;
            },
          });
          system.send(pid, STEPS);
        }
        await sim.quiet();
        expect([steps, open]).toEqual([2 * STEPS, 0]);
      },
      { schedules: 5 },
    );
  });

  test("an unhandled rejection ends its process in the step that made it [T9]", async () => {
    for (const at of [1, 99, 100, 101, 250]) {
      const error = await failureOf(
        async (sim) => {
          const system = sim.system({ name: "shop" });
          const clerk: Pid<number> = system.spawn<number>(
            {
              handle: async (ctx, n) => {
                ctx.send(clerk, n + 1);
                await null;
                if (n === at) void Promise.reject(new Error("dropped"));
              },
            },
            { label: "clerk" },
          );
          sim.monitor.always("the clerk lives", () => system.isAlive(clerk));
          system.send(clerk, 1);
          await sim.quiet();
        },
        { schedules: 1, shrink: 0 },
      );
      expect(error.trace.steps.at(-1)).toMatchObject({
        type: "run",
        took: expect.stringMatching(new RegExp(`^${at}\\b`)),
      });
    }
  });

  test("a timer of the test fires between schedules, however many steps they have", async () => {
    let fired = 0;
    const timer = setInterval(() => fired++, 1);
    await explore(
      async (sim) => {
        for (let i = 0; i < 500; i++) await sim.sleep(0);
      },
      { schedules: 100 },
    );
    clearInterval(timer);
    expect(fired).toBeGreaterThan(0);
  });
});

describe("sim.sleep(0)", () => {
  test("lets no time pass, however often it is called", async () => {
    await explore(
      async (sim) => {
        const system = sim.system();
        const heard: string[] = [];
        system.sendAfter(system.spawn<string>({ handle: (_ctx, what) => void heard.push(what) }), "late", 5);
        for (let i = 0; i < 100; i++) await sim.sleep(0);
        expect([sim.now, heard]).toEqual([0, []]);
      },
      { schedules: 50 },
    );
  });
});
