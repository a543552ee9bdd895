// An end is an end: whatever was thrown, sent or given as a reason, everybody hears of it.

import {
  type Callbacks,
  CalleeExitedError,
  type Context,
  custom,
  defineServer,
  type ExitReason,
  type Pid,
  type ReplyTo,
  remoteNodes,
  type Startable,
  StartError,
  System,
  stop,
  supervisor,
} from "signalbox";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Remote } from "../../lib/process/remote.js";
import { type Launch, launch } from "../../lib/process/start.js";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { gate } from "../support/gate.js";
import { macrotask } from "../support/host.js";
import { bristling, HOSTILE, revoked } from "../support/hostile.js";
import { endings, puppet, sleep } from "../support/puppet.js";
import { Wire } from "../support/wire.js";

let clock: TestClock;
let system: System;
let ends: Map<Pid, ExitReason>;
let reports: string[];
let late: unknown[];
let theirs: NodeJS.UnhandledRejectionListener[];

// The test runner's own listeners would take a process's rejection for a failed test.
beforeEach(() => {
  theirs = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  clock = testClock();
  reports = [];
  late = [];
  system = new System({ name: "shop", environment: clock.environment, report: (text) => reports.push(text) });
  ends = endings(system);
  system.events.on("lateError", ({ error }) => late.push(error));
});
afterEach(async () => {
  for (const pid of system.processes()) system.exit(pid, "kill");
  await system.stop();
  for (const listener of theirs) process.on("unhandledRejection", listener);
});

/** Ways in which a value becomes part of an end. */
const WAYS: readonly (readonly [how: string, handle: (ctx: Context<unknown>, value: unknown) => unknown])[] =
  [
    [
      "thrown",
      (_ctx, value) => {
        throw value;
      },
    ],
    ["given to `stop` as custom", (_ctx, value) => stop(custom(value))],
    [
      "given to `stop` as the detail of a shutdown",
      (_ctx, value) => stop({ type: "shutdown", detail: value }),
    ],
    ["given to `ctx.exit` as custom", (ctx, value) => ctx.exit(custom(value))],
    ["rejected with", (_ctx, value) => Promise.reject(value)],
  ];

describe.each(HOSTILE)("%s", (_what, value) => {
  it.each(WAYS)(
    "%s, is an end that links, monitors, callers and waits are notified of [E1]",
    async (_how, handle) => {
      const pid = system.spawn<unknown>({ handle });
      const linked = puppet(system, { trapExit: true });
      const watcher = puppet(system);
      await linked.do((ctx) => ctx.link(pid));
      await watcher.do((ctx) => ctx.monitor(pid));
      const gone = system.exited(pid);
      const silent = system.call(pid, (_to: ReplyTo<never>) => value).catch((error: unknown) => error);
      await system.idle();
      expect(linked.signals).toMatchObject([{ type: "exit", from: pid }]);
      expect(watcher.signals).toMatchObject([{ type: "down", pid }]);
      expect(await silent).toBeInstanceOf(CalleeExitedError);
      expect((await gone).type).toBe(ends.get(pid)?.type);
    },
  );

  it.each(WAYS)("%s, is reported when no process observed it", async (_how, handle) => {
    const pid = system.spawn<unknown>({ handle });
    system.send(pid, value);
    await system.idle();
    expect(ends.has(pid)).toBe(true);
    expect(reports).toHaveLength(ends.get(pid)?.type === "shutdown" ? 0 : 1);
  });

  it("ends only the child of a supervisor, and the supervisor restarts the child", async () => {
    const child: Callbacks<unknown> = {
      handle: (_ctx, message) => {
        throw message;
      },
    };
    const shop = await system.start(supervisor({ children: [{ id: "clerk", name: "clerk", start: child }] }));
    const first = system.whereis("clerk");
    const call = system.call("clerk", (_to: ReplyTo<never>) => value).catch(() => undefined);
    await system.idle();
    await call;
    expect(system.isAlive(first as Pid)).toBe(false);
    expect(await shop.whichChildren()).toMatchObject([{ status: "running", pid: system.whereis("clerk") }]);
  });

  it("is a late error after the end, like any other error", async () => {
    const { promise, open } = gate();
    const pid = system.spawn(async () => {
      await promise;
      throw value;
    });
    await system.idle();
    system.exit(pid, "kill");
    open();
    await system.idle();
    expect(late).toHaveLength(1);
    expect(reports.at(-1)).toContain("threw after its exit: ");
  });
});

describe("an invalid reason", () => {
  const none: readonly (readonly [what: string, reason: unknown])[] = [
    ["a crash without an Error", { type: "crash" }],
    ["a crash of a text", { type: "crash", error: "boom" }],
    ["an unknown type", { type: "Crash", error: new Error("boom") }],
    ["a number for a type", { type: 7 }],
    ["an empty object", {}],
    ["a word that is none", "killed"],
    ["null", null],
    ["a revoked Proxy", revoked()],
    ["a Proxy whose traps throw", bristling()],
  ];

  it.each(none)("is refused at the call that passes it: %s [E3]", async (_what, given) => {
    const reason = given as ExitReason;
    const refusal = { code: "ERR_OPTION", path: "reason" };
    const pid = system.spawn(sleep);
    expect(() => stop(reason)).toThrow(expect.objectContaining(refusal));
    expect(() => system.exit(pid, reason)).toThrow(expect.objectContaining(refusal));
    expect(() => system.exit("nobody", reason)).toThrow(expect.objectContaining(refusal));
    const boss = puppet(system);
    await expect(boss.do((ctx) => ctx.exit(pid, reason))).rejects.toMatchObject(refusal);
    await expect(boss.do((ctx) => ctx.exit(reason))).rejects.toMatchObject(refusal);
    expect(system.isAlive(pid)).toBe(true);
    expect(system.isAlive(boss.pid)).toBe(true);
  });

  it("is a crash when it comes from another node: the exit has happened anyway", async () => {
    const wire = new Wire();
    const [here, there] = [wire.join("here"), wire.join("there")];
    const watcher = puppet(here, { trapExit: true });
    const pid = there.spawn(sleep);
    const far = here.pidAt(there.address(pid));
    await watcher.do((ctx) => ctx.link(far));
    here.deliver({
      type: "exit",
      from: there.address(pid),
      to: here.address(watcher.pid),
      reason: { type: "crash" } as never,
      source: "link",
    });
    await here.idle();
    expect(watcher.signals).toMatchObject([{ type: "exit", from: far, reason: { type: "crash" } }]);
    await Promise.all([here.stop(), there.stop()]);
  });

  it("is read once: a getter that returns another value the next time changes nothing", async () => {
    let reads = 0;
    const fickle = {
      get type() {
        return ++reads === 1 ? "shutdown" : "crash";
      },
    };
    const pid = system.spawn(sleep);
    system.exit(pid, fickle as ExitReason);
    expect(ends.get(pid)?.type).toBe("shutdown");
  });
});

describe("exits that spread along links", () => {
  it("go on when one of them throws, and so do the exits after it [E4]", async () => {
    const hub = puppet(system);
    const spokes = Array.from({ length: 3 }, () => puppet(system));
    for (const { pid } of spokes) await hub.do((ctx) => ctx.link(pid));
    const [first] = spokes.map(({ pid }) => pid);
    const fault = vi.spyOn(system.kernel.remote, "forget").mockImplementation((pid) => {
      if (pid === first) throw new RangeError("the stack is used up");
    });
    expect(() => system.exit(hub.pid, custom("broken"))).toThrow("the stack is used up");
    fault.mockRestore();
    expect(spokes.map(({ pid }) => system.isAlive(pid))).toEqual([false, false, false]);
    const pair = [puppet(system), puppet(system)] as const;
    await pair[0].do((ctx) => ctx.link(pair[1].pid));
    system.exit(pair[0].pid, custom("broken"));
    expect(system.isAlive(pair[1].pid)).toBe(false);
    expect(reports).toHaveLength(2);
  });

  it("are not stopped by a transport that throws", async () => {
    await using shaky = new System({
      report: (text) => reports.push(text),
      transport: remoteNodes({
        send: (_node, { type }) => {
          if (type === "exit" || type === "down") throw new Error("the line is down");
          return true;
        },
      }),
    });
    const hub = puppet(shaky);
    const mate = puppet(shaky);
    await hub.do((ctx) => ctx.link(shaky.pidAt({ node: { name: "there", id: "there" }, id: 1 })));
    await hub.do((ctx) => ctx.link(mate.pid));
    shaky.exit(hub.pid, custom("broken"));
    expect(shaky.population).toBe(0);
    expect(reports.join()).toContain("the line is down");
  });
});

describe("a child that a listener of `spawn` ends at birth", () => {
  const child: Callbacks<never> = { init: () => undefined, handle: () => undefined };
  const Child: Startable<readonly [], Pid> = {
    [launch]: (): Launch<Pid> => ({ behaviour: child, options: { label: "child" }, ref: (pid) => pid }),
  };
  beforeEach(() => {
    let victims = 1;
    system.events.on("spawn", ({ pid }) => {
      if (pid.label === "child" && victims-- > 0) system.exit(pid, custom("not today"));
    });
  });

  it.each([
    ["", {}],
    [", with a timeout too", { timeoutMs: 1_000 }],
  ] as const)("fails its start%s [E5]", async (_how, options) => {
    await expect(system.startWith(options, Child)).rejects.toMatchObject({
      code: "ERR_START",
      reason: custom("not today"),
    });
    expect(system.kernel.pendingTimers).toBe(0);
  });

  it("fails the start of a process that traps exits, and leaves no EXIT behind", async () => {
    const boss = puppet(system, { trapExit: true });
    await expect(boss.do((ctx) => ctx.start(Child))).rejects.toBeInstanceOf(StartError);
    expect(boss.signals).toEqual([]);
  });

  it("is reported to links and monitors with its reason", async () => {
    const boss = puppet(system, { trapExit: true });
    const pid = await boss.do((ctx) => ctx.spawnLink(child, { label: "child" }));
    await system.idle();
    expect(boss.signals).toEqual([{ type: "exit", from: pid, reason: custom("not today") }]);
  });

  it("is restarted by its supervisor", async () => {
    const shop = await system.start(supervisor({ children: [{ id: "other", start: child }] }));
    await expect(shop.startChild({ id: "child", start: child })).rejects.toMatchObject({
      code: "ERR_CHILD",
    });
    expect(system.isAlive((await shop.startChild({ id: "child", start: child })) as Pid)).toBe(true);
  });
});

describe("a timer to an invalid receiver", () => {
  it.each([undefined, null, 7, {}])("is refused when it is set: %s [E6]", async (to) => {
    const refusal = { code: "ERR_OPTION", path: "to" };
    const nowhere = to as unknown as string;
    const boss = puppet(system);
    expect(() => system.sendAfter(nowhere, "hello", 10)).toThrow(expect.objectContaining(refusal));
    await expect(boss.do((ctx) => ctx.sendAfter(nowhere, "hello", 10))).rejects.toMatchObject(refusal);
    await expect(boss.do((ctx) => ctx.sendInterval(nowhere, "hello", 10))).rejects.toMatchObject(refusal);
    await expect(boss.do((ctx) => ctx.exit(nowhere, "kill"))).rejects.toMatchObject(refusal);
    expect(() => system.exit(nowhere, "kill")).toThrow(expect.objectContaining(refusal));
    await clock.advance(10);
  });
});

describe("a thenable that calls back more than once", () => {
  /** Answers as often as the test likes. */
  class Chatterbox {
    answer: (value?: unknown) => void = () => undefined;
    refuse: (error: unknown) => void = () => undefined;
    // biome-ignore lint/suspicious/noThenProperty: it is what the test is about
    then(resolve: (value: unknown) => void, reject: (error: unknown) => void): void {
      this.answer = resolve;
      this.refuse = reject;
    }
  }

  it("counts once: its handler ends once, and the next handler runs alone [E7]", async () => {
    const first = new Chatterbox();
    const doors = [gate(), gate()] as const;
    const log: string[] = [];
    const pid = system.spawn<number>({
      handle: (_ctx, n) => (n === 0 ? first : doors[n - 1]?.promise.then(() => log.push(`${n} is done`))),
    });
    for (const n of [0, 1, 2]) system.send(pid, n);
    await system.idle();
    first.answer();
    await system.idle();
    first.answer();
    first.refuse(new Error("too late"));
    await system.idle();
    expect(system.info(pid)).toMatchObject({ status: "suspended", mailboxDepth: 1 });
    doors[1].open();
    await system.idle();
    expect(log).toEqual([]);
    doors[0].open();
    await system.idle();
    expect(log).toEqual(["1 is done", "2 is done"]);
  });

  it("counts once as an `init`, a body and a `terminate`", async () => {
    const [init, body, terminate] = [new Chatterbox(), new Chatterbox(), new Chatterbox()];
    const clerk = system.spawn<string>(
      { init: () => init, handle: () => undefined, terminate: () => terminate },
      { trapExit: true },
    );
    const walker = system.spawn(() => body);
    await system.idle();
    for (const one of [init, body]) {
      one.answer();
      one.answer(stop(custom("again")));
      one.refuse(new Error("too late"));
    }
    await system.idle();
    expect(system.info(clerk)?.status).toBe("waiting");
    expect(ends.get(walker)).toEqual({ type: "normal" });
    system.exit(clerk, "shutdown");
    await system.idle();
    terminate.answer();
    terminate.refuse(new Error("too late"));
    await system.idle();
    expect(ends.get(clerk)).toEqual({ type: "shutdown" });
    expect(late).toEqual([]);
  });

  it("is awaited by a server, too", async () => {
    const odd = new Chatterbox();
    const log: string[] = [];
    const Odd = defineServer({
      init: () => ({}),
      calls: { slow: () => odd as unknown as Promise<number>, fast: () => log.push("fast") },
    });
    const server = await system.start(Odd);
    const slow = server.call.slow();
    const fast = server.call.fast();
    await system.idle();
    expect(log).toEqual([]);
    odd.answer(7);
    odd.answer(8);
    expect(await Promise.all([slow, fast])).toEqual([7, 1]);
  });

  it("or throws after its first callback, counts once as well", async () => {
    const pid = system.spawn<string>({
      handle: () => ({
        // biome-ignore lint/suspicious/noThenProperty: it is what the test is about
        then: (resolve: () => void) => {
          resolve();
          throw new Error("and more");
        },
      }),
    });
    system.send(pid, "go");
    await system.idle();
    expect(system.info(pid)?.status).toBe("waiting");
  });
});

describe("a failure while `terminate` runs", () => {
  it("is a late error: `terminate` runs to its end, and the first reason stays [E8]", async () => {
    const { promise, open } = gate();
    const log: string[] = [];
    const [first, second] = [new Error("first"), new Error("second")];
    const pid = system.spawn<string>({
      handle: () => {
        throw first;
      },
      terminate: async () => {
        void Promise.reject(second);
        await promise;
        log.push("saved");
      },
    });
    system.send(pid, "go");
    await system.idle();
    await macrotask();
    expect(system.info(pid)?.status).toBe("terminating");
    expect(late).toEqual([second]);
    open();
    await macrotask();
    expect(log).toEqual(["saved"]);
    expect(ends.get(pid)).toEqual({ type: "crash", error: first });
    expect(reports.filter((text) => text.includes("threw while it terminated"))).toHaveLength(1);
  });

  it("is the reason when `terminate` itself fails", async () => {
    const boom = new Error("boom");
    // biome-ignore lint/suspicious/noThenProperty: it is what the test is about
    const hostile = Object.defineProperty({}, "then", {
      get: () => {
        throw boom;
      },
    });
    for (const terminate of [() => Promise.reject(boom), () => hostile]) {
      const pid = system.spawn<string>({ handle: () => stop(), terminate });
      system.send(pid, "go");
      await system.idle();
      expect(ends.get(pid)).toEqual({ type: "crash", error: boom });
    }
  });
});

describe("a wait for an end from outside", () => {
  it("creates no visible process [E9]", async () => {
    const spawned: Pid[] = [];
    system.events.on("spawn", ({ pid }) => spawned.push(pid));
    const pid = system.spawn(sleep);
    const waits = [system.exited(pid), system.exited(pid)];
    expect(system.processes()).toEqual([pid]);
    expect(system.info(pid)?.monitoredBy).toEqual([]);
    system.exit(pid, custom("done"));
    expect(await Promise.all(waits)).toEqual([custom("done"), custom("done")]);
    expect(spawned).toEqual([pid]);
    expect(system.spawn(sleep).id).toBe(pid.id + 1);
  });

  it("leaves nothing behind for an invalid pid, an ended process, or a pid of another node", async () => {
    const gone = system.spawn(() => undefined);
    await system.idle();
    expect(await system.exited(gone)).toEqual({ type: "noproc" });
    const far = system.pidAt({ node: { name: "there", id: "there" }, id: 1 });
    expect(await system.exited(far)).toEqual({ type: "noconnection" });
    for (const none of [undefined, null, "clerk-of-nobody", {}] as never[]) {
      await expect(system.exited(none)).rejects.toMatchObject({ code: "ERR_OPTION", path: "pid" });
    }
    expect(system.population).toBe(0);
  });

  it("that is aborted no longer holds a monitor on the process", async () => {
    const pid = system.spawn(sleep);
    const controller = new AbortController();
    const wait = system.exited(pid, { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(wait).rejects.toThrow("enough");
    expect(pid.process?.watchers).toBe(undefined);
    await expect(system.exited(pid, { signal: controller.signal })).rejects.toThrow("enough");
  });

  it("works for processes on other nodes", async () => {
    const wire = new Wire();
    const [here, there] = [wire.join("here"), wire.join("there")];
    const pids = [1, 2, 3].map(() => there.spawn(sleep));
    const [ended, aborted, lost] = pids.map((pid): Pid => here.pidAt(there.address(pid))) as [Pid, Pid, Pid];
    const controller = new AbortController();
    const refused = expect(here.exited(aborted, { signal: controller.signal })).rejects.toThrow("enough");
    const reason = here.exited(ended);
    const cut = here.exited(lost);
    await there.idle();
    expect(here.population).toBe(0);
    there.exit(pids[0] as Pid, custom("done"));
    expect(await reason).toEqual(custom("done"));
    controller.abort(new Error("enough"));
    await refused;
    await there.idle();
    expect(pids.map((pid) => there.info(pid)?.monitoredBy.length)).toEqual([undefined, 0, 1]);
    here.nodeDown(there.node.id);
    expect(await cut).toEqual({ type: "noconnection" });
    expect((here.kernel.remote as Remote).watches.size).toBe(0);
    await Promise.all([here.stop(), there.stop()]);
  });
});
