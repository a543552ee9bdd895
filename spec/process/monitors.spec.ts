// Monitors: one-way, as many as wanted, one DOWN each.

import {
  custom,
  type DownSignal,
  type ExitReason,
  type Monitor,
  NOPROC,
  NORMAL,
  type Pid,
  System,
  stop,
} from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { endings, puppet, sleep } from "../support/puppet.js";

let system: System;
let ends: Map<Pid, ExitReason>;
beforeEach(() => {
  system = new System({ report: false });
  ends = endings(system);
});
afterEach(() => system.stop());

const broken = custom("broken");

describe("a monitor", () => {
  it.each<[string, ExitReason]>([
    ["normal", NORMAL],
    ["shutdown", { type: "shutdown" }],
    ["kill", { type: "kill" }],
    ["broken", broken],
  ])("brings one DOWN with the reason, here: %s", async (_name, reason) => {
    const watcher = puppet(system);
    const target = puppet(system);
    const ref = await watcher.do((ctx) => ctx.monitor(target.pid));
    system.send(target.pid, () => stop(reason));
    await system.idle();
    expect(watcher.signals).toEqual([{ type: "down", ref, pid: target.pid, reason }]);
    expect((watcher.signals[0] as DownSignal).ref).toBe(ref);
  });

  it("is one-way: the end of the watcher does not affect the watched process", async () => {
    const watcher = puppet(system);
    const target = puppet(system, { trapExit: true });
    await watcher.do((ctx) => ctx.monitor(target.pid));
    system.exit(watcher.pid, broken);
    await system.idle();
    expect(target.signals).toEqual([]);
    expect(system.info(target.pid)?.monitoredBy).toEqual([]);
  });

  it("needs no trapping of exits, and leaves the watcher alive", async () => {
    const watcher = puppet(system);
    const target = puppet(system);
    await watcher.do((ctx) => ctx.monitor(target.pid));
    system.exit(target.pid, "kill");
    await system.idle();
    expect(system.isAlive(watcher.pid)).toBe(true);
    expect(watcher.signals).toMatchObject([{ type: "down", reason: { type: "killed" } }]);
  });

  it("stacks: each monitor has an identity and a DOWN of its own [S5]", async () => {
    const watcher = puppet(system);
    const target = puppet(system);
    const refs = await watcher.do((ctx) => [1, 2, 3].map(() => ctx.monitor(target.pid)));
    expect(new Set(refs).size).toBe(3);
    expect(system.info(watcher.pid)?.monitors).toEqual([target.pid, target.pid, target.pid]);
    expect(system.info(target.pid)?.monitoredBy).toEqual([watcher.pid, watcher.pid, watcher.pid]);
    system.exit(target.pid, broken);
    await system.idle();
    expect(watcher.signals.map((signal) => (signal as DownSignal).ref)).toEqual(refs);
    expect(system.info(watcher.pid)?.monitors).toEqual([]);
  });

  it("notifies every watcher", async () => {
    const watchers = Array.from({ length: 20 }, () => puppet(system));
    const target = puppet(system);
    await Promise.all(watchers.map((watcher) => watcher.do((ctx) => ctx.monitor(target.pid))));
    system.exit(target.pid, broken);
    await system.idle();
    for (const { signals } of watchers) expect(signals).toMatchObject([{ pid: target.pid, reason: broken }]);
  });

  it("of a process that has ended brings DOWN noproc at once", async () => {
    const target = puppet(system);
    system.exit(target.pid, broken);
    const watcher = puppet(system);
    const ref = await watcher.do((ctx) => ctx.monitor(target.pid));
    await system.idle();
    expect(watcher.signals).toEqual([{ type: "down", ref, pid: target.pid, reason: NOPROC }]);
    expect(system.info(watcher.pid)?.monitors).toEqual([]);
  });

  it("of a process on itself never fires", async () => {
    const watcher = puppet(system);
    await watcher.do((ctx) => ctx.monitor(ctx.self));
    system.exit(watcher.pid, broken);
    await system.idle();
    expect(ends.get(watcher.pid)).toBe(broken);
    expect(watcher.signals).toEqual([]);
  });

  it("by a name watches the current holder, and stays with that process", async () => {
    const first = puppet(system, { name: "clerk" });
    const watcher = puppet(system);
    const ref = await watcher.do((ctx) => ctx.monitor("clerk"));
    expect(ref.target).toBe(first.pid);
    await first.do((ctx) => ctx.unregister());
    const second = puppet(system, { name: "clerk" });
    system.exit(second.pid, broken);
    await system.idle();
    expect(watcher.signals).toEqual([]);
    system.exit(first.pid, broken);
    await system.idle();
    expect(watcher.signals).toEqual([{ type: "down", ref, pid: first.pid, reason: broken }]);
  });

  it("by a name without a holder brings DOWN noproc, and its ref contains the name", async () => {
    const watcher = puppet(system);
    const ref = await watcher.do((ctx) => ctx.monitor("nobody"));
    await system.idle();
    expect(watcher.signals).toEqual([{ type: "down", ref, pid: ref.target, reason: NOPROC }]);
    expect(String(ref)).toContain("nobody");
  });
});

describe("spawnMonitor", () => {
  it("monitors before the child runs, so a child that ends in its first step brings a DOWN too", async () => {
    const watcher = puppet(system);
    const { pid, ref } = await watcher.do((ctx) => ctx.spawnMonitor(() => stop(broken)));
    await system.idle();
    expect(watcher.signals).toEqual([{ type: "down", ref, pid, reason: broken }]);
  });

  it("does not link", async () => {
    const watcher = puppet(system);
    const { pid } = await watcher.do((ctx) => ctx.spawnMonitor(sleep));
    system.exit(watcher.pid, broken);
    expect(system.isAlive(pid)).toBe(true);
  });
});

describe("demonitor", () => {
  it("ends one monitor and leaves the others", async () => {
    const watcher = puppet(system);
    const target = puppet(system);
    const [first, second] = await watcher.do(
      (ctx) => [ctx.monitor(target.pid), ctx.monitor(target.pid)] as const,
    );
    await watcher.do((ctx) => ctx.demonitor(first));
    expect(system.info(target.pid)?.monitoredBy).toEqual([watcher.pid]);
    system.exit(target.pid, broken);
    await system.idle();
    expect(watcher.signals.map((signal) => (signal as DownSignal).ref)).toEqual([second]);
  });

  it("leaves a DOWN in the mailbox that is queued already", async () => {
    const watcher = puppet(system);
    const target = puppet(system);
    await watcher.do((ctx) => {
      const ref = ctx.monitor(target.pid);
      ctx.exit(target.pid, broken);
      ctx.demonitor(ref);
    });
    await system.idle();
    expect(watcher.signals).toHaveLength(1);
  });

  it("with flush removes the queued DOWN of this monitor, and no other [S5]", async () => {
    const watcher = puppet(system);
    const target = puppet(system);
    const kept = await watcher.do((ctx) => {
      const [first, second, third] = [
        ctx.monitor(target.pid),
        ctx.monitor(target.pid),
        ctx.monitor(target.pid),
      ];
      ctx.exit(target.pid, broken);
      ctx.demonitor(second, { flush: true });
      return [first, third];
    });
    await system.idle();
    expect(watcher.signals.map((signal) => (signal as DownSignal).ref)).toEqual(kept);
  });

  it("twice, or of another process's monitor, changes nothing", async () => {
    const watcher = puppet(system);
    const other = puppet(system);
    const target = puppet(system);
    const ref = await watcher.do((ctx): Monitor => ctx.monitor(target.pid));
    const gone = await watcher.do((ctx): Monitor => ctx.monitor(target.pid));
    await other.do((ctx) => ctx.demonitor(ref, { flush: true }));
    await watcher.do((ctx) => {
      ctx.demonitor(gone);
      ctx.demonitor(gone);
    });
    system.exit(target.pid, broken);
    await system.idle();
    expect(watcher.signals.map((signal) => (signal as DownSignal).ref)).toEqual([ref]);
  });
});
