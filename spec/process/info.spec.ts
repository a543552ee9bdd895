// What a system shows of its processes, and what a pid is to those who hold one.

import { inspect } from "node:util";
import { type Pid, System } from "signalbox";
import { describe, expect, test } from "vitest";

const quiet = { handle: () => undefined };
const never = new Promise<never>(() => undefined);

describe("the status of a process", () => {
  test("is `starting` until its first turn, or until its `init` is done", async () => {
    await using system = new System({ report: false });
    let ready: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      ready = resolve;
    });
    const body = system.spawn(() => never);
    const server = system.spawn({ init: () => gate, handle: () => undefined });
    expect([system.info(body)?.status, system.info(server)?.status]).toEqual(["starting", "starting"]);
    await system.idle();
    expect([system.info(body)?.status, system.info(server)?.status]).toEqual(["suspended", "starting"]);
    ready();
    await system.idle();
    expect(system.info(server)?.status).toBe("waiting");
    system.exit(body, "kill");
  });

  test("is `waiting`, `ready`, `running` and `suspended` in the course of a message", async () => {
    await using system = new System({ report: false });
    const seen: (string | undefined)[] = [];
    let go: () => void = () => undefined;
    const pid = system.spawn<string>({
      handle: (ctx) => {
        seen.push(system.info(ctx.self)?.status);
        return new Promise<void>((resolve) => {
          go = resolve;
        });
      },
    });
    const look = (): void => void seen.push(system.info(pid)?.status);
    look();
    system.send(pid, "go");
    look();
    await system.idle();
    look();
    go();
    await system.idle();
    look();
    expect(seen).toEqual(["waiting", "ready", "running", "suspended", "waiting"]);
  });

  test("is `waiting` in a receive, `suspended` in any other await", async () => {
    await using system = new System({ report: false });
    const pid = system.spawn<string>(async (ctx) => {
      await ctx.receive();
      await never;
    });
    await system.idle();
    expect(system.info(pid)?.status).toBe("waiting");
    system.send(pid, "go");
    expect(system.info(pid)?.status).toBe("ready");
    await system.idle();
    expect(system.info(pid)?.status).toBe("suspended");
    system.exit(pid, "kill");
  });

  test("is `terminating` during `terminate`, and messages that arrive then do not change the status", async () => {
    await using system = new System({ report: false });
    const log: string[] = [];
    let done: () => void = () => undefined;
    const cleaned = new Promise<void>((resolve) => {
      done = resolve;
    });
    let fail: () => void = () => undefined;
    const pid = system.spawn<string>({
      init: (ctx) => {
        log.push("init");
        fail = ctx.wrap(() => {
          throw new Error("boom");
        });
      },
      handle: (_ctx, message) => void log.push(message),
      terminate: () => {
        log.push("terminate");
        return cleaned;
      },
    });
    await system.idle();
    system.send(pid, "waits");
    fail();
    system.send(pid, "too late");
    await system.idle();
    expect(system.info(pid)?.status).toBe("terminating");
    const gone = system.exited(pid);
    done();
    expect(await gone).toMatchObject({ type: "crash", error: { message: "boom" } });
    expect(log).toEqual(["init", "terminate"]);
    expect(system.info(pid)).toBeUndefined();
  });

  test("keeps the reason given to `ctx.exit` through an asynchronous `terminate`", async () => {
    await using system = new System({ report: false });
    for (const handle of [
      (ctx: { exit(reason: "shutdown"): never }): never => ctx.exit("shutdown"),
      async (ctx: { exit(reason: "shutdown"): never }): Promise<never> => ctx.exit("shutdown"),
    ]) {
      let cleaned = false;
      const pid = system.spawn<string>({
        handle,
        terminate: async () => {
          await new Promise((resolve) => setImmediate(resolve));
          cleaned = true;
        },
      });
      const gone = system.exited(pid);
      system.send(pid, "go");
      expect(await gone).toEqual({ type: "shutdown" });
      expect(cleaned).toBe(true);
    }
  });
});

describe("the info of a process", () => {
  test("names its relations, its place and its work", async () => {
    await using system = new System({ report: false });
    const [friend, watched] = [system.spawn(quiet), system.spawn(quiet)];
    const watcher = system.spawn<Pid>({ handle: (ctx, pid) => void ctx.monitor(pid) });
    const pid = system.spawn<string>(
      {
        handle: (ctx) => {
          ctx.join("staff");
          ctx.link(friend);
          ctx.monitor(watched);
          ctx.monitor(watched);
          ctx.trapExit(true);
        },
      },
      { name: "clerk", label: "the clerk" },
    );
    system.send(pid, "go");
    system.send(watcher, pid);
    await system.idle();
    expect(system.info(pid)).toEqual({
      pid,
      label: "the clerk",
      name: "clerk",
      groups: ["staff"],
      status: "waiting",
      mailboxDepth: 0,
      links: [friend],
      monitors: [watched, watched],
      monitoredBy: [watcher],
      handled: 1,
      trapExit: true,
      parent: undefined,
    });
    system.send(pid, "again");
    system.send(pid, "and again");
    expect(system.info(pid)?.mailboxDepth).toBe(2);
    await system.idle();
    expect(system.info(pid)?.handled).toBe(3);
    expect(system.info(friend)?.links).toEqual([pid]);
  });

  test("names the parent; without one nothing is left out or made up", async () => {
    await using system = new System({ report: false });
    let child: Pid | undefined;
    const parent = system.spawn<string>({
      init: (ctx) => {
        child = ctx.spawn(quiet);
      },
      handle: () => undefined,
    });
    await system.idle();
    expect(system.info(child as Pid)).toMatchObject({
      parent,
      label: undefined,
      name: undefined,
      groups: [],
      links: [],
    });
    expect(system.info(parent)?.parent).toBeUndefined();
  });

  test("is available only for a live process of this system", async () => {
    await using system = new System({ report: false });
    await using other = new System({ report: false });
    const pid = system.spawn(quiet);
    expect(other.info(pid)).toBeUndefined();
    expect(other.isAlive(pid)).toBe(false);
    system.exit(pid, "kill");
    expect(system.info(pid)).toBeUndefined();
  });
});

describe("a pid", () => {
  test("prints as node, number and label, in every way to print", async () => {
    await using system = new System({ name: "shop", report: false });
    const pid = system.spawn(quiet, { label: "clerk" });
    const plain = system.spawn(quiet);
    expect(String(pid)).toBe("<shop.1 clerk>");
    expect(String(plain)).toBe("<shop.2>");
    expect(inspect({ pid })).toBe("{ pid: <shop.1 clerk> }");
    expect(JSON.stringify({ pid })).toBe('{"pid":"<shop.1 clerk>"}');
    system.exit(pid, "kill");
    expect(String(pid)).toBe("<shop.1 clerk>");
  });

  test("is compared with `===` and is a key of a Map: the same process is the same pid", async () => {
    await using system = new System({ report: false });
    let self: Pid | undefined;
    const pid = system.spawn<string>({
      init: (ctx) => {
        self = ctx.self;
        ctx.register("me");
      },
      handle: () => undefined,
    });
    await system.idle();
    expect(self).toBe(pid);
    expect(system.whereis("me")).toBe(pid);
    expect(system.processes()).toEqual([pid]);
    const stock = new Map<Pid, number>([[pid, 1]]);
    expect(stock.get(system.whereis("me") as Pid)).toBe(1);
  });

  test("is compared and shown without the system that it refers to", async () => {
    await using system = new System({ name: "shop" });
    const pid = system.spawn({ handle: () => undefined });
    expect(Object.keys(pid)).toEqual(["node", "id", "label"]);
    expect({ from: pid }).toEqual({ from: pid });
    expect(Object.keys(structuredClone({ ...pid }))).toEqual(["node", "id", "label"]);
  });

  test("is never used again", async () => {
    await using system = new System({ report: false });
    const texts = new Set<string>();
    for (let i = 0; i < 100; i++) {
      const pid = system.spawn(quiet);
      texts.add(String(pid));
      system.exit(pid, "kill");
    }
    expect(texts.size).toBe(100);
  });

  test("of one system is unknown to another system of the same name", async () => {
    await using one = new System({ name: "shop", report: false });
    await using two = new System({ name: "shop", report: false });
    const got: string[] = [];
    const mine = one.spawn<string>({ handle: (_ctx, message) => void got.push(`one ${message}`) });
    const yours = two.spawn<string>({ handle: (_ctx, message) => void got.push(`two ${message}`) });
    expect(String(mine)).toBe(String(yours));
    expect(one.node.id).not.toBe(two.node.id);
    one.send(yours, "astray");
    two.exit(mine, "kill");
    expect(() => two.register("mine", mine)).toThrow(expect.objectContaining({ code: "ERR_NO_PROCESS" }));
    one.send(mine, "here");
    await one.idle();
    await two.idle();
    expect(got).toEqual(["one here"]);
    expect(one.deadLetters).toBe(1);
    expect(one.isAlive(mine)).toBe(true);
  });
});
