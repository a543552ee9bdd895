// A system at a glance, the lists of its history over the wire, and what is left of a history that nobody looks at.

import { System, stop } from "signalbox";
import { testClock } from "signalbox/testing";
import { expect, onTestFinished, test } from "vitest";
import { historyFor } from "../../../lib/admin/history/history.js";
import type { Incident } from "../../../lib/admin/history/operations.js";
import { KernelOperations } from "../../../lib/admin/system/kernel-operations.js";
import { remoteOperations, systemService } from "../../../lib/admin/system/system-table.js";
import { collect, wireTo } from "../support/wire.js";
import { shop } from "./bench.js";

const MINUTE_MS = 60_000;

test("an overview has the counts of each kind, the figures of the system, and what is not as it was a minute ago [N1528]", async () => {
  const { clock, system, on } = await shop();
  const began = clock.environment.wallTime();
  expect(await on.overview()).toMatchObject({
    name: "shop",
    id: system.node.id,
    at: began,
    keepsSince: began,
    uptimeMs: 0,
    processes: 0,
    counts: {},
    turns: { late: 0 },
    breakers: [],
    minute: [],
    recent: [],
  });
  const crash = async (): Promise<void> => {
    const clerk = system.spawn<string>({ handle: () => stop(new Error("boom")) }, { label: "clerk" });
    system.send(clerk, "go");
    await clock.advance(2_000);
  };
  await crash();
  await clock.advance(MINUTE_MS);
  system.spawn({ handle: () => undefined });
  for (let i = 0; i < 3; i++) await crash();
  system.send("nobody", 1);
  const overview = await on.overview();
  expect(overview).toMatchObject({
    uptimeMs: MINUTE_MS + 8_000,
    processes: 1,
    counts: { crash: { total: 4, minute: 3 }, deadLetter: { total: 1, minute: 1 } },
  });
  expect(overview.minute.filter(({ what }) => !what.startsWith("heap"))).toEqual([
    { what: "processes", before: 0, now: 1 },
    { what: "dead letters", before: 0, now: 1 },
    { what: "crash", before: 1, now: 3 },
    { what: "deadLetter", before: 0, now: 1 },
  ]);
  expect(overview.recent.map(({ kind }) => kind)).toEqual(["deadLetter", "crash", "crash", "crash", "crash"]);
  for (const of of ["heapUsed", "heapTotal", "rss"] as const) expect(overview.memory[of]).toBeGreaterThan(0);
});

test("incidents are followed by their numbers and paged, over the wire as at the kernel, and wrong filters are refused by name [N1528]", async () => {
  const { clock, system, on } = await shop();
  for (let i = 0; i < 5; i++) {
    system.send(`nobody-${i}`, i);
    await clock.advance(10);
  }
  const there = remoteOperations(wireTo(systemService(system.kernel)).ask);
  const all = await collect(on.incidents());
  expect(all.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5]);
  const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
  expect(await collect(there.incidents({ after: 2, limit: 2 }))).toEqual(json(all.slice(2, 4)));
  expect(await there.recent({ limit: 2, kind: "deadLetter" })).toEqual(json([all[4], all[3]]));
  expect(await there.recent({ beforeAt: (all[1] as Incident).at })).toEqual(json([all[0]]));
  expect(await collect(there.incidents({ pid: "shop.77" }))).toEqual([]);
  const { recent } = await there.overview();
  expect(recent).toEqual(json([...all].reverse()));
  for (const filter of [{ limit: 0 }, { after: -1 }, { kind: "crush" }, { pid: "clerk" }, { since: 1 }])
    await expect(collect(on.incidents(filter as never))).rejects.toMatchObject({ code: "ERR_OPTION" });
  for (const filter of [{ limit: 501 }, { beforeAt: "now" }, { kind: 7 }, { after: 1 }])
    await expect(on.recent(filter as never)).rejects.toMatchObject({ code: "ERR_OPTION" });
});

test("a system that nobody looks at has no witness, no listener, no timer and no incident, before the first look and after the last [N1529]", async () => {
  const clock = testClock();
  const system = new System({ name: "shop", environment: clock.environment, report: false });
  onTestFinished(() => clock.until(system.stop({ timeoutMs: 0 })));
  const on = new KernelOperations(system.kernel);
  const { kernel } = system;
  const history = historyFor(kernel);
  const nothing = (): void => {
    expect(kernel.witness).toBeUndefined();
    expect(kernel.events.eventNames()).toEqual([]);
    expect(kernel.pendingTimers).toBe(0);
    expect(kernel.population).toBe(0);
    expect([history.state.rings.size, history.state.causes.size]).toEqual([0, 0]);
    expect([history.breakers, history.changes]).toEqual([[], []]);
  };
  nothing();
  system.send("nobody", 1);
  nothing();
  expect(await on.recent()).toEqual([]);
  expect(kernel.witness).toBe(history);
  system.send("nobody", 1);
  expect(await on.recent()).toHaveLength(1);
  await clock.advance(30_000);
  nothing();
  // The numbers go on: a viewer that asks behind the last one that it knows misses nothing.
  await on.recent();
  system.send("nobody", 1);
  expect(await collect(on.incidents({ after: 1 }))).toMatchObject([{ number: 2 }]);
});
