// Whose promise is it? Every promise made by a process's code carries that process, wherever the code got to.

import { outside, ownerOf, Pid, type ReplyTo, System } from "signalbox";
import { describe, expect, test } from "vitest";
import { markPromises, origin } from "../../lib/process/origin.js";
import { hostRejections, macrotask } from "../support/host.js";

describe("a promise that a process creates belongs to the process", () => {
  test("in a callback, in `init`, in a signal and in `terminate`", async () => {
    await using system = new System({ report: false });
    const made: Promise<unknown>[] = [];
    const make = (): void => void made.push(Promise.resolve());
    const pid = system.spawn<string>(
      { init: make, handle: make, signal: make, terminate: make },
      { trapExit: true },
    );
    system.send(pid, "message");
    system.spawn((ctx) => ctx.exit(pid, "shutdown"));
    await system.idle();
    system.exit(pid, "shutdown");
    await system.exited(pid);
    expect(made.map(ownerOf)).toEqual([pid, pid, pid, pid]);
  });

  test("in a function body: before, between and after its awaits, of whatever kind", async () => {
    await using system = new System({ report: false });
    const made: Promise<unknown>[] = [];
    const make = (): void => void made.push(Promise.resolve());
    const echo = system.spawn<ReplyTo<string>>({ handle: (ctx, replyTo) => ctx.reply(replyTo, "yes") });
    const pid = system.spawn<string>(async (ctx) => {
      make();
      await ctx.receive();
      make();
      await ctx.call(echo, (replyTo: ReplyTo<string>) => replyTo);
      make();
      await macrotask();
      make();
      await null;
      make();
      await ctx.receive({ timeoutMs: 0 }).catch(make);
      make();
    });
    system.send(pid, "go");
    await system.exited(pid);
    expect(made.map(ownerOf)).toEqual(new Array(7).fill(pid));
  });

  test("in async functions that call async functions, and in `then` callbacks", async () => {
    await using system = new System({ report: false });
    const made: Promise<unknown>[] = [];
    const make = (): void => void made.push(Promise.resolve());
    async function deep(levels: number): Promise<void> {
      await macrotask();
      if (levels > 0) await deep(levels - 1);
      make();
    }
    const pid = system.spawn(async () => {
      const floating = deep(3);
      made.push(floating);
      await Promise.all([deep(2), deep(1), floating.then(make)]);
    });
    await system.exited(pid);
    expect(made).toHaveLength(11);
    expect(made.map(ownerOf)).toEqual(new Array(11).fill(pid));
  });

  test("in functions that a timer or the host runs in the name of the process", async () => {
    await using system = new System({ report: false });
    const made: Promise<unknown>[] = [];
    const make = (): void => void made.push(Promise.resolve());
    const both = new Promise<void>((resolve) => {
      const done = (): void => {
        make();
        if (made.length === 2) resolve();
      };
      system.spawn<string>(
        async (ctx) => {
          ctx.runAfter(0, done);
          setImmediate(ctx.wrap(done));
          await ctx.receive();
        },
        { name: "body" },
      );
    });
    await both;
    const body = system.whereis("body");
    expect(made.map(ownerOf)).toEqual([body, body]);
  });

  test("in a turn that another process's code caused", async () => {
    await using system = new System({ report: false });
    const made: Promise<unknown>[] = [];
    const second = system.spawn<string>({ handle: () => void made.push(Promise.resolve()) });
    const first = system.spawn<string>(async (ctx) => {
      for (;;) ctx.send(second, await ctx.receive());
    });
    for (let i = 0; i < 3; i++) system.send(first, "pass it on");
    await system.idle();
    expect(made.map(ownerOf)).toEqual([second, second, second]);
  });

  test("also when several processes take turns with one another and with the code outside", async () => {
    await using system = new System({ report: false });
    const made: [Pid | undefined, Promise<unknown>][] = [];
    const make = (whose: Pid | undefined): void => void made.push([whose, Promise.resolve()]);
    const pids: Pid<number>[] = [];
    for (let n = 0; n < 4; n++) {
      pids.push(
        system.spawn<number>(async (ctx) => {
          for (let i = 0; i < 10; i++) {
            const left = await ctx.receive();
            make(ctx.self);
            if (i % 3 === 0) await null;
            if (i % 3 === 1) await macrotask();
            make(ctx.self);
            const next = pids[(n + 1 + (i % 2)) % 4] as Pid<number>;
            if (left > 0) ctx.send(next, left - 1);
            make(ctx.self);
          }
        }),
      );
    }
    for (const pid of pids) for (let i = 0; i < 5; i++) system.send(pid, 3);
    for (let i = 0; i < 20; i++) {
      make(undefined);
      await macrotask();
      make(undefined);
    }
    await system.idle();
    expect(made.length).toBeGreaterThan(100);
    expect(new Set(made.map(([whose]) => whose)).size).toBe(5);
    for (const [whose, promise] of made) expect(ownerOf(promise)).toBe(whose);
  });
});

describe("a promise has no owner", () => {
  test("when a bare callback of the host created it right after a process's code ran", async () => {
    await using system = new System({ report: false });
    const made: Promise<unknown>[] = [];
    const pid = system.spawn<string>(async (ctx) => {
      await ctx.receive();
      await null;
    });
    await system.idle();
    system.send(pid, "go");
    await new Promise<void>((resolve) => {
      const look = (left: number): void => {
        made.push(Promise.resolve());
        if (left === 0) resolve();
        else setImmediate(look, left - 1);
      };
      setImmediate(look, 5);
    });
    expect(system.isAlive(pid)).toBe(false);
    expect(made.map(ownerOf)).toEqual(new Array(6).fill(undefined));
  });

  test("when code outside all processes created it, also in reply to a process", async () => {
    await using system = new System({ report: false });
    const echo = system.spawn<ReplyTo<string>>({ handle: (ctx, replyTo) => ctx.reply(replyTo, "yes") });
    const before = Promise.resolve();
    const call = system.call(echo, (replyTo: ReplyTo<string>) => replyTo);
    await call;
    const after = Promise.resolve();
    const then = call.then(() => Promise.resolve());
    await then;
    expect([before, call, after, then].map(ownerOf)).toEqual([undefined, undefined, undefined, undefined]);
  });

  test("when a listener of an event created it, although a process's code caused the event", async () => {
    const errors: string[] = [];
    const rejections = await hostRejections(async () => {
      await using system = new System({ report: false });
      system.events.on("link", () => {
        throw new Error("thrown by a listener");
      });
      system.events.on("deadLetter", async () => {
        await null;
        throw new Error("rejected by a listener");
      });
      system.events.on("crash", ({ reason }) => errors.push(reason.type));
      const other = system.spawn<string>({ handle: () => undefined });
      const pid = system.spawn<string>({
        handle: (ctx) => {
          ctx.link(other);
          ctx.send("nobody", "lost");
          Promise.resolve();
        },
      });
      system.send(pid, "go");
      await system.idle();
      expect(system.isAlive(pid)).toBe(true);
      system.send(pid, "again");
      await system.idle();
      expect(system.isAlive(pid)).toBe(true);
    });
    // The system reports them itself.
    expect(rejections).toEqual([]);
    expect(errors).toEqual([]);
  });

  test("when it is created within `outside`, which restores the former owner", () => {
    const unmark = markPromises() as () => void;
    const someone = new Pid({ name: "shop", id: "1" }, 1, undefined, undefined);
    origin.current = someone;
    const [mine, its, again] = [Promise.resolve(), outside(() => Promise.resolve()), Promise.resolve()];
    origin.current = undefined;
    unmark();
    expect([mine, its, again].map(ownerOf)).toEqual([someone, undefined, someone]);
  });
});

describe("the hooks", () => {
  function marked(): boolean {
    const outer = origin.current;
    origin.current = new Pid({ name: "shop", id: "1" }, 1, undefined, undefined);
    const promise = Promise.resolve();
    origin.current = outer;
    return ownerOf(promise) !== undefined;
  }

  test("are installed while any system runs, and removed when the last has stopped", async () => {
    const listeners = process.listenerCount("unhandledRejection");
    expect(marked()).toBe(false);
    const first = new System({ report: false });
    const second = new System({ report: false });
    expect(marked()).toBe(true);
    await first.stop();
    expect(marked()).toBe(true);
    await second.stop();
    expect(marked()).toBe(false);
    expect(origin.current).toBeUndefined();
    expect(process.listenerCount("unhandledRejection")).toBe(listeners);
  });

  test("are counted: ending the same watch twice ends one", () => {
    const one = markPromises() as () => void;
    const two = markPromises() as () => void;
    one();
    one();
    expect(marked()).toBe(true);
    two();
    expect(marked()).toBe(false);
  });
});

test("a promise of a process that rejects at the system's stop still finds the library listening", async () => {
  const listening: number[] = [];
  const note = (): void => void listening.push(process.listenerCount("unhandledRejection"));
  const rejections = await hostRejections(async () => {
    process.on("unhandledRejection", note);
    const alone = process.listenerCount("unhandledRejection");
    const system = new System({ report: false });
    system.spawn(async (ctx) => {
      void ctx.receive();
      await new Promise(() => undefined);
    });
    const silent = system.spawn<ReplyTo<string>>({ handle: () => undefined });
    system.spawn(async (ctx) => {
      void ctx.call(silent, (replyTo: ReplyTo<string>) => replyTo);
      await ctx.receive();
    });
    await system.idle();
    await system.stop();
    process.off("unhandledRejection", note);
    expect(listening).toEqual([alone + 1, alone + 1]);
  });
  expect(rejections).toMatchObject([{ code: "ERR_PROCESS_EXITED" }, { code: "ERR_PROCESS_EXITED" }]);
});
