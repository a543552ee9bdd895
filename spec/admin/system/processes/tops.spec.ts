// The operation `top`: orders, rates from two walks, searches, and one walk for all that ask at the same time.

import fc from "fast-check";
import { defineServer, System } from "signalbox";
import { testClock } from "signalbox/testing";
import { expect, onTestFinished, test } from "vitest";
import { keptFor } from "../../../../lib/admin/history/kept.js";
import { KernelOperations } from "../../../../lib/admin/system/kernel-operations.js";
import type { TopOptions } from "../../../../lib/admin/system/processes/operations.js";
import { nextWalkAt } from "../../../../lib/admin/system/processes/tops.js";
import { Cursor } from "../../../../lib/process/cursor.js";
import { SLICE } from "../../../../lib/process/walk.js";

function shop() {
  const clock = testClock();
  const system = new System({ name: "shop", report: false, environment: clock.environment });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  const on = new KernelOperations(system.kernel);
  const top = (options?: TopOptions) => clock.until(on.top(options));
  return { clock, system, on, top };
}

/** A process that handles nothing until its gate opens, so its mailbox stays as deep as it was filled. */
const closed = { handle: () => new Promise<void>(() => undefined) };

test("the deepest mailboxes come first, and with equal ones the oldest process [N1532]", async () => {
  const fill = async (depths: readonly number[], limit: number) => {
    const { clock, system, top } = shop();
    const pids = depths.map((depth) => {
      const pid = system.spawn<number>(closed);
      for (let i = 0; i <= depth; i++) system.send(pid, i);
      return pid;
    });
    await clock.settle();
    const all = pids.map(({ id }, i) => ({ id, mailboxDepth: depths[i] as number }));
    const sorted = all.sort((a, b) => b.mailboxDepth - a.mailboxDepth || a.id - b.id);
    const shown = await top({ limit });
    expect(shown).toMatchObject({ total: depths.length, matched: depths.length });
    expect(shown.processes.map(({ pid, mailboxDepth }) => ({ pid, mailboxDepth }))).toEqual(
      sorted.slice(0, limit).map(({ id, mailboxDepth }) => ({ pid: `shop.${id}`, mailboxDepth })),
    );
    await system.stop({ timeoutMs: 0 });
  };
  const depths = fc.array(fc.nat(6), { maxLength: 30 });
  await fc.assert(fc.asyncProperty(depths, fc.integer({ min: 1, max: 8 }), fill), { numRuns: 40 });
});

test("rates are the differences of two walks, and a process that is new since the first counts from nothing [N1533]", async () => {
  const { clock, system, on, top } = shop();
  const busy = system.spawn<number>({ handle: () => undefined });
  const stuck = system.spawn<number>(closed);
  const idle = system.spawn<number>({ handle: () => undefined });
  for (let i = 0; i < 10; i++) system.send(busy, i);
  await clock.settle();
  const first = await top({ by: "handled" });
  expect(first.processes.map(({ pid }) => pid)).toEqual([busy, stuck, idle].map(({ id }) => `shop.${id}`));
  expect(first.processes.every((one) => one.handledPerS === undefined && one.growthPerS === undefined)).toBe(
    true,
  );
  for (let i = 0; i < 50; i++) system.send(busy, i);
  for (let i = 0; i < 21; i++) system.send(stuck, i);
  const fresh = system.spawn<number>({ handle: () => undefined });
  for (let i = 0; i < 200; i++) system.send(fresh, i);
  await clock.advance(2_000);
  const byHandled = await top({ by: "handled", limit: 2 });
  expect(byHandled.processes).toMatchObject([
    { pid: `shop.${fresh.id}`, handledPerS: 100, growthPerS: 0, ageMs: 1_000 },
    { pid: `shop.${busy.id}`, handledPerS: 25, growthPerS: 0 },
  ]);
  const byGrowth = await top({ by: "growth", limit: 1 });
  expect(byGrowth.processes).toMatchObject([{ pid: `shop.${stuck.id}`, growthPerS: 10 }]);
  expect(await clock.until(on.overview())).toMatchObject({ processes: 4, handledPerS: 126 });
  expect((await top({ by: "age", limit: 1 })).processes).toMatchObject([{ pid: `shop.${busy.id}` }]);
});

test("rates end with the last look, and begin anew with the next one [N1533]", async () => {
  const { clock, system, top } = shop();
  system.spawn<number>({ handle: () => undefined });
  await top();
  await clock.advance(300);
  expect((await top()).processes[0]?.handledPerS).toBe(0);
  await clock.advance(31_000);
  expect(keptFor(system.kernel).isOn).toBe(false);
  expect(clock.pendingTimers).toBe(0);
  expect((await top()).processes[0]?.handledPerS).toBeUndefined();
});

test("a search finds labels, names, pids and kinds, whatever their case [N1532]", async () => {
  const { clock, system, top } = shop();
  const Till = defineServer({ init: () => ({}), calls: { pay: () => 1 } });
  system.spawn(closed, { label: "Northern Clerk" });
  system.spawn(closed, { name: "cellar" });
  await clock.until(system.start(Till));
  const found = async (options: TopOptions) =>
    (await top(options)).processes.map(({ label, name, kind }) => label ?? name ?? kind);
  expect(await found({ find: "CLERK" })).toEqual(["Northern Clerk"]);
  expect(await found({ find: "ell" })).toEqual(["cellar"]);
  expect(await found({ find: "shop.3" })).toEqual(["server"]);
  expect(await found({ kind: "server" })).toEqual(["server"]);
  expect(await found({ find: "erve" })).toEqual(["server"]);
  expect(await found({ find: "nobody" })).toEqual([]);
  expect(await top({ find: "clerk", limit: 1 })).toMatchObject({ total: 3, matched: 1 });
  for (const wrong of [
    { by: "size" },
    { limit: 0 },
    { limit: 501 },
    { find: "" },
    { find: "x".repeat(201) },
    { kind: 7 },
    { first: 1 },
  ])
    expect(() => shop().on.top(wrong as never)).toThrow(expect.objectContaining({ code: "ERR_OPTION" }));
});

test("calls at the same time share one walk, whatever they ask, and equal ones share the answer [N1534]", async () => {
  const { clock, system, on } = shop();
  // The walk with which the history begins.
  await on.treeAt();
  for (let i = 0; i <= SLICE.visits; i++) system.spawn({ handle: () => undefined });
  const before = clock.pendingTimers;
  const walks = () =>
    [system.kernel.cursors].flatMap((one) => (one instanceof Cursor ? [one] : [...(one ?? [])]));
  const same = [on.top({ limit: 3 }), on.top({ limit: 3 })];
  expect(same[0]).toBe(same[1]);
  expect(walks()).toHaveLength(1);
  // It waits for the walk after this one.
  const other = on.top({ by: "age", limit: 1 });
  const third = on.top({ by: "busy", limit: 1 });
  expect(on.top({ by: "age", limit: 1 })).toBe(other);
  expect(walks()).toHaveLength(1);
  expect(on.top({ limit: 3 })).toBe(same[0]);
  const answers = await clock.until(Promise.all([...same, other, third]));
  expect(answers.map(({ total }) => total)).toEqual(Array(4).fill(SLICE.visits + 1));
  expect(walks()).toHaveLength(0);
  expect(clock.pendingTimers).toBeGreaterThanOrEqual(before);
});

test("who has an answer and asks again gets a later one [N1534]", async () => {
  const { clock, system, on } = shop();
  system.spawn({ handle: () => undefined });
  const again = on.top().then(() => {
    system.spawn({ handle: () => undefined });
    return on.top();
  });
  expect(await clock.until(again)).toMatchObject({ total: 2 });
});

test("the overview has the deepest mailboxes that are not empty, and does not wait for a walk that must wait [N1534]", async () => {
  const { clock, system, on } = shop();
  const deep = system.spawn<number>(closed, { label: "deep" });
  system.spawn({ handle: () => undefined });
  for (let i = 0; i < 4; i++) system.send(deep, i);
  await clock.settle();
  const deepest = [{ pid: `shop.${deep.id}`, label: "deep", name: undefined, mailboxDepth: 3 }];
  expect(await clock.until(on.overview())).toMatchObject({ deepest });
  const depth = (): number => {
    clock.elapse(10);
    return 3;
  };
  Object.defineProperty(deep.process, "depth", { get: depth });
  await clock.until(on.top());
  const begun = clock.now;
  expect(await on.overview()).toMatchObject({ deepest });
  expect(clock.now).toBe(begun);
});

test("walks take at most a hundredth of the thread: the next one waits [N1534]", async () => {
  const { clock, system, on } = shop();
  expect(nextWalkAt(1_000, 20)).toBe(3_000);
  const slow = system.spawn({ handle: () => undefined });
  // A walk that costs 1 ms. A slice would count as 1.5 ms at most: where it takes longer, the host did something else meanwhile.
  const depth = (): number => {
    clock.elapse(1);
    return 0;
  };
  Object.defineProperty(slow.process, "depth", { get: depth });
  await clock.until(on.top());
  const begun = clock.now;
  const again = on.top();
  let isDone = false;
  void again.then(() => {
    isDone = true;
  });
  await clock.advance(80);
  expect(isDone).toBe(false);
  await clock.advance(30);
  expect(isDone).toBe(true);
  expect(clock.now - begun).toBeLessThan(200);
});

test("a stop of the system ends a `top` that waits for its walk [N1531]", async () => {
  const { clock, system, on } = shop();
  for (let i = 0; i <= SLICE.visits; i++) system.spawn({ handle: () => undefined });
  const walking = expect(on.top()).rejects.toMatchObject({ code: "ERR_SYSTEM_STOPPED" });
  const waiting = expect(on.top({ by: "age" })).rejects.toMatchObject({ code: "ERR_SYSTEM_STOPPED" });
  await clock.until(system.stop({ timeoutMs: 0 }));
  await Promise.all([walking, waiting]);
});
