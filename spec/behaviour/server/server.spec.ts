// A server: state behind calls and casts, whose handlers run one at a time.

import { type Context, defineServer, ignore, type Pid, System, stop } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type TestClock, testClock } from "../../../lib/testing/kit/clock.js";
import { gate } from "../../support/gate.js";
import { Stock } from "./stock.js";

let clock: TestClock;
let system: System;
beforeEach(() => {
  clock = testClock();
  system = new System({ name: "shop", environment: clock.environment, report: false });
});
afterEach(() => system.stop());

describe("init", () => {
  it("makes the state from the arguments of start", async () => {
    expect(await (await system.start(Stock, 7)).call.left()).toBe(7);
  });

  it("may be asynchronous; the server has started when init is done, and earlier calls wait", async () => {
    const door = gate<number>();
    const Slow = defineServer({
      init: async (_ctx) => ({ left: await door.promise }),
      calls: { left: (state) => state.left },
    });
    const starting = system.startWith({ name: "slow" }, Slow);
    const call = Slow.at(system, "slow").call.left();
    await system.idle();
    door.open(3);
    expect(await call).toBe(3);
    expect(await (await starting).call.left()).toBe(3);
  });

  it("that throws or rejects fails the start with that error as its cause", async () => {
    const cause = new Error("no paper");
    const fail = (): never => {
      throw cause;
    };
    for (const init of [fail, async () => fail()]) {
      await expect(system.start(defineServer({ init }))).rejects.toMatchObject({ code: "ERR_START", cause });
    }
    expect(system.population).toBe(0);
  });

  it("may ask to be ignored, or stop, synchronously or asynchronously", async () => {
    const custom = { type: "custom", value: "closed" } as const;
    for (const end of [ignore, stop(custom)]) {
      const definitions = [defineServer({ init: () => end }), defineServer({ init: async () => end })];
      for (const definition of definitions) {
        const error = await system.start(definition).catch((e) => e);
        expect(error.code).toBe("ERR_START");
        expect(error.reason.type).toBe(end === ignore ? "shutdown" : "custom");
      }
    }
    expect(system.population).toBe(0);
  });

  it("gets the server's context, which init may keep in the state", async () => {
    const Clock = defineServer({
      init: (ctx) => ({ ctx: ctx as Context<unknown>, ticks: 0 }),
      calls: { ticks: (state) => state.ticks },
      casts: { start: (state) => void state.ctx.sendAfter(state.ctx.self, "tick", 100) },
      info: (state, message) => {
        if (message === "tick") state.ticks++;
      },
    });
    const ticking = await system.start(Clock);
    ticking.cast.start();
    await clock.advance(100);
    expect(await ticking.call.ticks()).toBe(1);
  });
});

describe("a cast", () => {
  it("is sent without waiting; it arrives before a call made after it", async () => {
    const stock = await system.start(Stock, 1);
    expect(stock.cast.restock(5)).toBe(undefined);
    expect(await stock.call.left()).toBe(6);
  });

  it("may stop the server", async () => {
    const stock = await system.start(Stock, 1);
    const end = system.exited(stock.pid);
    stock.cast.leave();
    expect(await end).toEqual({ type: "shutdown" });
  });

  it("to a server that has ended, or that has no such cast, is a dead letter, even with `info`", async () => {
    const seen: unknown[] = [];
    const Other = defineServer({ init: () => ({}), info: (_state, message) => seen.push(message) });
    const other = await system.startWith({ name: "other" }, Other);
    Stock.at(system, "other").cast.restock(1);
    await system.idle();
    expect(system.deadLetters).toBe(1);
    system.exit(other.pid, "kill");
    Stock.at(system, other.pid).cast.restock(1);
    Stock.at(system, "nobody").cast.restock(1);
    expect(system.deadLetters).toBe(3);
    expect(seen).toEqual([]);
  });
});

describe("handlers", () => {
  it("run one at a time, in the order of arrival, however long each takes [B2]", async () => {
    const stock = await system.start(Stock, 1);
    const doors = [gate(), gate()] as const;
    const first = stock.call.slowly(doors[0].promise, "first");
    stock.cast.note(doors[1].promise, "second");
    const third = stock.call.slowly(Promise.resolve(), "third");
    doors[1].open();
    await system.idle();
    doors[0].open();
    expect(await first).toEqual(["first begins", "first ends"]);
    expect(await third).toEqual(["first begins", "first ends", "second", "third begins", "third ends"]);
  });
});

describe("a message that is neither call nor cast", () => {
  it("goes to info, which may stop the server", async () => {
    const seen: unknown[] = [];
    const Open = defineServer({
      init: () => ({}),
      info: async (_state, message) => {
        seen.push(message);
        return message === "enough" ? stop() : undefined;
      },
    });
    const open = await system.start(Open);
    const end = system.exited(open.pid);
    for (const word of ["a", "b", "enough"]) system.send(open.pid as Pid<never>, word as never);
    expect(await end).toEqual({ type: "normal" });
    expect(seen).toEqual(["a", "b", "enough"]);
  });

  it("is a dead letter without info", async () => {
    const stock = await system.start(Stock, 1);
    system.send(stock.pid, "hello" as never);
    await system.idle();
    expect(system.deadLetters).toBe(1);
  });
});

describe("a handle", () => {
  it("prints as the pid or name that it addresses", async () => {
    const stock = await system.startWith({ label: "stock" }, Stock, 1);
    expect(String(stock)).toBe("<shop.1 stock>");
    expect(String(Stock.at(system, "stock"))).toBe("stock");
  });

  it("by name has the pid of the current holder of the name", async () => {
    const byName = Stock.at(system, "stock");
    expect(() => byName.pid).toThrow(expect.objectContaining({ code: "ERR_NO_PROCESS" }));
    const stock = await system.startWith({ name: "stock" }, Stock, 1);
    expect(byName.pid).toBe(stock.pid);
  });
});
