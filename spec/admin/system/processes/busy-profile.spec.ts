// Shares of busy time by samples: on the production scheduler, with handlers that take virtual time.

import { System } from "signalbox";
import { testClock } from "signalbox/testing";
import { expect, onTestFinished, test } from "vitest";
import { BusyProfile } from "../../../../lib/admin/system/processes/busy-profile.js";

function profiled() {
  const clock = testClock();
  const system = new System({ name: "shop", report: false, environment: clock.environment });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  const profile = new BusyProfile(0, clock.environment.random);
  system.kernel.scheduler.profile?.(profile);
  /** A process that takes so many milliseconds for each message. */
  const worker = (ms: number) => system.spawn<number>({ handle: () => clock.elapse(ms) });
  const share = (ids: readonly number[]) => {
    const reader = profile.reader(clock.now);
    const falling = [...ids].sort((a, b) => b - a);
    const shares = new Map(falling.map((id) => [id, reader?.(id) ?? Number.NaN]));
    return ids.map((id) => shares.get(id) as number);
  };
  return { clock, system, profile, worker, share };
}

test("shares are those of the time that each process takes, in whatever company it runs [N1535]", async () => {
  const { clock, system, worker, share } = profiled();
  const dear = worker(0.4);
  const cheap = Array.from({ length: 300 }, () => worker(0.002));
  const idle = worker(1);
  // Each round takes 1 ms: 0.4 of it are of one process, and 0.6 of 300 others.
  for (let round = 0; round < 2_000; round++) {
    for (const pid of cheap) system.send(pid, round);
    system.send(dear, round);
    await clock.settle();
  }
  await clock.advance(2_000);
  const shares = share([dear.id, idle.id, ...cheap.map(({ id }) => id)]);
  const [ofDear, ofIdle, ...ofCheap] = shares as [number, number, ...number[]];
  expect(ofDear).toBeGreaterThan(0.16);
  expect(ofDear).toBeLessThan(0.24);
  expect(ofIdle).toBe(0);
  const rest = ofCheap.reduce((sum, one) => sum + one, 0);
  expect(rest).toBeGreaterThan(0.25);
  expect(rest).toBeLessThan(0.35);
});

test("one process that blocks the thread has all of it, and nothing is told before half a second was seen [N1535]", async () => {
  const { clock, system, profile, worker, share } = profiled();
  const blocking = worker(300);
  system.send(blocking, 1);
  await clock.settle();
  expect(profile.reader(clock.now)).toBeUndefined();
  system.send(blocking, 2);
  await clock.settle();
  expect(share([blocking.id])[0]).toBeCloseTo(1, 1);
});

test("the code of a process that goes on after an await counts for it [N1535]", async () => {
  const { clock, system, share } = profiled();
  const patient = system.spawn<number>({
    handle: async () => {
      await undefined;
      clock.elapse(5);
    },
  });
  for (let i = 0; i < 100; i++) {
    system.send(patient, i);
    await clock.settle();
  }
  await clock.advance(500);
  expect(share([patient.id])[0]).toBeGreaterThan(0.45);
});

test("only the last five seconds count, and ticks that do not fit are the oldest [N1535]", () => {
  const profile = new BusyProfile(0, () => 0);
  const one = { pid: { id: 7 }, activate: () => 0 };
  const two = { pid: { id: 9 }, activate: () => 0 };
  profile.ran(one, 1, 9_000_000, 5_000, false);
  expect(profile.reader(6_000)?.(7)).toBe(1);
  profile.ran(two, 1, 1_000, 14_000, false);
  const late = profile.reader(14_000);
  expect([late?.(9), late?.(7)]).toEqual([0.2, 0]);
});

test("without a profile the scheduler times nothing one by one [N1535]", async () => {
  const { clock, system, profile, worker } = profiled();
  system.kernel.scheduler.profile?.(undefined);
  const one = worker(100);
  for (let i = 0; i < 20; i++) system.send(one, i);
  await clock.advance(1_000);
  expect(profile.reader(clock.now)?.(one.id)).toBe(0);
});
