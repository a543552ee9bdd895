// Registries: keys, values, owners, listeners, and keys as addresses.

import {
  type Context,
  defineServer,
  dynamicSupervisor,
  KeyTakenError,
  NoProcessError,
  type NotRegisteredError,
  OptionError,
  type Pid,
  ProcessExitedError,
  Registry,
  type RegistryEvent,
  type ReplyTo,
  type Signal,
  System,
  supervisor,
} from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { testClock } from "../../../lib/testing/kit/clock.js";
import { type Puppet, puppet } from "../../support/puppet.js";

let system: System;
let a: Puppet;
let b: Puppet;
beforeEach(() => {
  system = new System({ name: "shop", environment: testClock().environment, report: false });
  a = puppet(system);
  b = puppet(system);
});
afterEach(() => system.stop());

describe("a unique registry", () => {
  it("gives a key to one process; the error names the holder, also when that is the process itself [B46]", () => {
    const names = new Registry<string, number>(system, { name: "names" });
    names.register(a.pid, "till", 1);
    expect(names.find("till")).toEqual({ key: "till", pid: a.pid, value: 1 });
    for (const late of [a, b]) {
      const refused = catching(() => names.register(late.pid, "till", 2)) as KeyTakenError;
      expect(refused).toBeInstanceOf(KeyTakenError);
      expect([refused.code, refused.key, refused.holder]).toEqual(["ERR_KEY_TAKEN", "till", a.pid]);
      expect(refused.message).toContain(`"till"`);
    }
    expect(names.lookup("till")).toEqual([{ key: "till", pid: a.pid, value: 1 }]);
  });

  it("takes any value as a key, by identity", () => {
    const byObject = new Registry<unknown>(system);
    const keys = [{}, {}, 1, "1", Symbol("s"), 1n, undefined, null, Number.NaN];
    for (const key of keys) byObject.register(a.pid, key);
    expect(byObject.keysOf(a.pid)).toEqual(keys);
    expect(byObject.size).toBe(keys.length);
    expect(byObject.find(Number.NaN)?.pid).toBe(a.pid);
    expect(byObject.find({})).toBeUndefined();
  });

  it("frees a key that its process gives back, for that process alone", () => {
    const names = new Registry<string>(system);
    names.register(a.pid, "till");
    expect(names.unregister(b.pid, "till")).toBe(0);
    expect(names.unregister(a.pid, "till")).toBe(1);
    names.register(b.pid, "till");
    expect(names.find("till")?.pid).toBe(b.pid);
  });

  it("lets the owner alone update its value, and a change that throws changes nothing", () => {
    const hits = new Registry<string, number>(system);
    hits.register(a.pid, "home", 1);
    expect(hits.update(a.pid, "home", (n) => n + 1)).toBe(2);
    expect(() =>
      hits.update(a.pid, "home", () => {
        throw new Error("no ink");
      }),
    ).toThrow("no ink");
    expect(hits.find("home")?.value).toBe(2);
    for (const [owner, key] of [
      [b.pid, "home"],
      [a.pid, "away"],
    ] as const) {
      const refused = catching(() => hits.update(owner, key, (n) => n)) as NotRegisteredError;
      expect([refused.code, refused.key]).toEqual(["ERR_NOT_REGISTERED", key]);
    }
  });
});

describe("a registry with duplicate keys", () => {
  it("keeps every entry, the oldest first, and dispatches to each", () => {
    const topics = new Registry<string, number>(system, { keys: "duplicate" });
    topics.register(a.pid, "orders", 1);
    topics.register(b.pid, "orders", 2);
    topics.register(a.pid, "orders", 3);
    topics.register(b.pid, "prices", 4);
    const seen: unknown[] = [];
    expect(topics.dispatch("orders", ({ pid, value }) => seen.push([pid, value]))).toBe(3);
    expect(seen).toEqual([
      [a.pid, 1],
      [b.pid, 2],
      [a.pid, 3],
    ]);
    expect([topics.count("orders"), topics.count("none"), topics.size]).toEqual([3, 0, 4]);
    expect(topics.keysOf(b.pid)).toEqual(["orders", "prices"]);
    expect(topics.select(({ value }) => value % 2 === 0).map(({ key }) => key)).toEqual(["orders", "prices"]);
    expect(topics.update(a.pid, "orders", (n) => n * 10)).toBe(30);
    expect(topics.lookup("orders").map(({ value }) => value)).toEqual([10, 2, 30]);
    expect(topics.unregister(a.pid, "orders")).toBe(2);
    expect(topics.lookup("orders").map(({ value }) => value)).toEqual([2]);
  });

  it("has no addresses", () => {
    const topics = new Registry<string>(system, { keys: "duplicate" });
    expect(() => topics.via("orders")).toThrow(OptionError);
  });
});

describe("the end of a process", () => {
  it.each(["normal", "shutdown", "kill", new Error("no paper")] as const)(
    "(%s) frees its keys before its EXIT and DOWN are seen [B47]",
    async (reason) => {
      const names = new Registry<string>(system);
      const signals: unknown[] = [];
      const note = (_ctx: unknown, signal: Signal): void =>
        void signals.push([signal.type, names.find("till"), names.keysOf(owner), names.size]);
      const owner = system.spawn(
        { handle: (ctx: Context<string>) => ctx.exit(reason) },
        { name: names.claim("till") },
      );
      system.spawn(
        { init: (ctx) => ctx.link(owner), handle: () => undefined, signal: note },
        { trapExit: true },
      );
      system.spawn({
        init: (ctx: Context<unknown>) => void ctx.monitor(owner),
        handle: () => undefined,
        signal: note,
      });
      await system.idle();
      system.send(owner, "go");
      await system.idle();
      expect(signals.sort()).toEqual([
        ["down", undefined, [], 0],
        ["exit", undefined, [], 0],
      ]);
    },
  );

  it("frees its keys in every registry, and no others", async () => {
    const [one, two] = [new Registry<string>(system), new Registry<string>(system, { keys: "duplicate" })];
    one.register(a.pid, "x");
    two.register(a.pid, "x");
    two.register(b.pid, "x");
    system.exit(a.pid, "kill");
    await system.idle();
    expect([one.size, two.lookup("x").map(({ pid }) => pid)]).toEqual([0, [b.pid]]);
    expect(catching(() => one.register(a.pid, "x"))).toBeInstanceOf(NoProcessError);
  });
});

describe("a key as an address", () => {
  type Ask = { readonly replyTo: ReplyTo<string> };
  const clerk =
    (name: string) =>
    (_ctx: Context<Ask>, { replyTo }: Ask): void =>
      _ctx.reply(replyTo, name);

  it("reaches the holder of the key at each send, call, link and monitor [B48]", async () => {
    const names = new Registry<string, undefined, Ask>(system);
    const desk = names.via("desk");
    const ask = () => system.call(desk, (replyTo: ReplyTo<string>) => ({ replyTo }));
    expect(String(desk)).toBe('registry["desk"]');
    await expect(ask()).rejects.toMatchObject({ code: "ERR_CALLEE_EXITED", reason: { type: "noproc" } });
    system.send(desk, {} as Ask);
    expect(system.deadLetters).toBe(1);
    const first = system.spawn({ handle: clerk("first") }, { name: names.claim("desk") });
    expect(await ask()).toBe("first");
    const monitor = await a.do((ctx) => ctx.monitor(desk));
    expect(monitor.target).toBe(first);
    await b.do((ctx) => {
      ctx.trapExit(true);
      ctx.link(desk);
    });
    system.exit(desk, "shutdown");
    const second = system.spawn({ handle: clerk("second") }, { name: names.claim("desk") });
    expect(await ask()).toBe("second");
    await system.idle();
    expect(a.signals).toEqual([expect.objectContaining({ type: "down", pid: first })]);
    expect(b.signals).toEqual([expect.objectContaining({ type: "exit", from: first })]);
    expect(system.isAlive(second)).toBe(true);
    const end = system.exited(desk);
    system.exit(second, "shutdown");
    expect(await end).toEqual({ type: "shutdown" });
  });

  it("of a server outlives its restarts", async () => {
    const Till = defineServer({
      init: () => ({ cash: 0 }),
      calls: { pay: (state, n: number) => (state.cash += n) },
      casts: {
        crash: () => {
          throw new Error("no paper");
        },
      },
    });
    const tills = new Registry<string, string>(system, { name: "tills" });
    const child = { id: "till", start: Till, name: tills.claim("north", "open") } as const;
    await system.start(supervisor({ children: [child], report: false }));
    const till = Till.at(system, tills.via("north"));
    expect(await till.call.pay(5)).toBe(5);
    const before = tills.find("north")?.pid;
    till.cast.crash();
    await system.idle();
    expect(await till.call.pay(7)).toBe(7);
    expect(tills.find("north")).toMatchObject({ value: "open" });
    expect(tills.find("north")?.pid).not.toBe(before);
  });

  it("as a name registers before the process runs, and fails its start when it is taken [B49]", async () => {
    const names = new Registry<string>(system, { name: "names" });
    const seen: unknown[] = [];
    const Desk = defineServer({
      init: (ctx, id: string) => {
        seen.push(names.find(id)?.pid === ctx.self);
        return {};
      },
    });
    const desk = await system.startWith({ name: names.claim("desk") }, Desk, "desk");
    expect(seen).toEqual([true]);
    await expect(system.startWith({ name: names.claim("desk") }, Desk, "desk")).rejects.toMatchObject({
      code: "ERR_KEY_TAKEN",
      holder: desk.pid,
    });
    expect(() => system.spawn(() => undefined, { name: names.claim("desk") })).toThrow(KeyTakenError);
    const root = await system.start(supervisor({}));
    await expect(
      root.startChild({ id: "d", start: Desk, args: ["desk"], name: names.claim("desk") }),
    ).rejects.toMatchObject({ problem: "start_failed", cause: { code: "ERR_KEY_TAKEN" } });
    expect(seen).toEqual([true]);
  });

  it("is claimed in `init` by children that are started by the number", async () => {
    const sessions = new Registry<string>(system);
    const Session = defineServer({
      init: (ctx, user: string) => {
        sessions.register(ctx, user);
        return { user };
      },
      calls: { who: (state) => state.user },
    });
    const many = await system.start(
      dynamicSupervisor({ child: { id: "session", start: Session, restart: "temporary" }, report: false }),
    );
    await many.startLike(["ada"]);
    expect(await Session.at(system, sessions.via("ada")).call.who()).toBe("ada");
    await expect(many.startLike(["ada"])).rejects.toMatchObject({ cause: { code: "ERR_KEY_TAKEN" } });
  });

  it("stays the target of an interval while the key has no holder", async () => {
    const clock = testClock();
    await using timed = new System({ environment: clock.environment });
    const names = new Registry<string, undefined, string>(timed);
    const got: string[] = [];
    timed.spawn((ctx) => {
      ctx.sendInterval(names.via("desk"), "tick", 10);
      return new Promise(() => undefined);
    });
    await clock.advance(15);
    timed.spawn({ handle: (_ctx, message: string) => void got.push(message) }, { name: names.claim("desk") });
    await clock.advance(10);
    expect(got).toEqual(["tick"]);
  });
});

describe("listeners", () => {
  it("learn of each entry that comes and goes, in order, until they stop listening [B50]", async () => {
    const names = new Registry<string, number>(system, { name: "names" });
    const told: unknown[] = [];
    const listener = system.spawn<RegistryEvent<string, number>>({
      handle: (_ctx, { type, registry, key, pid, value }) =>
        void told.push([type, registry, key, pid, value]),
    });
    names.listen(listener);
    names.register(a.pid, "x", 1);
    names.register(a.pid, "y", 2);
    names.update(a.pid, "y", () => 3);
    names.unregister(a.pid, "x");
    system.exit(a.pid, "kill");
    await system.idle();
    names.unlisten(listener);
    names.register(b.pid, "x", 4);
    await system.idle();
    expect(told).toEqual([
      ["registered", "names", "x", a.pid, 1],
      ["registered", "names", "y", a.pid, 2],
      ["unregistered", "names", "x", a.pid, 1],
      ["unregistered", "names", "y", a.pid, 3],
    ]);
  });

  it("that end, or have no room, disturb no other process", async () => {
    const names = new Registry<string>(system);
    const full = system.spawn(async () => new Promise(() => undefined), {
      mailbox: { capacity: 1, overflow: "reject" },
    });
    const gone: Pid<RegistryEvent<string, undefined>> = system.spawn({ handle: () => undefined });
    names.listen(full);
    names.listen(gone);
    await system.idle();
    system.exit(gone, "kill");
    names.register(a.pid, "x");
    names.register(a.pid, "y");
    system.exit(a.pid, "kill");
    expect([names.size, system.deadLetters]).toEqual([0, 3]);
  });
});

describe("bad input", () => {
  it.each([
    ["a system that is none", () => new Registry({} as System), "system"],
    ["a name that is no text", () => new Registry(system, { name: "" }), "name"],
    ["another kind of keys", () => new Registry(system, { keys: "many" as "unique" }), "keys"],
    ["an unknown option", () => new Registry(system, { key: "unique" } as object), "key"],
    ["a predicate that is none", () => new Registry(system).select(1 as never), "predicate"],
    ["a delivery that is none", () => new Registry(system).dispatch("x" as never, 1 as never), "deliver"],
    ["a change that is none", () => new Registry(system).update(a.pid, "x" as never, 1 as never), "change"],
    [
      "a name of a child that is none",
      () => supervisor({ children: [{ id: "x", start: () => 1, name: {} as string }] }),
      "children[0](x).name",
    ],
  ])("%s is an OptionError", (_what, attempt, path) => {
    expect(catching(attempt)).toMatchObject({ code: "ERR_OPTION", path });
  });

  it("from a process that has exited is refused", async () => {
    const names = new Registry<string>(system);
    const ctx = await a.do((own) => own);
    system.exit(a.pid, "kill");
    expect(catching(() => names.register(ctx, "x"))).toBeInstanceOf(ProcessExitedError);
    expect(names.keysOf(a.pid)).toEqual([]);
  });
});

function catching(attempt: () => unknown): unknown {
  try {
    return attempt();
  } catch (error) {
    return error;
  }
}

describe("the name of a registry", () => {
  it("stands for one registry of a system; the error names who made the other [B60]", async () => {
    new Registry(system, { name: "desks" });
    expect(() => new Registry(system, { name: "desks" })).toThrow(
      expect.objectContaining({ code: "ERR_OPTION", path: "name" }),
    );
    expect(() => new Registry(system, { name: "desks" })).toThrow(
      "code outside of processes made one of this name",
    );
    const maker = system.spawn({
      init: () => void new Registry(system, { name: "tills" }),
      handle: () => undefined,
    });
    await system.idle();
    expect(() => new Registry(system, { name: "tills" })).toThrow(`${maker} made one of this name`);
    await using other = new System({ name: "other", report: false });
    expect(new Registry(other, { name: "desks" }).name).toBe("desks");
  });

  it("is free when the process that made the registry has ended, so that each restart takes it again [B60]", async () => {
    const made: Registry<string>[] = [];
    const Desk = defineServer({
      init: async () => {
        await Promise.resolve();
        made.push(new Registry<string>(system, { name: "desks" }));
        return {};
      },
      casts: {
        crash: () => {
          throw new Error("no paper");
        },
      },
    });
    const tree = await system.start(
      supervisor({ intensity: 10, periodMs: 1, children: [{ id: "desk", name: "desk", start: Desk }] }),
    );
    for (let i = 0; i < 5; i++) {
      Desk.at(system, "desk").cast.crash();
      await system.idle();
    }
    expect(made.map(({ name }) => name)).toEqual(Array(6).fill("desks"));
    expect(system.isAlive(tree.pid)).toBe(true);
  });

  it("is one of its own without the option, and does not grow with restarts [B60]", async () => {
    const [one, two] = [new Registry(system), new Registry(system)];
    expect([one.name, two.name]).toEqual(["registry", "registry 2"]);
    for (let i = 0; i < 3; i++) {
      let name: string | undefined;
      system.spawn(() => {
        name = new Registry(system).name;
      });
      await system.idle();
      expect(name).toBe("registry 3");
    }
  });
});
