// Process groups: joined as often as wanted, left as often as joined, left altogether by an exit.

import fc from "fast-check";
import { type Pid, System } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Puppet, puppet } from "../support/puppet.js";

let system: System;
beforeEach(() => {
  system = new System({ report: false });
});
afterEach(() => system.stop());

describe("a group", () => {
  it("lists its members in the order in which they joined, each once", async () => {
    const [a, b] = [puppet(system), puppet(system)];
    await a.do((ctx) => ctx.join("staff"));
    await b.do((ctx) => ctx.join("staff"));
    await a.do((ctx) => ctx.join("staff"));
    expect(system.members("staff")).toEqual([a.pid, b.pid]);
    expect(await b.do((ctx) => ctx.members("staff"))).toEqual([a.pid, b.pid]);
    expect(system.info(a.pid)?.groups).toEqual(["staff"]);
  });

  it("that no process joined is empty", () => {
    expect(system.members("staff")).toEqual([]);
  });

  it("must be left as often as it was joined", async () => {
    const a = puppet(system);
    await a.do((ctx) => {
      ctx.join("staff");
      ctx.join("staff");
    });
    expect(await a.do((ctx) => ctx.leave("staff"))).toBe(true);
    expect(system.members("staff")).toEqual([a.pid]);
    expect(await a.do((ctx) => ctx.leave("staff"))).toBe(true);
    expect(system.members("staff")).toEqual([]);
    expect(await a.do((ctx) => ctx.leave("staff"))).toBe(false);
    expect(system.info(a.pid)?.groups).toEqual([]);
  });

  it("is left by an exit, however often it was joined", async () => {
    const [a, b] = [puppet(system), puppet(system)];
    for (const one of [a, b]) {
      await one.do((ctx) => {
        ctx.join("staff");
        ctx.join("staff");
        ctx.join("night shift");
      });
    }
    system.exit(a.pid, "kill");
    expect(system.members("staff")).toEqual([b.pid]);
    expect(system.members("night shift")).toEqual([b.pid]);
  });
});

describe("a group's monitor", () => {
  it("gives the current members, then each first join and each last leave", async () => {
    const [watcher, a, b] = [puppet(system), puppet(system), puppet(system)];
    await a.do((ctx) => ctx.join("staff"));
    expect(await watcher.do((ctx) => ctx.monitorGroup("staff"))).toEqual([a.pid]);
    await b.do((ctx) => {
      ctx.join("staff");
      ctx.join("staff");
      ctx.leave("staff");
      ctx.leave("staff");
    });
    system.exit(a.pid, "kill");
    await system.idle();
    expect(watcher.signals).toEqual([
      { type: "group", change: "join", group: "staff", pid: b.pid },
      { type: "group", change: "leave", group: "staff", pid: b.pid },
      { type: "group", change: "leave", group: "staff", pid: a.pid },
    ]);
  });

  it("may be set before the group has members, and lasts while members join and leave", async () => {
    const [watcher, a] = [puppet(system), puppet(system)];
    expect(await watcher.do((ctx) => ctx.monitorGroup("staff"))).toEqual([]);
    for (let i = 0; i < 2; i++) {
      await a.do((ctx) => ctx.join("staff"));
      await a.do((ctx) => ctx.leave("staff"));
    }
    await system.idle();
    expect(watcher.signals).toHaveLength(4);
  });

  it("ends with demonitorGroup, and with its owner", async () => {
    const [watcher, other, a] = [puppet(system), puppet(system), puppet(system)];
    await watcher.do((ctx) => ctx.monitorGroup("staff"));
    await other.do((ctx) => ctx.monitorGroup("staff"));
    await watcher.do((ctx) => ctx.demonitorGroup("staff"));
    system.exit(other.pid, "kill");
    await a.do((ctx) => ctx.join("staff"));
    await system.idle();
    expect(watcher.signals).toEqual([]);
    expect(other.signals).toEqual([]);
    expect(system.members("staff")).toEqual([a.pid]);
  });

  it("does not notify a member of its own end, and notifies the others once", async () => {
    const [a, b] = [puppet(system), puppet(system)];
    for (const one of [a, b]) await one.do((ctx) => ctx.join("staff"));
    for (const one of [a, b]) await one.do((ctx) => ctx.monitorGroup("staff"));
    system.exit(a.pid, "kill");
    await system.idle();
    expect(b.signals).toEqual([{ type: "group", change: "leave", group: "staff", pid: a.pid }]);
  });

  it("is not a membership: a process that leaves as a member goes on watching", async () => {
    const [a, b] = [puppet(system), puppet(system)];
    await a.do((ctx) => {
      ctx.monitorGroup("staff");
      ctx.join("staff");
      ctx.leave("staff");
    });
    await b.do((ctx) => ctx.join("staff"));
    await system.idle();
    expect(a.signals.map((signal) => signal.type === "group" && signal.pid)).toEqual([a.pid, a.pid, b.pid]);
  });
});

describe("groups", () => {
  it("hold nothing when all processes have ended", async () => {
    const [a, b] = [puppet(system), puppet(system)];
    await a.do((ctx) => ctx.join("one"));
    await b.do((ctx) => ctx.monitorGroup("two"));
    expect(system.kernel.groups.names()).toEqual(["one"]);
    for (const { pid } of [a, b]) system.exit(pid, "kill");
    expect(system.kernel.groups.names()).toEqual([]);
    expect(system.members("one")).toEqual([]);
  });

  it("count members as a bag of joins does, for every order of joins, leaves and exits [C5]", async () => {
    const event = fc.record({
      who: fc.nat(3),
      what: fc.constantFrom("join", "join", "leave", "leave", "die"),
      group: fc.constantFrom("red", "blue"),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 40 }), async (program) => {
        const members: Puppet[] = [0, 1, 2, 3].map(() => puppet(system));
        const watcher = puppet(system);
        await watcher.do((ctx) => ctx.monitorGroup("red"));
        const model: { who: number; group: string }[] = [];
        const dead = new Set<number>();
        for (const { who, what, group } of program) {
          const one = members[who] as Puppet;
          if (dead.has(who)) continue;
          if (what === "die") {
            dead.add(who);
            system.exit(one.pid, "kill");
            for (let i = model.length - 1; i >= 0; i--) if (model[i]?.who === who) model.splice(i, 1);
          } else if (what === "join") {
            await one.do((ctx) => ctx.join(group));
            model.push({ who, group });
          } else {
            const at = model.findIndex((entry) => entry.who === who && entry.group === group);
            expect(await one.do((ctx) => ctx.leave(group))).toBe(at >= 0);
            if (at >= 0) model.splice(at, 1);
          }
          for (const name of ["red", "blue"]) {
            const expected = new Set(model.filter((entry) => entry.group === name).map((entry) => entry.who));
            expect(
              new Set(system.members(name).map((pid) => members.findIndex((m) => m.pid === pid))),
            ).toEqual(expected);
          }
        }
        await system.idle();
        const told = new Set<Pid>();
        for (const signal of watcher.signals) {
          if (signal.type !== "group") throw new Error("no other signal was asked for");
          expect(told.has(signal.pid)).toBe(signal.change === "leave");
          if (signal.change === "join") told.add(signal.pid);
          else told.delete(signal.pid);
        }
        expect(told).toEqual(new Set(system.members("red")));
        for (const { pid } of [...members, watcher]) system.exit(pid, "kill");
      }),
      { numRuns: 60 },
    );
  });
});
