// Blame falls on the process whose code it was, and on nobody else: not on whoever happened to call it, not on the host.

import { addAbortListener } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { inspect } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Context, outside, ownerOf, type Pid, System, supervisor } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hostRejections, macrotask } from "../support/host.js";
import { obedient, puppet, sleep } from "../support/puppet.js";

let system: System;
let late: [Pid, unknown][];
let theirs: NodeJS.UnhandledRejectionListener[];

// Without the test runner's own listeners, a rejection that the library did not give to a process fails the run.
beforeEach(() => {
  theirs = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  late = [];
  system = new System({ report: false });
  system.events.on("lateError", ({ pid, error }) => late.push([pid, error]));
});
afterEach(async () => {
  for (const pid of system.processes()) system.exit(pid, "kill");
  await system.stop();
  for (const listener of theirs) process.on("unhandledRejection", listener);
});

const boom = new Error("boom");

function fail(): never {
  throw boom;
}

async function failLater(steps: number): Promise<void> {
  await null;
  if (steps === 0) throw boom;
  await failLater(steps - 1);
}

describe("a listener on `ctx.signal`", () => {
  it("may be one of many, without a warning of the host [H9]", async () => {
    const warnings: Error[] = [];
    const warned = (warning: Error): void => void warnings.push(warning);
    process.on("warning", warned);
    let heard = 0;
    const pid = system.spawn({
      init: (ctx) => {
        for (let n = 0; n < 20; n++) ctx.signal.addEventListener("abort", () => heard++);
      },
      handle: () => undefined,
    });
    await system.idle();
    system.exit(pid, "kill");
    await system.idle();
    await macrotask();
    process.off("warning", warned);
    expect([heard, warnings]).toEqual([20, []]);
  });

  const ways: [string, () => unknown][] = [
    ["throws", fail],
    ["rejects", () => failLater(3)],
    ["leaves a promise rejected", () => void failLater(3)],
    ["leaves a promise rejected at once", () => void Promise.reject(boom)],
  ];

  it.each(ways)(
    "that %s is a late error of the process that ends, not a crash of the process that ended it [H3]",
    async (_name, listener) => {
      const made: Pid[] = [];
      const child = {
        init: (ctx: Context<never>) => {
          made.push(ctx.self);
          ctx.signal.addEventListener("abort", listener);
        },
        handle: () => undefined,
      };
      const family = supervisor({
        children: [
          { id: "a", start: child },
          { id: "b", start: child },
        ],
      });
      const ref = await system.start(family);
      await ref.terminateChild("a");
      await macrotask();
      expect(late).toEqual([[made[0], boom]]);
      expect([ref.pid, ...made].map((pid) => system.isAlive(pid))).toEqual([true, false, true]);
    },
  );

  it.each(ways)(
    "that %s is also a late error when code outside all processes ends the process",
    async (_name, listener) => {
      const pid = system.spawn((ctx) => {
        ctx.signal.onabort = listener;
        return sleep(ctx);
      });
      await system.idle();
      system.exit(pid, "kill");
      await macrotask();
      expect(late).toEqual([[pid, boom]]);
    },
  );

  it("that fails only by a refused effect is not reported", async () => {
    const pid = system.spawn((ctx) => {
      ctx.signal.addEventListener("abort", () => ctx.send(ctx.self, "late"));
      return sleep(ctx);
    });
    await system.idle();
    system.exit(pid, "kill");
    expect(late).toEqual([]);
  });

  it("is called as on any AbortSignal: once, removed, added twice, an object, `onabort`, with the event", async () => {
    const other = puppet(system);
    const signal = await other.do((ctx) => ctx.signal);
    const calls: unknown[] = [];
    const note =
      (name: string) =>
      (event: Event): void =>
        void calls.push([name, event.type, event.target === signal]);
    const [twice, removed, object] = [note("twice"), note("removed"), { handleEvent: note("object") }];
    signal.addEventListener("abort", fail);
    signal.addEventListener("abort", twice);
    signal.addEventListener("abort", twice);
    signal.addEventListener("abort", removed);
    signal.removeEventListener("abort", removed);
    signal.addEventListener("abort", object, { once: true });
    signal.addEventListener("abort", note("once"), { once: true });
    signal.onabort = note("replaced");
    const onabort = note("onabort");
    signal.onabort = onabort;
    expect(signal.onabort).toBe(onabort);
    addAbortListener(signal, note("added"));
    const any = AbortSignal.any([signal, new AbortController().signal]);
    any.addEventListener("abort", () => calls.push("any"));
    signal.addEventListener("abort", null as never);
    expect(() => signal.addEventListener("abort", "no function" as never)).toThrow(TypeError);
    system.exit(other.pid, "kill");
    expect(calls).toEqual([
      ...["twice", "object", "once", "onabort", "added"].map((name) => [name, "abort", true]),
      "any",
    ]);
    expect(signal).toBeInstanceOf(AbortSignal);
    expect(signal.aborted && any.aborted).toBe(true);
    expect(late).toEqual([[other.pid, boom]]);
  });

  it("ends a fetch and a wait that were given the signal", async () => {
    const server = createServer(() => undefined).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    const ends: string[] = [];
    const pid = system.spawn(async (ctx) => {
      const note = (error: Error): void => void ends.push(error.name);
      const fetching = fetch(`http://127.0.0.1:${port}`, { signal: ctx.signal }).catch(note);
      await Promise.all([fetching, delay(60_000, undefined, { signal: ctx.signal }).catch(note)]);
    });
    await new Promise((resolve) => server.once("request", resolve));
    system.exit(pid, "kill");
    await macrotask();
    server.closeAllConnections();
    server.close();
    expect(ends.sort()).toEqual(["AbortError", "ProcessExitedError"]);
  });
});

describe("`terminate` that runs because of a rejection that no code awaited", () => {
  it.each([
    ["leaves a promise rejected", () => void failLater(2), 1],
    ["throws", fail, 0],
  ])(
    "and %s: that is this process's too, and the host hears nothing [H4]",
    async (_name, terminate, lateErrors) => {
      const other = obedient();
      const pid = system.spawn<typeof fail>({
        handle: (_ctx, order) => void Promise.resolve().then(order),
        terminate,
      });
      const neighbour = system.spawn(other);
      system.send(pid, fail);
      await system.exited(pid);
      await macrotask();
      expect(system.isAlive(neighbour)).toBe(true);
      expect(late).toEqual(new Array(lateErrors).fill([pid, boom]));
    },
  );
});

describe("a host with a listener of its own", () => {
  it("can ask which process owns a rejection, also when the process has ended [H5]", async () => {
    let culprit: Pid | undefined;
    const seen: [unknown, Pid | undefined][] = [];
    const listen = (error: unknown, promise: Promise<unknown>): void =>
      void seen.push([error, ownerOf(promise)]);
    process.on("unhandledRejection", listen);
    system.spawn(async (ctx) => {
      culprit = ctx.self;
      void failLater(2);
      void failLater(4);
      await ctx.receive();
    });
    await system.idle();
    void Promise.reject(boom);
    await macrotask();
    process.off("unhandledRejection", listen);
    expect(seen).toEqual([
      [boom, culprit],
      [boom, culprit],
      [boom, undefined],
    ]);
    expect(culprit).toMatchObject({ id: 1 });
  });

  it("runs with `outside` a resource that several processes share, and its failure crashes no process", async () => {
    let shared: Promise<void> | undefined;
    const open = (): Promise<void> => (shared ??= outside(() => failLater(3)));
    const rejections = await hostRejections(async () => {
      const pids = [1, 2].map(() =>
        system.spawn((ctx) => {
          void open();
          return sleep(ctx);
        }),
      );
      await system.idle();
      expect(pids.map((pid) => system.isAlive(pid))).toEqual([true, true]);
    });
    expect(rejections).toEqual([boom]);
  });
});

describe("the hook into the host", () => {
  it("goes without a trace", async () => {
    await system.stop();
    const before = Object.getOwnPropertyDescriptor(process, "emit");
    const one = new System();
    const two = new System();
    expect(Object.getOwnPropertyDescriptor(process, "emit")).not.toEqual(before);
    await one.stop();
    await two.stop();
    expect(Object.getOwnPropertyDescriptor(process, "emit")).toEqual(before);
    expect(process.listenerCount("unhandledRejection")).toBe(0);
  });

  it("works under and over another library's hook, and without it when the other library's removal removed both", async () => {
    const host: { emit: unknown } = process;
    const emit: (...args: never[]) => boolean = process.emit;
    const crashed = async (): Promise<string> => {
      const pid = system.spawn(async (ctx) => {
        void failLater(1);
        await ctx.receive();
      });
      return (await system.exited(pid)).type;
    };
    const events: unknown[] = [];
    host.emit = (...args: [string]) => {
      events.push(args[0]);
      return Reflect.apply(emit, process, args);
    };
    const over = new System({ report: false });
    expect(await crashed()).toBe("crash");
    await over.stop();
    host.emit = emit;
    expect(await crashed()).toBe("crash");
    delete (host as { emit?: unknown }).emit;
    expect(await crashed()).toBe("crash");
    await system.stop();
    expect(events).toContain("unhandledRejection");
    const uncaught: unknown[] = [];
    const catchers = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    process.once("uncaughtException", (error) => uncaught.push(error));
    void Promise.reject(boom);
    await macrotask();
    for (const catcher of catchers) process.on("uncaughtException", catcher);
    expect(uncaught).toEqual([boom]);
  });
});

describe("a promise that other code keeps", () => {
  it("prints and compares as any other promise, and keeps neither its process nor the process's last message in memory [H6]", async () => {
    setFlagsFromString("--expose-gc");
    const gc = runInNewContext("gc") as () => void;
    const cache: Promise<number>[] = [];
    const kept: WeakRef<object>[] = [];
    for (let n = 0; n < 50; n++) {
      const callbacks = system.spawn<object>({
        handle: async (ctx, message) => {
          kept.push(new WeakRef(message), new WeakRef(ctx));
          cache.push(Promise.resolve(7));
          await ctx.receive;
          await sleep({ receive: () => new Promise(() => undefined) });
        },
      });
      system.send(callbacks, { bytes: new Uint8Array(100) });
      const body = system.spawn<object>(async (ctx) => {
        kept.push(new WeakRef(ctx), new WeakRef(await ctx.receive()));
        cache.push(Promise.resolve(7));
      });
      system.send(body, { bytes: new Uint8Array(100) });
    }
    await system.idle();
    for (const pid of system.processes()) system.exit(pid, "kill");
    // What ran last is remembered by the scheduler, for a while.
    const others = puppet(system);
    for (let n = 0; n < 2_000; n++) await others.do(() => undefined);
    await macrotask();
    gc();
    expect(kept).toHaveLength(200);
    expect(kept.filter((ref) => ref.deref() !== undefined)).toEqual([]);
    expect(cache.map(ownerOf)).not.toContain(undefined);
    expect(inspect(cache[0])).toBe("Promise { 7 }");
    expect(cache[0]).toEqual(Promise.resolve(7));
  });

  it("a `ctx` that other code keeps does not keep the last message in memory", async () => {
    setFlagsFromString("--expose-gc");
    const gc = runInNewContext("gc") as () => void;
    const kept: Context<object>[] = [];
    const messages: WeakRef<object>[] = [];
    const pid = system.spawn<object>(async (ctx) => {
      kept.push(ctx);
      messages.push(new WeakRef(await ctx.receive()));
    });
    system.send(pid, { bytes: new Uint8Array(100) });
    await system.exited(pid);
    await macrotask();
    gc();
    expect(kept.map((ctx) => ctx.alive)).toEqual([false]);
    expect(messages.map((message) => message.deref())).toEqual([undefined]);
  });
});
