// The supervision tree of a system at earlier times, by real supervisors and nothing else.

import {
  type Callbacks,
  custom,
  dynamicSupervisor,
  type Pid,
  partitionSupervisor,
  System,
  supervisor,
} from "signalbox";
import { testClock } from "signalbox/testing";
import { expect, onTestFinished, test } from "vitest";
import { historyFor } from "../../../lib/admin/history/history.js";
import type { PastSupervisor, PastTree } from "../../../lib/admin/history/past-tree.js";
import { KernelOperations } from "../../../lib/admin/system/kernel-operations.js";
import { remoteOperations, systemService } from "../../../lib/admin/system/system-table.js";
import { gate } from "../../support/gate.js";
import { wireTo } from "../support/wire.js";
import { shop } from "./bench.js";

const idle: Callbacks<unknown> = { handle: () => undefined };

/** The tree as text: each supervisor with its children. */
const text = ({ supervisors }: PastTree): readonly string[] =>
  supervisors.map(
    ({ label, listed }) => `${label}: ${listed.map(({ id, status }) => `${id} ${status}`).join(", ")}`,
  );
const of = (tree: PastTree, label: string): PastSupervisor | undefined =>
  tree.supervisors.find((one) => one.label === label);

/** A shop with two floors, whose tills rest for a second before they are restarted. */
const floors = supervisor({
  label: "shop",
  children: [
    {
      id: "front",
      start: supervisor({
        label: "front",
        intensity: 9,
        backoff: { minMs: 1_000, maxMs: 1_000, jitter: 0 },
        strategy: "rest_for_one",
        children: ["till", "scale"].map((id) => ({ id, name: id, start: idle })),
      }),
    },
    { id: "door", name: "door", start: idle, restart: "temporary" },
  ],
});

test("the tree at a time has what ran then, with what has become of it since [N1620] [N1621]", async () => {
  const { clock, system, on } = await shop();
  const root = await clock.until(system.start(floors));
  await clock.advance(5_000);
  const { at: whole } = await on.treeAt();
  const till = system.whereis("till");
  await clock.advance(5_000);
  system.exit("till", custom("jammed"));
  system.exit("door", "kill");
  await clock.advance(500);
  const resting = await on.treeAt();
  expect(text(resting)).toEqual(["shop: front running", "front: till restarting, scale stopped"]);
  expect(of(resting, "front")?.listed[0]).toMatchObject({ reason: 'custom "jammed"', restarts: 0 });
  expect(of(resting, "front")?.listed[1]).toMatchObject({ reason: "stopped by its supervisor" });
  await clock.advance(5_000);
  await clock.until(root.startChild({ id: "bell", start: idle }));
  await clock.until(root.terminateChild("front"));
  await clock.advance(1_000);
  const now = await on.treeAt();
  expect(text(now)).toEqual(["shop: front stopped, bell running"]);
  const then = await on.treeAt({ at: whole });
  expect(text(then)).toEqual(["shop: front running, door running", "front: till running, scale running"]);
  expect(of(then, "front")).toMatchObject({ ended: { reason: "shutdown" }, parent: of(then, "shop")?.pid });
  expect(of(then, "front")?.listed[0]).toMatchObject({
    pid: `shop.${till?.id}`,
    ended: { at: whole + 5_000, reason: 'custom "jammed"' },
  });
  expect(of(then, "shop")?.listed[1]).toMatchObject({ id: "door", ended: { reason: "killed" } });
  expect(of(then, "shop")?.ended).toBeUndefined();
  // Step by step through the changes.
  expect((await on.treeAt({ at: whole })).later).toBe(whole + 5_000);
  expect(text(await on.treeAt({ at: resting.at }))).toEqual(text(resting));
});

test("a tree from before the history is found with it, and each kind of supervisor is followed [N1622]", async () => {
  const { clock, system, on } = await unkept();
  await clock.until(system.start(floors));
  const definition = dynamicSupervisor({ label: "lines", intensity: 9, child: { id: "line", start: idle } });
  const lines = await clock.until(system.start(definition));
  const parts = partitionSupervisor({ label: "parts", partitions: 2, child: { start: idle } });
  await clock.until(system.start(parts));
  const line = (await clock.until(lines.startLike())) as Pid<unknown>;
  const begun = await on.treeAt();
  expect(text(begun)).toEqual([
    "shop: front running, door running",
    "front: till running, scale running",
    "lines: line running",
    "parts: 0 running, 1 running",
  ]);
  expect(begun.since).toBe(begun.at);
  await clock.advance(1_000);
  const other = (await clock.until(lines.startLike())) as Pid<unknown>;
  system.exit(line, "kill");
  await clock.advance(1_000);
  await clock.until(lines.terminateChild(other));
  // Two that were always there, and one that has begun since.
  await clock.until(system.start(dynamicSupervisor({ label: "new", child: { id: "x", start: idle } })));
  await clock.advance(1_000);
  expect(of(await on.treeAt(), "lines")?.listed).toMatchObject([{ id: "line", restarts: 1 }]);
  expect(of(await on.treeAt({ at: begun.at + 1_000 }), "lines")?.listed).toMatchObject([
    { id: "line", status: "running", pid: expect.not.stringMatching(`shop.${line.id}$`) },
    { id: "line", status: "running", pid: `shop.${other.id}`, ended: { reason: "shutdown" } },
  ]);
  expect(of(await on.treeAt({ at: begun.at }), "lines")?.listed).toMatchObject([
    { pid: `shop.${line.id}`, restarts: 0, ended: { at: begun.at + 1_000, reason: "killed" } },
  ]);
  expect(of(await on.treeAt({ at: begun.at + 1_999 }), "new")).toBeUndefined();
  expect(of(await on.treeAt(), "new")).toMatchObject({ strategy: "dynamic", children: 0 });
});

test("a supervisor that was starting when the history began is found as it is, and followed [N1622]", async () => {
  const { clock, system, on } = await unkept();
  const ready = gate();
  const slow: Callbacks<unknown> = { init: () => ready.promise, handle: () => undefined };
  const children = [
    { id: "till", start: idle },
    { id: "oven", start: slow },
  ];
  const started = system.start(supervisor({ label: "kitchen", children }));
  await clock.advance(10);
  expect(text(await on.treeAt())).toEqual(["kitchen: till running, oven stopped"]);
  await clock.advance(10);
  ready.open();
  await clock.until(started);
  expect(text(await on.treeAt())).toEqual(["kitchen: till running, oven running"]);
  expect(text(await on.treeAt({ at: 0 }))).toEqual(["kitchen: till running, oven stopped"]);
});

test("a child that ends while its supervisor restarts another one keeps its reason [N1621]", async () => {
  const { clock, system, on } = await shop();
  const ready = gate();
  let starts = 0;
  const slow: Callbacks<unknown> = {
    init: () => (starts++ === 0 ? undefined : ready.promise),
    handle: () => undefined,
  };
  const children = [
    { id: "oven", name: "oven", start: slow },
    { id: "guest", name: "guest", start: idle, restart: "temporary" as const },
  ];
  await clock.until(system.start(supervisor({ label: "kitchen", children })));
  await clock.advance(10);
  const { at } = await on.treeAt();
  await clock.advance(10);
  system.exit("oven", "kill");
  await clock.advance(10);
  system.exit("guest", custom("hungry"));
  await clock.advance(10);
  ready.open();
  await clock.advance(10);
  expect(text(await on.treeAt())).toEqual(["kitchen: oven running"]);
  expect(of(await on.treeAt({ at }), "kitchen")?.listed[1]?.ended?.reason).toBe('custom "hungry"');
});

test("a supervisor that is killed has ended then, and its children with it [N1621]", async () => {
  const { clock, system, on } = await shop();
  const root = await clock.until(system.start(floors));
  await clock.advance(1_000);
  const { at } = await on.treeAt();
  await clock.advance(1_000);
  system.exit(root.pid as Pid, "kill");
  await clock.advance(1_000);
  expect((await on.treeAt()).supervisors).toEqual([]);
  const [first] = (await on.treeAt({ at })).supervisors;
  expect(first?.ended).toEqual({ at: at + 1_000, reason: "killed" });
  expect(first?.listed[1]).toMatchObject({ id: "door", ended: { at: at + 1_000 } });
});

test("of very many children the first stand by themselves, and the others are counted [N1623]", async () => {
  const { clock, system, on } = await shop();
  const lines = await clock.until(
    system.start(
      dynamicSupervisor({ label: "lines", child: { id: "line", start: idle, restart: "temporary" } }),
    ),
  );
  const pids = await clock.until(Promise.all(Array.from({ length: 150 }, () => lines.startLike())));
  await clock.advance(2_000);
  const { at, supervisors } = await on.treeAt();
  expect([supervisors[0]?.children, supervisors[0]?.listed.length]).toEqual([150, 100]);
  await clock.advance(2_000);
  for (const pid of pids.slice(50)) system.exit(pid as Pid<unknown>, "shutdown");
  await clock.advance(2_000);
  const [now] = (await on.treeAt()).supervisors;
  expect([now?.children, now?.listed.length]).toEqual([50, 50]);
  const [then] = (await on.treeAt({ at })).supervisors;
  expect([then?.children, then?.listed.length]).toEqual([150, 100]);
});

test("whatever a child throws and is called, the texts are short, and the error is not kept [N1625]", async () => {
  const { clock, system, on } = await shop();
  const error = Object.assign(new Error("x".repeat(100_000)), { name: "y".repeat(10_000) });
  const hostile = Object.defineProperty(new Error("evil"), "message", {
    get: (): never => {
      throw new Error("not to be read");
    },
  });
  const id = `a${"b".repeat(10_000)}\u001b[31m`;
  const failing = (thrown: Error): Callbacks<unknown> => ({
    handle: () => {
      throw thrown;
    },
  });
  const children = [
    { id, name: "long", start: failing(error), restart: "temporary" as const },
    { id: "evil", name: "evil", start: failing(hostile), restart: "temporary" as const },
  ];
  await clock.until(system.start(supervisor({ label: "l".repeat(1_000), children })));
  await clock.advance(10);
  const { at } = await on.treeAt();
  await clock.advance(10);
  system.send("long", 1);
  system.send("evil", 1);
  await clock.advance(10);
  const tree = await on.treeAt({ at });
  const [one] = tree.supervisors;
  expect(one?.listed.map(({ ended }) => ended?.reason?.slice(0, 6))).toEqual(["crash,", "crash,"]);
  expect(JSON.stringify(tree).length).toBeLessThan(2_000);
  expect(JSON.stringify(tree)).not.toMatch(/\\u001b/);
  expect((await on.treeAt()).supervisors[0]?.listed).toEqual([]);
});

test("over the wire the tree is the same, and options that are none are refused [N1628]", async () => {
  const { clock, system, on } = await shop();
  await clock.until(system.start(floors));
  await clock.advance(1_000);
  const there = remoteOperations(wireTo(systemService(system.kernel)).ask);
  const { at } = await on.treeAt();
  const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
  expect(await there.treeAt({ at, limit: 1 })).toEqual(json(await on.treeAt({ at, limit: 1 })));
  expect((await there.treeAt({ at, limit: 1 })).more).toBe(1);
  for (const options of [{ at: "now" }, { at: Number.NaN }, { limit: 0 }, { limit: 501 }, { before: 1 }])
    await expect(on.treeAt(options as never)).rejects.toMatchObject({ code: "ERR_OPTION" });
});

test("when nobody looks any more, nothing is kept of the tree, and no process is held [N1626]", async () => {
  const { clock, system, on } = await unkept();
  const root = await clock.until(system.start(floors));
  const { kernel } = system;
  const { tree } = historyFor(kernel);
  const held = (): number => kernel.processes().filter(({ rare }) => (rare?.holdings?.size ?? 0) > 0).length;
  expect([held(), tree.size]).toEqual([0, 0]);
  await on.treeAt();
  expect([held(), tree.size]).toEqual([2, 2]);
  await clock.advance(30_000);
  expect([held(), tree.size, kernel.pendingTimers]).toEqual([0, 0, 0]);
  // What happened meanwhile is not there, and what is there is found again.
  await clock.until(root.terminateChild("door"));
  const again = await on.treeAt({ at: 0 });
  expect(text(again)).toEqual(["shop: front running", "front: till running, scale running"]);
  expect(again.at).toBe(again.since);
});

/** A system whose history is not kept yet. */
async function unkept() {
  const clock = testClock();
  const system = new System({ name: "shop", environment: clock.environment, report: false });
  onTestFinished(() => clock.until(system.stop({ timeoutMs: 0 })));
  const on = new KernelOperations(system.kernel);
  return { clock, system, on };
}
