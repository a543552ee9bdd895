// Processes are found by number, by kind and page by page, without a look at all of them each time.

import fc from "fast-check";
import { ConsumerGroup, consumer, System, supervisor } from "signalbox";
import { testClock } from "signalbox/testing";
import { expect, onTestFinished, test } from "vitest";
import { KernelOperations } from "../../../../lib/admin/system/kernel-operations.js";
import { ProcessIndex } from "../../../../lib/admin/system/processes/process-index.js";
import type { Process } from "../../../../lib/process/process.js";
import { SLICE } from "../../../../lib/process/walk.js";
import { collect } from "../../support/wire.js";

function shop() {
  const clock = testClock();
  const system = new System({ name: "shop", report: false, environment: clock.environment });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  return { clock, system };
}

const nothing = { handle: () => undefined };
const Shelf = supervisor({ children: [] });

/** Counts the steps of all cursors from now on. */
function steps(process: Process | undefined) {
  let count = 0;
  const prototype = Object.getPrototypeOf(process);
  const alive = Object.getOwnPropertyDescriptor(prototype, "alive") as PropertyDescriptor;
  Object.defineProperty(prototype, "alive", {
    configurable: true,
    get(this: Process) {
      count++;
      return alive.get?.call(this);
    },
  });
  onTestFinished(() => void Object.defineProperty(prototype, "alive", alive));
  return () => {
    const before = count;
    count = 0;
    return before;
  };
}

test("a process that was shown before is found by its pid without a walk [N1539]", async () => {
  const { clock, system } = shop();
  const [first] = Array.from({ length: SLICE.visits + 10 }, () => system.spawn(nothing));
  const on = new KernelOperations(system.kernel);
  const id = `shop.${first?.id}`;
  const counted = steps(first?.process);
  expect(await clock.until(on.process(id))).toMatchObject({ pid: id });
  expect(counted()).toBeGreaterThan(SLICE.visits);
  expect(await on.process(id)).toMatchObject({ pid: id });
  expect(counted()).toBeLessThan(5);
  system.exit(first as never, "kill");
  await expect(on.process(id)).rejects.toMatchObject({ code: "ERR_NO_PROCESS" });
});

test("lists of supervisors and groups look only at processes that are new since the last look [N1539]", async () => {
  const { clock, system } = shop();
  const on = new KernelOperations(system.kernel);
  const supervisors = () => clock.until(collect(on.supervisors()));
  await clock.until(system.start(Shelf));
  const other = Array.from({ length: 500 }, () => system.spawn(nothing))[0];
  const counted = steps(other?.process);
  expect(await supervisors()).toHaveLength(1);
  expect(counted()).toBeGreaterThan(500);
  const second = await clock.until(system.start(Shelf));
  const clerks = new ConsumerGroup<number, void>({ name: "clerks" });
  system.spawn(consumer<number, void>(() => undefined, { group: clerks }));
  const dying = system.spawn(nothing);
  system.exit(dying, "kill");
  counted();
  expect(await supervisors()).toHaveLength(2);
  expect(await clock.until(collect(on.groups()))).toMatchObject([{ name: "clerks", consumers: 1 }]);
  expect(counted()).toBeLessThan(20);
  system.exit(second.pid, "kill");
  await clock.settle();
  expect(await supervisors()).toHaveLength(1);
});

test("a process that starts is found by its kind when it has one [N1539]", async () => {
  const { clock, system } = shop();
  const index = new ProcessIndex(system.kernel);
  const starting = system.start(Shelf);
  expect(await index.of("supervisor")).toEqual([]);
  const ref = await clock.until(starting);
  expect((await index.of("supervisor")).map(({ pid }) => pid)).toEqual([ref.pid]);
});

test("the list of processes is the same page by page, while processes come and go between pages [N1539]", async () => {
  const page = async (count: number, limit: number, ends: readonly number[]) => {
    const { clock, system } = shop();
    const on = new KernelOperations(system.kernel);
    const pids = Array.from({ length: count }, () => system.spawn(nothing));
    const ended = new Set<string>();
    const shown: string[] = [];
    for (let after: string | undefined; ; ) {
      const range = after === undefined ? { limit } : { limit, after };
      const items = await clock.until(collect(on.processes(range)));
      shown.push(...items.map(({ pid }) => pid));
      after = items.at(-1)?.pid;
      if (items.length < limit || after === undefined) break;
      const one = pids[ends[shown.length % ends.length] ?? 0];
      if (one !== undefined) {
        system.exit(one, "kill");
        ended.add(`shop.${one.id}`);
      }
    }
    const all = pids.map(({ id }) => `shop.${id}`);
    expect(shown.filter((pid) => !ended.has(pid))).toEqual(all.filter((pid) => !ended.has(pid)));
    expect(new Set(shown).size).toBe(shown.length);
    await system.stop({ timeoutMs: 0 });
  };
  const ends = fc.array(fc.nat(30), { minLength: 1, maxLength: 5 });
  await fc.assert(fc.asyncProperty(fc.nat(30), fc.integer({ min: 1, max: 9 }), ends, page), { numRuns: 40 });
});
