// The recipe "cache": one load for many callers, time to live, the bound, failed and late loads, and a cache that is killed anywhere.

import { CalleeExitedError, System, supervisor, TaskTimeoutError } from "signalbox";
import { explore, type TestClock, testClock } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import {
  CacheBusyError,
  type CacheCounts,
  type CacheOptions,
  cache,
} from "../../../examples/cookbook/cache/cache.js";

interface Bench {
  readonly clock: TestClock;
  readonly system: System;
  /** The answers: values, or the errors themselves. */
  readonly get: (...keys: readonly string[]) => Promise<unknown[]>;
  readonly forget: (key: string) => void;
  readonly counts: () => Promise<CacheCounts>;
}

/** A cache on a clock that stands still. Its values are `a1`, `a2`: the key, and the number of the load. */
async function bench(options: Partial<CacheOptions<string>> = {}): Promise<Bench> {
  const clock = testClock();
  const system = new System({ environment: clock.environment, report: false });
  let loads = 0;
  const Values = cache<string>({ load: async (key) => `${key}${++loads}`, ...options });
  await system.start(supervisor({ children: [{ id: "values", name: "values", start: Values }] }));
  const { call, cast } = Values.at(system, "values");
  const get = (...keys: readonly string[]): Promise<unknown[]> =>
    Promise.all(keys.map((key) => call.get(key).catch((error: unknown) => error)));
  return { clock, system, get, forget: cast.forget, counts: () => call.counts() };
}

/** A load that ends when the test says so. */
function gate(): { load: () => Promise<string>; open: (value: string | Error) => void } {
  const waiting: { resolve: (value: string) => void; reject: (error: Error) => void }[] = [];
  const load = (): Promise<string> => new Promise((resolve, reject) => waiting.push({ resolve, reject }));
  const open = (value: string | Error): void => {
    const first = waiting.shift();
    if (value instanceof Error) first?.reject(value);
    else first?.resolve(value);
  };
  return { load, open };
}

describe("a cache", () => {
  it("loads once for many callers, and again when the value is too old", async () => {
    const { clock, get, counts } = await bench({ freshMs: 100 });
    expect(await get("a", "a", "b", "a")).toEqual(["a1", "a1", "b2", "a1"]);
    await clock.advance(99);
    expect(await get("a")).toEqual(["a1"]);
    await clock.advance(1);
    expect(await get("a")).toEqual(["a3"]);
    expect(await counts()).toEqual({ entries: 2, loads: 3, failures: 0 });
  });

  it("gives an old value at once while it loads, once, and keeps it when the load fails", async () => {
    const { load, open } = gate();
    const { clock, get, counts } = await bench({ freshMs: 100, staleMs: 100, load });
    const first = get("a");
    await clock.settle();
    open("old");
    expect(await first).toEqual(["old"]);
    await clock.advance(100);
    expect(await get("a", "a")).toEqual(["old", "old"]);
    open(new Error("down"));
    await clock.settle();
    expect(await get("a")).toEqual(["old"]);
    open("new");
    await clock.settle();
    expect(await get("a")).toEqual(["new"]);
    expect(await counts()).toEqual({ entries: 1, loads: 3, failures: 1 });
  });

  it("tells all callers of a failed load, and does not keep the failure", async () => {
    const down = new Error("down");
    let isDown = true;
    const load = async (key: string): Promise<string> => {
      if (isDown) throw down;
      return key;
    };
    const { get } = await bench({ load });
    expect(await get("a", "a")).toEqual([down, down]);
    isDown = false;
    expect(await get("a")).toEqual(["a"]);
  });

  it("serves other keys during a load that hangs, and ends the load at its time", async () => {
    let aborted = false;
    const load = async (key: string, signal: AbortSignal): Promise<string> => {
      if (key !== "a") return key;
      return new Promise(() => signal.addEventListener("abort", () => (aborted = true)));
    };
    const { clock, get } = await bench({ load, loadTimeoutMs: 1_000, maxLoads: 1 });
    const hanging = get("a");
    await clock.settle();
    expect(await get("b")).toEqual([expect.any(CacheBusyError)]);
    expect(await clock.until(hanging)).toEqual([expect.any(TaskTimeoutError)]);
    expect(aborted).toBe(true);
    expect(await get("b")).toEqual(["b"]);
  });

  it("drops the entry that was not used for longest", async () => {
    const { get, counts } = await bench({ maxEntries: 2 });
    for (const key of ["a", "b", "a", "c"]) await get(key);
    expect(await get("b", "c")).toEqual(["b4", "c3"]);
    expect(await get("a")).toEqual(["a5"]);
    expect((await counts()).entries).toBe(2);
  });

  it("is empty after a restart, and tells those who waited", async () => {
    const { load, open } = gate();
    const { clock, system, get, counts } = await bench({ load });
    const waiting = get("a");
    await clock.settle();
    system.exit("values", "kill");
    expect(await waiting).toEqual([expect.any(CalleeExitedError)]);
    open("late");
    await clock.settle();
    expect(await counts()).toEqual({ entries: 0, loads: 0, failures: 0 });
  });

  it("never gives an old value to who asks after a `forget`, wherever it or a load crashes", async () => {
    const { schedules } = await explore(
      async (sim) => {
        let price = 1;
        const load = sim.io("load", () => price, { latencyMs: [0, 10] });
        sim.calm();
        const system = sim.system({ name: "shop" });
        const Prices = cache<number>({ load });
        const child = { id: "prices", name: "prices", start: Prices };
        await system.start(supervisor({ label: "root", children: [child] }));
        sim.storm();
        const { call, cast } = Prices.at(system, "prices");
        const ask = async (): Promise<number> => {
          for (;;) {
            try {
              return await call.get("tea");
            } catch (error) {
              sim.sometimes("told of the crash", error instanceof CalleeExitedError);
              await sim.sleep(10);
            }
          }
        };
        const customer = ask();
        // Now the first load may have read the price, and may be on its way back.
        await sim.sleep(5);
        price = 2;
        cast.forget("tea");
        for (const asked of [ask(), ask()]) if ((await asked) !== 2) throw new Error("the old price");
        await customer;
        if ((await ask()) !== 2) throw new Error("the old price came back");
      },
      { schedules: 40, faults: { crash: { of: ["shop/root/prices", "shop/root/prices/task"] } } },
    );
    expect(schedules).toBe(40);
  });
});
