// Bulkheads and fallbacks: the rule of places against a model, and both as policies, with the options of a user who sets none.

import fc from "fast-check";
import type { Context, System } from "signalbox";
import { BulkheadFullError, bulkhead, circuitBreaker, fallback, retryPolicy } from "signalbox/service";
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from "vitest";
import { decide, initial } from "../../../lib/service/protection/bulkhead-machine.js";
import { type Gate, gate } from "../../support/gate.js";
import { sized } from "../../support/proof.js";
import { Bench } from "./bench.js";

let bench: Bench;
let system: System;
beforeEach(() => {
  bench = new Bench();
  system = bench.system;
});
afterEach(() => bench.close());

/** One list of calls: those in the first places of their key run. */
class Model {
  calls: { readonly id: number; readonly key: string; state: "waits" | "runs" }[] = [];

  readonly concurrency: number;
  readonly maxWaiting: number;

  constructor(concurrency: number, maxWaiting: number) {
    this.concurrency = concurrency;
    this.maxWaiting = maxWaiting;
  }

  of(key: string, state: "waits" | "runs"): number[] {
    return this.calls.filter((call) => call.key === key && call.state === state).map(({ id }) => id);
  }

  ask(id: number, key: string): boolean {
    const runs = this.of(key, "runs").length < this.concurrency;
    const waits = this.calls.filter(({ state }) => state === "waits").length;
    if (!runs && waits >= this.maxWaiting) return false;
    this.calls.push({ id, key, state: runs ? "runs" : "waits" });
    return true;
  }

  leave(id: number): void {
    this.calls = this.calls.filter((call) => call.id !== id || call.state === "runs");
  }

  done(key: string): number | undefined {
    const [gone] = this.of(key, "runs");
    this.calls = this.calls.filter(({ id }) => id !== gone);
    const next = this.calls.find((call) => call.key === key && call.state === "waits");
    if (next !== undefined) next.state = "runs";
    return next?.id;
  }
}

describe("the places of a bulkhead", () => {
  const key = fc.constantFrom("a", "b");
  const step = fc.record({ type: fc.constantFrom("ask", "ask", "leave", "done"), key, pick: fc.nat() });

  it("are as many as `concurrency` for each key, given in order of arrival [G16]", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 0, max: 4 }),
        fc.array(step),
        (concurrency, maxWaiting, steps) => {
          const model = new Model(concurrency, maxWaiting);
          let machine = initial({ concurrency, maxWaiting });
          let lastId = 0;
          for (const { type, key, pick } of steps) {
            const waiting = model.of(key, "waits");
            const id = type === "ask" ? ++lastId : (waiting[pick % (waiting.length || 1)] ?? 0);
            if (type === "done" && model.of(key, "runs").length === 0) continue;
            const [next, effects] = decide(machine, { type: type as "ask", id, key });
            machine = next;
            const granted = effects.filter((effect) => effect.type === "grant").map((effect) => effect.id);
            if (type === "leave") model.leave(id);
            else if (type === "done")
              expect(granted).toEqual([model.done(key)].filter((one) => one !== undefined));
            else {
              const taken = model.ask(id, key);
              expect(effects.some((effect) => effect.type === "refuse")).toBe(!taken);
              expect(granted).toEqual(model.of(key, "runs").includes(id) ? [id] : []);
            }
            const count = (state: string): number =>
              model.calls.filter((call) => call.state === state).length;
            expect([machine.running, machine.waiting]).toEqual([count("runs"), count("waits")]);
            expect([...machine.compartments.keys()].sort()).toEqual(
              [...new Set(model.calls.map((call) => call.key))].sort(),
            );
          }
        },
      ),
      { numRuns: sized(200) },
    );
  });
});

describe("a bulkhead", () => {
  const doors: Gate<string>[] = [];
  const work = (): Promise<string> => {
    const door = gate<string>();
    doors.push(door);
    return door.promise;
  };
  beforeEach(() => void doors.splice(0));

  it("runs as many calls as it may, and the others in order of arrival [G16]", async () => {
    const policy = bulkhead({ concurrency: 2 }).local(system);
    const order: number[] = [];
    const call = policy(async (_attempt, n: number) => {
      order.push(n);
      return work();
    });
    expectTypeOf(call(1)).toEqualTypeOf<Promise<string>>();
    const ends = [2, 3, 4].map((n) => bench.ending(call(n)));
    await bench.clock.settle();
    expect([order, policy.status()]).toEqual([[1, 2], { running: 2, waiting: 2 }]);
    doors[1]?.open("b");
    await bench.clock.settle();
    expect([order, policy.status()]).toEqual([[1, 2, 3], { running: 2, waiting: 1 }]);
    for (const door of doors) door.open("x");
    await bench.clock.settle();
    for (const door of doors) door.open("x");
    await bench.clock.settle();
    expect(ends.map(({ value }) => value)).toEqual(["b", "x", "x"]);
    expect([policy.status(), bench.clock.pendingTimers]).toEqual([{ running: 0, waiting: 0 }, 0]);
  });

  it("refuses the 1,001st call that would wait, and one that waits for longer than 30 s [G16]", async () => {
    const policy = bulkhead({ concurrency: 1, label: "reports" }).local(system);
    const call = policy(work);
    const ends = Array.from({ length: 1_002 }, () => bench.ending(call()));
    await bench.clock.settle();
    const refused = ends.filter(({ done }) => done);
    expect(refused.map(({ error }) => (error as Error).message)).toEqual([
      "reports had no place for a call: 1 run at once, and 1000 calls wait already",
    ]);
    expect(refused[0]?.error).toBeInstanceOf(BulkheadFullError);
    await bench.clock.advance(30_000);
    expect(ends.filter(({ done }) => done)).toHaveLength(1_001);
    expect(ends.at(1)?.error).toMatchObject({ code: "ERR_BULKHEAD_FULL", reason: "timeout" });
    expect(policy.status()).toEqual({ running: 1, waiting: 0 });
  });

  it("has a compartment for each key", async () => {
    const policy = bulkhead({ concurrency: 1 }).local(system);
    const call = policy((_attempt, _tenant: string) => work(), { key: (tenant) => tenant });
    for (const tenant of ["a", "a", "b"]) bench.ending(call(tenant));
    await bench.clock.settle();
    expect(policy.status()).toEqual({ running: 2, waiting: 1 });
    const wrong = policy(work, { key: () => 7 as never })();
    await expect(wrong).rejects.toMatchObject({
      code: "ERR_OPTION",
      message: expect.stringContaining("key"),
    });
  });

  it("keeps the place of a function that runs on after its call was given up, for 60 s at most [G17]", async () => {
    const policy = bulkhead({ concurrency: 1 }).local(system);
    const call = policy(circuitBreaker({ timeoutMs: 100 }).local(system)(work));
    const first = bench.ending(call());
    const next = bench.ending(call());
    await bench.clock.advance(100);
    expect([first.done, doors.length, policy.status()]).toEqual([true, 1, { running: 1, waiting: 1 }]);
    doors[0]?.open("late");
    await bench.clock.settle();
    expect([doors.length, policy.status()]).toEqual([2, { running: 1, waiting: 0 }]);
    await bench.clock.advance(100);
    expect(next.done).toBe(true);
    const third = bench.ending(call());
    await bench.clock.advance(29_999);
    expect(third.done).toBe(false);
    await bench.clock.advance(1);
    expect(third.error).toMatchObject({ reason: "timeout" });
    await bench.clock.advance(30_000);
    expect(policy.status()).toEqual({ running: 0, waiting: 0 });
    doors[1]?.open("much later");
    await bench.clock.settle();
    expect([policy.status(), bench.clock.pendingTimers]).toEqual([{ running: 0, waiting: 0 }, 0]);
  });

  it("takes no place for a caller that gives up or exits while it waits [G16]", async () => {
    const policy = bulkhead({ concurrency: 1 }).local(system);
    const call = policy(work);
    bench.ending(call());
    const stop = new AbortController();
    const aborted = bench.ending(call.with({ signal: stop.signal })());
    const pid = system.spawn(async (ctx: Context<never>) => {
      await call.with({ from: ctx })();
    });
    await bench.clock.settle();
    expect(policy.status()).toEqual({ running: 1, waiting: 2 });
    stop.abort(new Error("enough"));
    system.exit(pid, "kill");
    await bench.clock.settle();
    expect(aborted.error).toEqual(new Error("enough"));
    expect(policy.status()).toEqual({ running: 1, waiting: 0 });
    doors[0]?.open("x");
    await bench.clock.settle();
    expect([doors.length, policy.status()]).toEqual([1, { running: 0, waiting: 0 }]);
  });

  it("is no failure of the service for a breaker around it", async () => {
    const breaker = circuitBreaker().local(system);
    const policy = bulkhead({ concurrency: 1, maxWaiting: 0 }).local(system);
    const call = breaker(policy(work));
    bench.ending(call());
    await bench.clock.settle();
    await expect(call()).rejects.toBeInstanceOf(BulkheadFullError);
    expect(await breaker.status()).toMatchObject({ calls: 0, failed: 0 });
  });
});

describe("a fallback", () => {
  const broken = new Error("broken");
  const fails = async (_attempt: unknown, _item: string): Promise<number> => {
    throw broken;
  };

  it("answers in place of a call that failed, with its error and its arguments [G18]", async () => {
    const cached = fallback(({ error, args }) => ({ error, args })).local(system);
    const call = cached(retryPolicy({ attempts: 1 }).local(system)(fails));
    expectTypeOf(call).toBeCallableWith("tea");
    expectTypeOf(call("tea")).toEqualTypeOf<Promise<number | { error: unknown; args: readonly unknown[] }>>();
    expect(await call("tea")).toEqual({ error: broken, args: ["tea"] });
    expect(await cached(async () => 5)()).toBe(5);
  });

  it("passes other errors on, and what it throws itself [G18]", async () => {
    const none = fallback(() => 1, { when: (error) => error !== broken }).local(system);
    await expect(none(fails)("tea")).rejects.toBe(broken);
    const worse = fallback(async () => {
      throw new RangeError("no cache");
    }).local(system);
    await expect(worse(fails)("tea")).rejects.toEqual(new RangeError("no cache"));
  });

  it("does not answer a caller that gave up, and ends with it [G18]", async () => {
    const answers: AbortSignal[] = [];
    const stop = new AbortController();
    const slow = fallback(({ signal }) => {
      answers.push(signal);
      return new Promise<never>(() => undefined);
    }).local(system);
    const waits = bench.ending(
      slow(() => new Promise<never>(() => undefined)).with({ signal: stop.signal })(),
    );
    const answered = bench.ending(slow(fails).with({ signal: stop.signal })("tea"));
    await bench.clock.settle();
    expect(answers).toHaveLength(1);
    stop.abort(broken);
    await bench.clock.settle();
    expect([waits.error, answered.error, answers[0]?.reason]).toEqual([broken, broken, broken]);
    expect(answers).toHaveLength(1);
  });

  it("refuses what is no function", () => {
    expect(() => fallback(5 as never)).toThrow("use");
    expect(() => fallback(() => 1, { when: 1 as never })).toThrow("when");
    expect(() => fallback(() => 1, { wen: 1 } as never)).toThrow("when");
    expect(() => bulkhead({} as never)).toThrow("concurrency");
    expect(() => bulkhead({ concurency: 1 } as never)).toThrow("concurrency");
  });
});
