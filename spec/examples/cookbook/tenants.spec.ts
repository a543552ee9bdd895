// Tenants: each keeps its own limits, a noisy one holds up nobody else, and a tenant may go idle or crash while requests come in.

import { type BodyContext, System, supervisor } from "signalbox";
import { RateLimitError } from "signalbox/service";
import { testClock } from "signalbox/testing";
import { expect, it } from "vitest";
import {
  TenantBusyError,
  type TenantLimits,
  type Tenants,
  tenants,
} from "../../../examples/cookbook/tenants/tenants.js";
import { explored } from "../../support/proof.js";

const LIMITS: TenantLimits = {
  ...{ concurrency: 2, maxQueue: 3, workMs: 1_000, idleMs: 5_000 },
  rate: { permits: 100, perMs: 1_000, burst: 100 },
};
const work =
  <R>(ms: number, value: R) =>
  (ctx: BodyContext<unknown>): Promise<R> =>
    new Promise((resolve) => ctx.runAfter(ms, () => resolve(value)));

async function opened(limits: Partial<TenantLimits> = {}) {
  const clock = testClock();
  const system = new System({ environment: clock.environment, report: false });
  const all: Tenants = tenants(system, { ...LIMITS, ...limits });
  await clock.until(system.start(supervisor({ children: [{ id: "tenants", start: all.tree }] })));
  const { population } = system;
  return { clock, system, population, ...all };
}

/** What a request ended with, and when. */
const timed = (clock: { readonly now: number }, request: Promise<unknown>): Promise<readonly unknown[]> =>
  request.then(
    (value) => [value, clock.now],
    (error: Error & { readonly retryAfterMs?: number }) => [error.name, clock.now, error.retryAfterMs],
  );

it("runs two requests of a tenant at a time, lets three wait, and says when to come back", async () => {
  const { clock, run } = await opened();
  // The tenant learns how long its requests take.
  for (let i = 0; i < 40; i++) await clock.until(run("noisy", work(100, i)));
  const begin = clock.now;
  const requests = Array.from({ length: 6 }, (_, i) => timed(clock, run("noisy", work(100, i))));
  const quiet = timed(clock, run("quiet", work(100, "quiet")));
  const ends = await clock.until(Promise.all([...requests, quiet]));
  expect(ends.map(([value, at]) => [value, Number(at) - begin])).toEqual([
    ...[
      [0, 100],
      [1, 100],
      [2, 200],
      [3, 200],
      [4, 300],
    ],
    ...[
      ["TenantBusyError", 0],
      ["quiet", 100],
    ],
  ]);
  // Four requests behind two places, 100 ms each.
  expect(ends[5]?.[2]).toBe(201);
});

it("limits the rate of each tenant, also of one that was idle", async () => {
  const { clock, run, busy } = await opened({
    rate: { permits: 1, perMs: 60_000, burst: 2 },
    idleMs: 1_000,
  });
  for (const expected of ["served", "served", "RateLimitError"])
    expect((await clock.until(timed(clock, run("a", work(1, "served")))))[0]).toBe(expected);
  await clock.advance(10_000);
  expect(busy()).toEqual([]);
  const refused = await clock.until(run("a", work(1, "served")).catch((error: unknown) => error));
  expect(refused).toBeInstanceOf(RateLimitError);
  expect((refused as RateLimitError).retryAfterMs).toBeGreaterThan(40_000);
  // A request that is refused starts no process.
  expect(busy()).toEqual([]);
  expect(await clock.until(run("b", work(1, "served")))).toBe("served");
});

it("kills work that hangs, gives errors of the work as they are, and leaves nothing behind", async () => {
  const { clock, system, run, busy, population } = await opened({ concurrency: 1 });
  const hangs = timed(
    clock,
    run("a", () => new Promise(() => undefined)),
  );
  const next = timed(clock, run("a", work(10, "next")));
  const failure = new RangeError("no such order");
  const failed = run("a", () => Promise.reject(failure)).catch((error: unknown) => error);
  expect(await clock.until(Promise.all([hangs, next, failed]))).toEqual([
    ["TaskTimeoutError", 1_000, undefined],
    ["next", 1_010],
    failure,
  ]);
  expect(busy()).toEqual(["a"]);
  await clock.advance(LIMITS.idleMs);
  expect([busy(), system.population]).toEqual([[], population]);
});

it("never begins work whose caller has given up, and gives its room to the next", async () => {
  const { clock, run } = await opened({ concurrency: 1, maxQueue: 1 });
  const gone = new AbortController();
  let begun = 0;
  const first = timed(clock, run("a", work(10, "first")));
  const givenUp = run("a", () => begun++, gone.signal).catch((error: Error) => error.message);
  await clock.advance(1);
  gone.abort(new Error("the user left"));
  await clock.advance(1);
  const third = timed(clock, run("a", work(10, "third")));
  expect(await clock.until(Promise.all([first, givenUp, third]))).toEqual([
    ["first", 10],
    "the user left",
    ["third", 20],
  ]);
  const late = run("a", () => begun++, gone.signal);
  expect(await clock.until(late.catch((error: Error) => error.message))).toBe("the user left");
  expect(begun).toBe(0);
});

it("answers every request once, and keeps the limit, whichever tenant crashes or goes idle at whichever step", async () => {
  await explored(
    async (sim) => {
      const system = sim.system({ name: "api" });
      const { tree, run } = tenants(system, { ...LIMITS, concurrency: 1, idleMs: 20 });
      sim.calm();
      await system.start(supervisor({ children: [{ id: "tenants", start: tree }] }));
      sim.storm();
      const begun = new Map<string, number>();
      let running = 0;
      const request = async (name: string): Promise<string> => {
        await sim.sleep(sim.oneOf([0, 10, 20, 30], "when"));
        return run("a", (ctx) => {
          begun.set(name, (begun.get(name) ?? 0) + 1);
          expect(++running).toBe(1);
          ctx.signal.addEventListener("abort", () => running--);
          return work(5, name)(ctx);
        });
      };
      const names = ["one", "two", "three"];
      const ends = await Promise.all(names.map((name) => request(name).catch((error: Error) => error.name)));
      sim.sometimes("a request was lost in the middle", ends.includes("CalleeExitedError"));
      for (const [i, name] of names.entries()) {
        // A ChildError: the process crashed at its start.
        expect([name, "CalleeExitedError", "ChildError"]).toContain(ends[i]);
        expect(begun.get(name)).toBe(ends[i] === "ChildError" ? undefined : 1);
      }
      sim.calm();
      expect(await run("a", work(1, "open"))).toBe("open");
    },
    { quick: 25, share: 0.01, seed: 1, faults: { crash: { of: "api/**/tenant", atMost: 1 } } },
  );
});

it("refuses by an error that a server can answer with", () => {
  const error = new TenantBusyError("a", 1_500);
  expect([error.code, error.retryAfterMs, error.message]).toEqual([
    "ERR_TENANT_BUSY",
    1_500,
    "too many requests of a wait; try again in 1500 ms",
  ]);
});
