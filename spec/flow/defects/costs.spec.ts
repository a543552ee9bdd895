// Defects of hosts that run for long: what a step costs, what it leaves behind, and what a host does that has nothing to do. All is
// counted, nothing is timed.

import { type ChildSpec, System, supervisor } from "signalbox";
import { type AnyFlow, defineFlow, flowHost, type StepContext } from "signalbox/flow";
import { memory } from "signalbox/store";
import { flowKit, testClock } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import type { Interceptor } from "../../../lib/flow/runtime/port.js";
import { left } from "../../support/collected.js";
import { gate } from "../../support/gate.js";
import { proving, sized } from "../../support/proof.js";
import { Hosts, watched } from "./support.js";

const HOUR = 3_600_000;
const POLL_MS = 5_000;
/** A shared store is asked for each queue again and again. */
const SHARED_QUEUES = proving ? 35 : 10;
const NO_INPUT = undefined as never;

/** How many things a state holds, in all its lists, maps and sets, besides the journal that it was read from. */
function sizeOf(state: object): number {
  let size = 0;
  for (const [name, value] of Object.entries(state)) {
    if (name === "history" || name === "recorded") continue;
    if (Array.isArray(value)) size += value.length;
    else if (value instanceof Map || value instanceof Set) size += value.size;
  }
  return size;
}

describe("a host", () => {
  it("15: recovers flows when the resources that were started before it are ready, also after a crash of theirs", async () => {
    const log: string[] = [];
    let { promise: opening, open } = gate();
    const flow = defineFlow("user of the pool", (ctx) =>
      ctx.step("one", () => {
        log.push("step");
        return new Promise(() => undefined);
      }),
    );
    const store = memory();
    const clock = testClock();
    const pool: ChildSpec = {
      ...{ id: "pool", name: "pool" },
      start: {
        async init() {
          log.push("pool opens");
          await opening;
          log.push("pool is ready");
        },
        handle: () => {
          throw new Error("the pool broke");
        },
      },
    };
    const definition = flowHost({ store, flows: [flow as AnyFlow] });
    const children: ChildSpec[] = [pool, { id: "flows", name: "flows", start: definition }];
    const boot = (): System => {
      const system = new System({ environment: clock.environment, report: false });
      system.start(supervisor({ strategy: "rest_for_one", intensity: 5, children })).catch(() => undefined);
      return system;
    };
    const recovered = async (): Promise<void> => {
      await clock.advance(60_000);
      expect(log.splice(0)).toEqual(["pool opens"]);
      open();
      await clock.advance(1);
      expect(log.splice(0)).toEqual(["pool is ready", "step"]);
    };

    open();
    const first = boot();
    await clock.settle();
    await clock.until(definition.at(first, "flows").start(flow, NO_INPUT, { id: "f" }));
    await clock.settle();
    await clock.until(first.stop({ timeoutMs: 0 }));
    expect(log.splice(0)).toEqual(["pool opens", "pool is ready", "step"]);
    ({ promise: opening, open } = gate());
    const second = boot();
    await recovered();
    ({ promise: opening, open } = gate());
    second.send("pool", "break");
    await recovered();
    await clock.until(second.stop({ timeoutMs: 0 }));
  });

  it("22: that has nothing to do and many queues asks its own store for nearly nothing, and a shared one for the same each hour", async () => {
    const flow = defineFlow("idle", async (ctx) => ctx.step("one", () => 1));
    /** Calls of the store and timers, hour by hour. */
    const idle = async (
      shared: boolean,
      queueCount: number,
    ): Promise<readonly (readonly [calls: number, timers: number])[]> => {
      const names = Array.from({ length: queueCount }, (_, i) => `q${i}`);
      const queues = Object.fromEntries(names.map((name) => [name, { concurrency: 2 }]));
      await using hosts = new Hosts();
      let calls = 0;
      const store = watched(shared ? hosts.source : memory(), () => void calls++);
      const system = new System({ environment: hosts.clock.environment, report: false });
      const options = { store, flows: [flow as AnyFlow], queues, limits: { pollMs: POLL_MS } };
      const host = await hosts.clock.until(system.start(flowHost(options)));
      for (const queue of names) {
        const run = host.start(flow, NO_INPUT, { queue });
        await hosts.clock.until(run.then((one) => one.result()));
      }
      await hosts.clock.advance(proving ? HOUR : HOUR / 4);
      const found: (readonly [number, number])[] = [];
      for (let i = 0; i < 2; i++) {
        calls = 0;
        await hosts.clock.advance(HOUR);
        found.push([calls, hosts.clock.pendingTimers]);
      }
      await hosts.clock.until(system.stop());
      return found;
    };
    // A look at the schedules every five minutes: the clock, what is due, and what a clock that was set back has opened.
    expect(await idle(false, 35)).toEqual([
      [36, 1],
      [36, 1],
    ]);
    const [first, second] = await idle(true, SHARED_QUEUES);
    expect(second).toEqual(first);
    // A look at each queue every 30 s is four reads.
    expect(first?.[0]).toBeLessThanOrEqual(SHARED_QUEUES * 120 * 4 + (HOUR / POLL_MS) * 4 + 36);
  });
});

describe("a step", () => {
  it("21: costs the same after 10 steps and after thousands: calls and bytes of the store, and what the flow holds", async () => {
    const steps = sized(400, 1, 1_000);
    let now = { calls: 0, bytes: 0, size: 0 };
    const seen: (typeof now)[] = [];
    const store = watched(memory(), (_, given) => {
      now.calls++;
      now.bytes += JSON.stringify(given)?.length ?? 0;
    });
    const counting: Interceptor = (next) => (state, event) => {
      const result = next(state, event);
      now.size = Math.max(now.size, sizeOf(state));
      return result;
    };
    const long = defineFlow("long", async (ctx) => {
      let sum = 0;
      for (let i = 0; i < steps; i++) {
        sum += await ctx.step("add", () => 1);
        seen.push(now);
        now = { calls: 0, bytes: 0, size: 0 };
      }
      return sum;
    });
    const clock = testClock({ turns: 100 * steps });
    await using kit = await flowKit({ flows: [long], store, clock, host: { interceptors: [counting] } });
    const run = await kit.start(long, undefined, { id: "f" });
    expect(await run.result()).toBe(steps);
    const { calls, bytes, size } = seen[10] as typeof now;
    expect(bytes).toBeGreaterThan(0);
    for (const one of seen.slice(10)) {
      expect(one.calls).toBe(calls);
      expect(one.size).toBe(size);
      // Numbers have more digits by then, some of them.
      expect(one.bytes).toBeLessThan(bytes + 20);
    }
  });

  it("22: leaves nothing behind: no object of its own and no timer", async () => {
    const refs: WeakRef<object>[] = [];
    const flow = defineFlow("many", async (ctx, steps: number) => {
      const body = (step: StepContext): object => {
        const result = { steps };
        refs.push(new WeakRef(result), new WeakRef(step));
        return result;
      };
      for (let i = 0; i < steps; i++)
        await ctx.step("one", body, { timeout: "1 hour", retry: { attempts: 3 } });
      return steps;
    });
    const clock = testClock();
    await using kit = await flowKit({ flows: [flow], clock });
    await (await kit.start(flow, 1)).result();
    await kit.settle();
    const timers = [clock.pendingTimers, clock.pendingAlarms];
    for (let i = 0; i < 20; i++) await (await kit.start(flow, 20)).result();
    await kit.settle();
    expect([clock.pendingTimers, clock.pendingAlarms]).toEqual(timers);
    expect(refs).toHaveLength(802);
    // The last flow may still be on the stack of the engine.
    expect(await left(refs)).toBeLessThan(10);
  });
});
