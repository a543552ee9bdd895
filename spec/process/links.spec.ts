// Links: they carry the end of one process to the other, once, in both directions.

import {
  type Context,
  custom,
  type ExitReason,
  KILLED,
  NOPROC,
  NORMAL,
  type Pid,
  System,
  stop,
} from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { endings, type Order, obedient, puppet, sleep } from "../support/puppet.js";

let system: System;
let ends: Map<Pid, ExitReason>;
let reports: string[];
beforeEach(() => {
  reports = [];
  system = new System({ report: (text) => reports.push(text) });
  ends = endings(system);
});
afterEach(() => system.stop());

const broken = custom("broken");

/** The pid of a process that has ended. */
async function departed(): Promise<Pid<unknown>> {
  const pid = system.spawn(() => undefined);
  await system.exited(pid);
  return pid;
}

describe("a link", () => {
  it("ends the process that set it when the other process ends, with the same reason object", async () => {
    const a = puppet(system);
    const b = puppet(system);
    await a.do((ctx) => ctx.link(b.pid));
    system.exit(b.pid, broken);
    expect(ends.get(a.pid)).toBe(broken);
  });

  it("works in the other direction as well [S3]", async () => {
    const a = puppet(system);
    const b = puppet(system);
    await a.do((ctx) => ctx.link(b.pid));
    system.exit(a.pid, broken);
    expect(ends.get(b.pid)).toBe(broken);
  });

  it("is removed on both sides at once when one side unlinks [S3]", async () => {
    const a = puppet(system);
    const b = puppet(system);
    await a.do((ctx) => {
      ctx.link(b.pid);
      ctx.unlink(b.pid);
      expect(system.info(a.pid)?.links).toEqual([]);
      expect(system.info(b.pid)?.links).toEqual([]);
    });
    system.exit(b.pid, broken);
    expect(system.isAlive(a.pid)).toBe(true);
    // No process is linked to it any more, so its crash is reported.
    expect(reports).toHaveLength(1);
  });

  it("has no effect at a normal exit on a process that does not trap exits", async () => {
    const a = puppet(system);
    const b = puppet(system);
    await a.do((ctx) => ctx.link(b.pid));
    system.send(b.pid, () => stop());
    await system.idle();
    expect(ends.get(b.pid)).toEqual(NORMAL);
    expect(system.isAlive(a.pid)).toBe(true);
    expect(system.info(a.pid)?.links).toEqual([]);
  });

  it.each<[string, ExitReason]>([
    ["normal", NORMAL],
    ["broken", broken],
    ["kill", { type: "kill" }],
  ])("brings one that traps an EXIT, reason %s", async (_name, reason) => {
    const a = puppet(system, { trapExit: true });
    const b = puppet(system);
    await a.do((ctx) => ctx.link(b.pid));
    system.send(b.pid, () => stop(reason));
    await system.idle();
    expect(a.signals).toEqual([{ type: "exit", from: b.pid, reason }]);
    expect(system.isAlive(a.pid)).toBe(true);
  });

  it("exists once, however often and from whichever side it is set [S3]", async () => {
    const a = puppet(system, { trapExit: true });
    const b = puppet(system);
    await a.do((ctx) => {
      ctx.link(b.pid);
      ctx.link(b.pid);
    });
    await b.do((ctx) => ctx.link(a.pid));
    expect(system.info(a.pid)?.links).toEqual([b.pid]);
    expect(system.info(b.pid)?.links).toEqual([a.pid]);
    system.exit(b.pid, broken);
    await system.idle();
    expect(a.signals).toHaveLength(1);
  });

  it("is removed from both sides after one unlink, whichever side set it", async () => {
    const a = puppet(system);
    const b = puppet(system);
    await a.do((ctx) => {
      ctx.link(b.pid);
      ctx.link(b.pid);
    });
    await b.do((ctx) => ctx.unlink(a.pid));
    system.exit(a.pid, broken);
    expect(system.isAlive(b.pid)).toBe(true);
    expect(system.info(b.pid)?.links).toEqual([]);
  });

  it("to the process itself has no effect", async () => {
    const a = puppet(system, { trapExit: true });
    await a.do((ctx) => ctx.link(ctx.self));
    expect(system.info(a.pid)?.links).toEqual([]);
    expect(a.signals).toEqual([]);
  });

  it("to a process that has ended ends the caller with noproc at once", async () => {
    const gone = await departed();
    let reached = false;
    const pid = system.spawn((ctx) => {
      ctx.link(gone);
      reached = true;
    });
    expect(await system.exited(pid)).toEqual(NOPROC);
    expect(reached).toBe(false);
  });

  it("to a process that has ended is an EXIT noproc for a trapping process", async () => {
    const gone = await departed();
    const a = puppet(system, { trapExit: true });
    await a.do((ctx) => ctx.link(gone));
    await system.idle();
    expect(a.signals).toEqual([{ type: "exit", from: gone, reason: NOPROC }]);
    expect(system.info(a.pid)?.links).toEqual([]);
  });

  it("brings no EXIT to a process that no longer traps exits", async () => {
    const a = puppet(system, { trapExit: true });
    const b = puppet(system);
    await a.do((ctx) => ctx.link(b.pid));
    expect(await a.do((ctx) => ctx.trapExit(false))).toBe(true);
    expect(await a.do((ctx) => ctx.trapExit(false))).toBe(false);
    system.exit(b.pid, broken);
    expect(ends.get(a.pid)).toBe(broken);
    expect(a.signals).toEqual([]);
  });

  it("that carries `kill` does not turn it into `killed`, and can be trapped", async () => {
    const a = puppet(system);
    const trapping = puppet(system, { trapExit: true });
    const b = puppet(system);
    await b.do((ctx) => {
      ctx.link(a.pid);
      ctx.link(trapping.pid);
    });
    system.send(b.pid, (ctx: Context<Order>) => ctx.exit("kill"));
    await system.idle();
    expect(ends.get(b.pid)).toEqual({ type: "kill" });
    expect(ends.get(a.pid)).toEqual({ type: "kill" });
    expect(trapping.signals).toEqual([{ type: "exit", from: b.pid, reason: { type: "kill" } }]);
  });

  it("passes on `killed`, which can be trapped, when the other process was killed", async () => {
    const a = puppet(system, { trapExit: true });
    const b = puppet(system, { trapExit: true });
    await a.do((ctx) => ctx.link(b.pid));
    system.exit(b.pid, "kill");
    await system.idle();
    expect(a.signals).toEqual([{ type: "exit", from: b.pid, reason: KILLED }]);
  });
});

describe("spawnLink", () => {
  it("links before the child runs, so the parent gets the exit of a child that ends in its first step [S4]", async () => {
    const a = puppet(system, { trapExit: true });
    const child = await a.do((ctx) => ctx.spawnLink(() => stop(broken)));
    await system.idle();
    expect(a.signals).toEqual([{ type: "exit", from: child, reason: broken }]);
  });

  it("ends the child too when the parent ends in the same step", async () => {
    let ran = false;
    let child: Pid | undefined;
    system.spawn((ctx) => {
      child = ctx.spawnLink(() => {
        ran = true;
      });
      return stop(broken);
    });
    await system.idle();
    expect(ends.get(child as Pid)).toBe(broken);
    expect(ran).toBe(false);
  });

  it("gives the child the pid of its parent", async () => {
    const a = puppet(system);
    const child = await a.do((ctx) => ctx.spawnLink(sleep));
    expect(system.info(child)?.parent).toBe(a.pid);
    expect(system.info(child)?.links).toEqual([a.pid]);
  });
});

describe("unlink", () => {
  it("has effect at once", async () => {
    const a = puppet(system);
    const b = puppet(system);
    await a.do((ctx) => {
      ctx.link(b.pid);
      ctx.unlink(b.pid);
      ctx.exit(b.pid, broken);
    });
    expect(ends.get(b.pid)).toBe(broken);
    expect(system.isAlive(a.pid)).toBe(true);
  });

  it("leaves an EXIT in the mailbox that is queued already", async () => {
    const a = puppet(system, { trapExit: true });
    const b = puppet(system);
    await a.do((ctx) => {
      ctx.link(b.pid);
      ctx.exit(b.pid, broken);
      ctx.unlink(b.pid);
    });
    await system.idle();
    expect(a.signals).toEqual([{ type: "exit", from: b.pid, reason: broken }]);
  });

  it("with flush removes the queued EXIT of this link, and no other", async () => {
    const a = puppet(system, { trapExit: true });
    const [b, c] = [puppet(system), puppet(system)];
    await a.do((ctx) => {
      ctx.link(b.pid);
      ctx.link(c.pid);
      const ref = ctx.monitor(b.pid);
      ctx.exit(c.pid, broken);
      ctx.exit(b.pid, broken);
      ctx.unlink(b.pid, { flush: true });
      expect(ref.target).toBe(b.pid);
    });
    await system.idle();
    expect(a.signals.map((signal) => signal.type)).toEqual(["exit", "down"]);
    expect(a.signals[0]).toEqual({ type: "exit", from: c.pid, reason: broken });
  });

  it("of a process that was never linked, or has ended, changes nothing", async () => {
    const gone = await departed();
    const a = puppet(system);
    const b = puppet(system);
    await a.do((ctx) => {
      ctx.unlink(b.pid);
      ctx.unlink(gone);
      ctx.unlink(ctx.self);
    });
    expect(system.isAlive(a.pid)).toBe(true);
  });

  it("can be followed by a new link", async () => {
    const a = puppet(system);
    const b = puppet(system);
    await a.do((ctx) => {
      ctx.link(b.pid);
      ctx.unlink(b.pid);
      ctx.link(b.pid);
    });
    system.exit(b.pid, broken);
    expect(ends.get(a.pid)).toBe(broken);
  });

  it("with flush does not make a waiting body miss the next signal", async () => {
    const b = puppet(system);
    const seen: unknown[] = [];
    let flush: (() => void) | undefined;
    const a = system.spawn<string>(
      async (ctx) => {
        ctx.link(b.pid);
        flush = ctx.wrap(() => ctx.unlink(b.pid, { flush: true }));
        seen.push(await ctx.receive((message) => message === "wanted"));
      },
      { trapExit: true },
    );
    await system.idle();
    system.exit(b.pid, broken);
    await system.idle();
    flush?.();
    system.send(a, "wanted");
    await system.idle();
    expect(seen).toEqual(["wanted"]);
  });
});

describe("many linked processes", () => {
  const MANY = 30_000;

  it("in a chain end to the last one, without a stack as deep as the chain [S7]", async () => {
    const pids = await chain(MANY);
    system.exit(pids[0] as Pid, broken);
    expect(ends.size).toBe(MANY);
    expect(system.population).toBe(0);
    expect(pids.every((pid) => ends.get(pid) === broken)).toBe(true);
  });

  it("in a chain end also when the middle process ends first", async () => {
    const pids = await chain(1_001);
    system.exit(pids[500] as Pid, broken);
    expect(ends.size).toBe(1_001);
  });

  it("in a chain end up to the first process that traps exits", async () => {
    const pids = await chain(10);
    const keeper = puppet(system, { trapExit: true });
    await keeper.do((ctx) => ctx.link(pids[9] as Pid));
    system.exit(pids[0] as Pid, broken);
    await system.idle();
    expect(system.population).toBe(1);
    expect(keeper.signals).toEqual([{ type: "exit", from: pids[9], reason: broken }]);
  });

  it("in a star end with their centre", async () => {
    const centre = puppet(system);
    await centre.do((ctx) => {
      for (let i = 0; i < MANY; i++) ctx.spawnLink(obedient());
    });
    system.exit(centre.pid, broken);
    expect(system.population).toBe(0);
    expect(ends.size).toBe(MANY + 1);
  });

  it("in a ring, each linked to both neighbours, end once each", async () => {
    const told: Pid[] = [];
    system.events.on("exit", ({ pid }) => told.push(pid));
    const pids = await chain(100);
    system.send(pids[0] as Pid<Order>, (ctx: Context<Order>) => ctx.link(pids[99] as Pid));
    await system.idle();
    system.exit(pids[42] as Pid, broken);
    expect(told).toHaveLength(100);
    expect(new Set(told).size).toBe(100);
  });

  it("are reported once, for a process whose end no other process could observe", async () => {
    const pids = await chain(100);
    system.exit(pids[0] as Pid, broken);
    expect(reports).toHaveLength(1);
    expect(reports[0]).toContain('custom "broken"');
  });
});

/** Processes of which each is linked to the one before it. */
async function chain(length: number): Promise<Pid<Order>[]> {
  const pids: Pid<Order>[] = [];
  for (let i = 0; i < length; i++) {
    const before = pids[i - 1];
    const pid = system.spawn<Order>(obedient());
    if (before !== undefined) system.send(pid, (ctx: Context<Order>) => ctx.link(before));
    pids.push(pid);
  }
  await system.idle();
  return pids;
}
