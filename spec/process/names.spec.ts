// Names: one process a name, one name a process, free again before anybody hears of the holder's end.

import { NameTakenError, NoProcessError, type Pid, type ReplyTo, System, stop } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Order, puppet, sleep } from "../support/puppet.js";

let system: System;
beforeEach(() => {
  system = new System({ report: false });
});
afterEach(() => system.stop());

describe("a name", () => {
  it("can be given at the spawn, and is known before the process runs", () => {
    const pid = system.spawn(sleep, { name: "clerk" });
    expect(system.whereis("clerk")).toBe(pid);
    expect(system.info(pid)?.name).toBe("clerk");
  });

  it("is an address for messages, also for messages sent before the first turn", async () => {
    const got: unknown[] = [];
    system.spawn({ handle: (_ctx, message) => void got.push(message) }, { name: "clerk" });
    const other = puppet(system);
    system.send("clerk", 1);
    await other.do((ctx) => ctx.send("clerk", 2));
    await system.idle();
    expect(got).toEqual([1, 2]);
  });

  it("can be taken, looked up and released by the process itself", async () => {
    const a = puppet(system);
    await a.do((ctx) => {
      ctx.register("clerk");
      expect(ctx.whereis("clerk")).toBe(ctx.self);
      ctx.unregister();
      expect(ctx.whereis("clerk")).toBe(undefined);
      ctx.unregister();
      ctx.register("cashier");
    });
    expect(system.whereis("cashier")).toBe(a.pid);
  });

  it("can be given to another process, also from outside", async () => {
    const [a, b, c] = [puppet(system), puppet(system), puppet(system)];
    await a.do((ctx) => ctx.register("one", b.pid));
    system.register("two", c.pid);
    expect(system.whereis("one")).toBe(b.pid);
    expect(system.whereis("two")).toBe(c.pid);
    expect(system.unregister("two")).toBe(true);
    expect(system.unregister("two")).toBe(false);
    expect(system.info(c.pid)?.name).toBe(undefined);
  });

  it("that is held is refused, and the error names the holder", () => {
    const holder = system.spawn(sleep, { name: "clerk", label: "first" });
    const other = system.spawn(sleep);
    expect(() => system.register("clerk", other)).toThrow(NameTakenError);
    expect(() => system.register("clerk", other)).toThrow(`"clerk" is held by ${holder}`);
    expect(system.whereis("clerk")).toBe(holder);
  });

  it("that is held makes a spawn fail as a whole: no process is left behind", async () => {
    system.spawn(sleep, { name: "clerk" });
    expect(() => system.spawn(sleep, { name: "clerk" })).toThrow(NameTakenError);
    await system.idle();
    expect(system.population).toBe(1);
  });

  it("is the only one of its process: a second name is refused, and the error says the first", () => {
    const pid = system.spawn(sleep, { name: "clerk" });
    expect(() => system.register("cashier", pid)).toThrow('already has the name "clerk"');
    expect(system.whereis("cashier")).toBe(undefined);
  });

  it("cannot be given to a process that has ended", async () => {
    const gone = system.spawn(() => undefined);
    await system.exited(gone);
    expect(() => system.register("clerk", gone)).toThrow(NoProcessError);
    expect(system.whereis("clerk")).toBe(undefined);
  });

  it("belongs to one system: another system may use the same name for another process", async () => {
    await using other = new System({ report: false });
    const here = system.spawn(sleep, { name: "clerk" });
    const there = other.spawn(sleep, { name: "clerk" });
    expect(system.whereis("clerk")).toBe(here);
    expect(other.whereis("clerk")).toBe(there);
    expect(() => system.register("guest", there)).toThrow(NoProcessError);
  });
});

describe("at the end of the holder", () => {
  it("the name is free when a DOWN arrives: the watcher starts the next holder at once [S6]", async () => {
    const successors: Pid[] = [];
    system.spawn<never>({
      init: (ctx) => {
        ctx.monitor("clerk");
      },
      handle: () => undefined,
      signal: (ctx, down) => {
        expect(down).toMatchObject({ type: "down" });
        successors.push(ctx.spawn(sleep, { name: "clerk" }));
      },
    });
    const first = system.spawn(sleep, { name: "clerk" });
    await system.idle();
    system.exit(first, "kill");
    await system.idle();
    expect(successors).toHaveLength(1);
    expect(system.whereis("clerk")).toBe(successors[0]);
  });

  it("name, groups and timers are released before the end spreads to a linked process [S6]", async () => {
    const holder = puppet(system, { name: "clerk" });
    const partner = puppet(system);
    const timer = await holder.do((ctx) => {
      ctx.join("staff");
      ctx.link(partner.pid);
      return ctx.sendAfter(partner.pid, () => undefined, 3_600_000);
    });
    const held: unknown[] = [];
    system.events.on("exit", ({ pid }) => {
      if (pid === partner.pid) held.push(system.whereis("clerk"), system.members("staff"), timer.pending);
    });
    system.exit(holder.pid, "kill");
    await system.idle();
    expect(held).toEqual([undefined, [], false]);
  });

  it("the name is free when an EXIT arrives", async () => {
    const holders: unknown[] = [];
    system.spawn<never>(
      async (ctx) => {
        ctx.spawnLink(() => stop("shutdown"), { name: "clerk" });
        await ctx.receiveSignal();
        holders.push(ctx.whereis("clerk"), ctx.spawn(sleep, { name: "clerk" }));
      },
      { trapExit: true },
    );
    await system.idle();
    expect(holders).toEqual([undefined, system.whereis("clerk")]);
    expect(system.whereis("clerk")).toBeDefined();
  });

  it("name and groups are free when the system's own events report the end", async () => {
    const seen: unknown[] = [];
    system.events.on("exit", () => seen.push(system.whereis("clerk"), system.members("staff")));
    const a = puppet(system, { name: "clerk" });
    await a.do((ctx) => ctx.join("staff"));
    system.exit(a.pid, "kill");
    expect(seen).toEqual([undefined, []]);
  });

  it("the name is free when the callers are notified", async () => {
    const clerk = system.spawn<ReplyTo<never>>(() => sleep({ receive: () => new Promise(() => undefined) }), {
      name: "clerk",
    });
    const call = system
      .call(clerk, (replyTo: ReplyTo<never>) => replyTo)
      .catch(() => system.whereis("clerk"));
    system.exit(clerk, "kill");
    expect(await call).toBe(undefined);
  });

  it("a message to the name is a dead letter", async () => {
    const letters: unknown[] = [];
    system.events.on("deadLetter", (letter) => letters.push(letter));
    const pid = system.spawn<Order>(sleep, { name: "clerk" });
    system.exit(pid, "kill");
    system.send("clerk", "too late");
    expect(letters).toEqual([{ to: "clerk", message: "too late", reason: "noproc" }]);
  });
});
