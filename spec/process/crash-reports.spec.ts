// What is told of a crash, and that only one nobody observed is told.

import { type CrashReport, custom, type ExitReason, type Pid, type ReplyTo, System } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { endings, puppet, sleep } from "../support/puppet.js";

let system: System;
let ends: Map<Pid, ExitReason>;
let reports: string[];
let crashes: CrashReport[];
beforeEach(() => {
  reports = [];
  crashes = [];
  system = new System({ report: { to: (text) => reports.push(text), messages: true } });
  ends = endings(system);
  system.events.on("crash", (report) => crashes.push(report));
});
afterEach(async () => {
  for (const pid of system.processes()) system.exit(pid, "kill");
  await system.stop();
});

const boom = new Error("boom");
const broken = custom("broken");

function fail(): never {
  throw boom;
}

describe("a crash that no process observed", () => {
  it("is an event with reason, last message and stack, and is printed [P6]", async () => {
    const pid = system.spawn<{ order: number }>({ handle: fail }, { label: "clerk" });
    system.send(pid, { order: 7 });
    await system.idle();
    expect(crashes).toEqual([
      {
        pid,
        reason: { type: "crash", error: boom },
        lastMessage: { order: 7 },
        stack: boom.stack,
        text: reports[0],
      },
    ]);
    expect(reports).toHaveLength(1);
    expect(reports[0]).toContain("clerk");
    expect(reports[0]).toContain('{"order":7}');
    expect(reports[0]).toContain("crash-reports.spec.ts");
  });

  it("names the message that an asynchronous callback was handling", async () => {
    const pid = system.spawn<string>({
      handle: async () => {
        await null;
        fail();
      },
    });
    system.send(pid, "seven");
    system.send(pid, "eight");
    await system.idle();
    expect(crashes[0]?.lastMessage).toBe("seven");
  });

  it("names the message that a body received last", async () => {
    const pid = system.spawn<string>(async (ctx) => {
      await ctx.receive();
      await ctx.receive();
      fail();
    });
    for (const text of ["six", "seven", "eight"]) system.send(pid, text);
    await system.idle();
    expect(crashes[0]?.lastMessage).toBe("seven");
  });

  it.each([
    ["at once", fail],
    [
      "later",
      async () => {
        await null;
        fail();
      },
    ],
  ])("names a call's message as its callee saw it, when the callee fails %s", async (_when, handle) => {
    const pid = system.spawn<string>({ handle });
    await expect(system.call(pid, (_to: ReplyTo<never>) => "question")).rejects.toThrow("boom");
    expect(crashes[0]?.lastMessage).toBe("question");
  });

  it("names the message of a call also when the reply was sent before", async () => {
    const pid = system.spawn<{ to: ReplyTo<string> }>({
      handle: (ctx, { to }) => {
        ctx.reply(to, "done");
        fail();
      },
    });
    expect(await system.call(pid, (to: ReplyTo<string>) => ({ to }))).toBe("done");
    expect(crashes[0]?.lastMessage).toHaveProperty("to");
  });

  it("names the signal that the process was handling", async () => {
    const target = puppet(system);
    const pid = system.spawn<never>({
      init: (ctx) => {
        ctx.monitor(target.pid);
      },
      handle: () => undefined,
      signal: fail,
    });
    await system.idle();
    system.exit(target.pid, "shutdown");
    await system.idle();
    expect(crashes).toMatchObject([{ pid, lastMessage: { type: "down", pid: target.pid } }]);
  });

  it("names no message when the process was handling none", async () => {
    const pid = system.spawn<never>({ init: (ctx) => void ctx.runAfter(0, fail), handle: () => undefined });
    await system.exited(system.spawn((ctx) => ctx.receive({ timeoutMs: 1 }).catch(() => undefined)));
    await system.idle();
    expect(crashes).toMatchObject([{ pid, lastMessage: undefined }]);
    expect(reports[0]).not.toContain("at message");
  });

  it("is reported for each of two processes that were sent the same reason object", async () => {
    const groups = [1, 2].map(() => [puppet(system), puppet(system)] as const);
    for (const [a, b] of groups) await a.do((ctx) => ctx.link(b.pid));
    for (const [a] of groups) system.exit(a.pid, broken);
    expect(crashes.map(({ pid }) => pid)).toEqual(groups.map(([, b]) => b.pid));
  });

  it("is reported for each process that linked to a process that has ended", async () => {
    const gone = system.spawn(() => undefined);
    await system.idle();
    const pids = [1, 2].map(() => system.spawn((ctx) => ctx.link(gone)));
    await system.idle();
    expect(crashes.map(({ pid, reason }) => [pid, reason.type])).toEqual(pids.map((pid) => [pid, "noproc"]));
  });
});

describe("a crash that spreads along links", () => {
  /** Links `count` processes, each to the one that `neighbour` gives. */
  async function linked(count: number, neighbour: (i: number) => number): Promise<Pid[]> {
    const all = Array.from({ length: count }, () => puppet(system));
    for (const [i, one] of all.entries())
      if (i > 0) await one.do((ctx) => ctx.link((all[neighbour(i)] as (typeof all)[0]).pid));
    return all.map(({ pid }) => pid);
  }

  it.each<[shape: string, neighbour: (i: number) => number]>([
    ["a chain", (i) => i - 1],
    ["a star", () => 0],
    ["a tree", (i) => (i - 1) >> 1],
  ])("of %s is reported once, though it ends every process [P6]", async (_shape, neighbour) => {
    const pids = await linked(7, neighbour);
    system.exit(pids[0] as Pid, broken);
    await system.idle();
    expect(pids.map((pid) => ends.get(pid))).toEqual(pids.map(() => broken));
    expect(crashes.map(({ reason }) => reason)).toEqual([broken]);
    expect(reports).toHaveLength(1);
  });

  it("is reported again when the next crash spreads", async () => {
    for (let i = 0; i < 2; i++) system.exit((await linked(3, () => 0))[0] as Pid, broken);
    expect(crashes).toHaveLength(2);
  });

  it("is not reported at all when the last process it reaches traps exits", async () => {
    const watcher = puppet(system, { trapExit: true });
    const [first, last] = await linked(2, () => 0);
    await watcher.do((ctx) => ctx.link(last as Pid));
    system.exit(first as Pid, broken);
    await system.idle();
    expect(watcher.signals).toHaveLength(1);
    expect(crashes).toEqual([]);
  });
});

describe("an end that is not reported", () => {
  it.each<[string, "normal" | "shutdown"]>([
    ["normal", "normal"],
    ["shutdown", "shutdown"],
  ])("is an orderly one: %s", async (_name, reason) => {
    system.spawn((ctx) => ctx.exit(reason));
    await system.idle();
    expect(ends.size).toBe(1);
    expect(crashes).toEqual([]);
    expect(reports).toEqual([]);
  });

  it("is an end that a monitor observed", async () => {
    const watcher = puppet(system);
    const pid = system.spawn(sleep);
    await watcher.do((ctx) => ctx.monitor(pid));
    system.exit(pid, broken);
    await system.idle();
    expect(watcher.signals).toHaveLength(1);
    expect(reports).toEqual([]);
  });

  it("is an end that a trapping linked process observed", async () => {
    const watcher = puppet(system, { trapExit: true });
    const pid = system.spawn(sleep);
    await watcher.do((ctx) => ctx.link(pid));
    system.exit(pid, broken);
    await system.idle();
    expect(watcher.signals).toHaveLength(1);
    expect(reports).toEqual([]);
  });
});

describe("a listener of events that throws", () => {
  it("breaks nothing: the exits in progress complete, and links and names still work", async () => {
    const theirs = process.listeners("unhandledRejection");
    await system.stop();
    process.removeAllListeners("unhandledRejection");
    const host: unknown[] = [];
    const listen = (error: unknown): void => void host.push(error);
    process.on("unhandledRejection", listen);
    const shaky = new System({
      report: () => {
        throw new Error("printer on fire");
      },
    });
    for (const event of ["exit", "crash", "spawn", "link", "deadLetter"] as const) {
      shaky.events.on(event, () => {
        throw new Error(`listener of ${event}`);
      });
    }
    const chain = Array.from({ length: 5 }, () => puppet(shaky));
    for (const [i, one] of chain.entries()) {
      const before = chain[i - 1];
      if (before !== undefined) await one.do((ctx) => ctx.link(before.pid));
    }
    shaky.register("clerk", (chain[3] as (typeof chain)[0]).pid);
    shaky.exit((chain[0] as (typeof chain)[0]).pid, broken);
    expect(shaky.population).toBe(0);
    expect(shaky.whereis("clerk")).toBe(undefined);
    const trapping = puppet(shaky, { trapExit: true });
    const child = await trapping.do((ctx) => ctx.spawnLink(fail));
    await shaky.idle();
    expect(trapping.signals).toMatchObject([{ type: "exit", from: child }]);
    expect(host).toEqual([]);
    shaky.exit(trapping.pid, "kill");
    await shaky.stop();
    process.off("unhandledRejection", listen);
    for (const listener of theirs) process.on("unhandledRejection", listener);
  });
});
