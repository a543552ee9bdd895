// The walk over all processes, in slices between which processes come and go.

import fc from "fast-check";
import { System } from "signalbox";
import { testClock } from "signalbox/testing";
import { expect, onTestFinished, test } from "vitest";
import type { Process } from "../../lib/process/process.js";
import { SLICE, type SliceLimits, walk } from "../../lib/process/walk.js";

const idle = { handle: () => undefined };

function populated(count: number) {
  const clock = testClock();
  const system = new System({ name: "shop", report: false, environment: clock.environment });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  const pids = Array.from({ length: count }, () => system.spawn(idle));
  return { clock, system, pids };
}

const slices = (visits: number): SliceLimits => ({ ...SLICE, visits });

/** What happens after each slice: ends of processes, by their places in the list at that time, and spawns. */
const changes = fc.array(fc.record({ ends: fc.array(fc.nat(30), { maxLength: 6 }), spawns: fc.nat(4) }), {
  maxLength: 20,
});

test("a walk meets every process that lives through it once, and none that is spawned meanwhile [N1530]", async () => {
  const run = async (count: number, visits: number, plan: readonly { ends: number[]; spawns: number }[]) => {
    const { clock, system } = populated(count);
    const { kernel } = system;
    const begun = kernel.processes().map(({ pid }) => pid.id);
    const met: number[] = [];
    let slice = 0;
    const change = (): void => {
      const { ends, spawns } = plan[slice++] ?? { ends: [], spawns: 0 };
      for (const place of ends) {
        const living = system.processes();
        const one = living[place % Math.max(living.length, 1)];
        if (one !== undefined) system.exit(one, "kill");
      }
      for (let i = 0; i < spawns; i++) system.spawn(idle);
    };
    const visit = (process: Process): boolean => met.push(process.pid.id) > 0;
    const walked = walk(kernel, { visit }, slices(visits));
    while (kernel.cursors !== undefined) {
      change();
      await clock.advance(0);
    }
    await walked;
    const left = new Set(kernel.processes().map(({ pid }) => pid.id));
    expect(met).toEqual([...met].sort((a, b) => b - a));
    expect(new Set(met).size).toBe(met.length);
    expect(begun).toEqual(expect.arrayContaining(met));
    expect(met).toEqual(expect.arrayContaining(begun.filter((id) => left.has(id))));
    await system.stop({ timeoutMs: 0 });
  };
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 1, max: 8 }), changes, run),
    { numRuns: 100 },
  );
});

test("a slice ends when its time is over, and other work runs before the next one [N1530]", async () => {
  const { clock, system } = populated(20);
  const order: string[] = [];
  const visit = (): boolean => {
    clock.elapse(0.25);
    return true;
  };
  const limits = { ms: 1, visits: 4_096, unseen: 1 };
  const walked = walk(system.kernel, { visit, slice: () => order.push("slice") }, limits);
  const other = system.spawn<number>({ handle: () => void order.push("message") });
  for (let i = 0; i < 5; i++) {
    system.send(other, i);
    await clock.advance(0);
  }
  expect(await walked).toEqual({ costMs: 5, tookMs: 5 });
  expect(order).toEqual([
    "slice",
    "message",
    "slice",
    "message",
    "slice",
    "message",
    "slice",
    "message",
    "slice",
    "message",
  ]);
});

test("a small system is walked at once, without a timer [N1530]", async () => {
  const { clock, system, pids } = populated(100);
  const timers = clock.pendingTimers;
  let met = 0;
  void walk(system.kernel, { visit: () => ++met > 0 });
  expect(met).toBe(pids.length);
  expect(clock.pendingTimers).toBe(timers);
});

test("a walk that has ended holds no place in the list: at its end, when it has seen enough, at an error, and when the system stops [N1531]", async () => {
  const { clock, system } = populated(10);
  const { kernel } = system;
  const waits = kernel.waits;
  const isReleased = (): boolean => kernel.cursors === undefined && kernel.waits === waits;
  await walk(kernel, { visit: () => true });
  expect(isReleased()).toBe(true);
  await walk(kernel, { visit: () => false }, slices(2));
  expect(isReleased()).toBe(true);
  const failed = walk(kernel, {
    visit: () => {
      throw new Error("unreadable");
    },
  });
  await expect(failed).rejects.toThrow("unreadable");
  expect(isReleased()).toBe(true);
  let met = 0;
  const later = (): boolean => {
    if (++met > 3) throw new Error("unreadable");
    return true;
  };
  const failing = walk(kernel, { visit: later }, slices(2));
  const rejected = expect(failing).rejects.toThrow("unreadable");
  await clock.advance(0);
  await rejected;
  expect(isReleased()).toBe(true);
  const stopped = walk(kernel, { visit: () => true }, slices(2));
  const refused = expect(stopped).rejects.toMatchObject({ code: "ERR_SYSTEM_STOPPED" });
  await clock.until(system.stop({ timeoutMs: 0 }));
  await refused;
  expect(kernel.cursors).toBeUndefined();
});
