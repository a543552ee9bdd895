// Calls of a server: how each ends, and who may make them.

import { type Caller, defer, defineServer, System, stop, UnknownRequestError } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type TestClock, testClock } from "../../../lib/testing/kit/clock.js";
import { gate } from "../../support/gate.js";
import { puppet } from "../../support/puppet.js";
import { Stock } from "./stock.js";

let clock: TestClock;
let system: System;
beforeEach(() => {
  clock = testClock();
  system = new System({ name: "shop", environment: clock.environment, report: false });
});
afterEach(() => system.stop());

describe("a call", () => {
  it("resolves with the value that its handler returns, or that the handler's promise resolves to", async () => {
    const stock = await system.start(Stock, 10);
    expect(await stock.call.take(3)).toBe(7);
    expect(await stock.call.slowly(Promise.resolve(), "a")).toEqual(["a begins", "a ends"]);
  });

  it("that is refused rejects with exactly the handler's error, and the server goes on [B4]", async () => {
    const stock = await system.start(Stock, 2);
    await expect(stock.call.take(3)).rejects.toEqual(new RangeError("only 2 left"));
    expect(await stock.call.take(2)).toBe(0);
  });

  it("may be answered later, while the server serves others", async () => {
    const stock = await system.start(Stock, 1);
    const deliveries = Promise.all([stock.call.nextDelivery(), stock.call.nextDelivery()]);
    expect(await stock.call.left()).toBe(1);
    stock.cast.restock(5);
    expect(await deliveries).toEqual([5, 5]);
  });

  it("may be refused later", async () => {
    const stock = await system.start(Stock, 1);
    const delivery = stock.call.nextDelivery();
    stock.cast.cancelDeliveries();
    await expect(delivery).rejects.toThrow("no delivery");
  });

  it("that has ended meanwhile shows its end to the code that would answer it, and the answer is dropped", async () => {
    const callers: Caller<string>[] = [];
    const Later = defineServer({
      init: () => ({}),
      calls: { ask: () => defer<string>((caller) => callers.push(caller)) },
    });
    const later = await system.start(Later);
    const outcome = later
      .with({ timeoutMs: 50 })
      .call.ask()
      .catch((e) => e.code);
    await system.idle();
    expect(callers[0]?.open).toBe(true);
    await clock.advance(50);
    expect(await outcome).toBe("ERR_CALL_TIMEOUT");
    expect(callers[0]?.open).toBe(false);
    callers[0]?.reply("late");
    callers[0]?.refuse(new Error("late"));
    expect(system.deadLetters).toBe(0);
  });

  it("may be answered with a reply and an end of the server", async () => {
    const stock = await system.start(Stock, 4);
    const end = system.exited(stock.pid);
    expect(await stock.call.close()).toBe(4);
    expect(await end).toEqual({ type: "normal" });
  });

  it("whose handler stops the server ends with the reason of the stop", async () => {
    const stock = await system.start(Stock, 4);
    await expect(stock.call.burn()).rejects.toMatchObject({
      code: "ERR_CALLEE_EXITED",
      reason: { type: "custom", value: "fire" },
    });
  });

  it("waits 5 seconds by default", async () => {
    const stock = await system.start(Stock, 0);
    const outcomes: string[] = [];
    const note = (name: string) => (error: { code: string }) => outcomes.push(`${name} ${error.code}`);
    void stock.call.nextDelivery().catch(note("default"));
    void stock.with({ timeoutMs: 100 }).call.nextDelivery().catch(note("short"));
    void stock.with({ timeoutMs: Number.POSITIVE_INFINITY }).call.nextDelivery().catch(note("endless"));
    await clock.advance(100);
    expect(outcomes).toEqual(["short ERR_CALL_TIMEOUT"]);
    await clock.advance(4_899);
    expect(outcomes).toHaveLength(1);
    await clock.advance(1);
    expect(outcomes).toEqual(["short ERR_CALL_TIMEOUT", "default ERR_CALL_TIMEOUT"]);
    await clock.advance(1e9);
    expect(outcomes).toHaveLength(2);
  });

  it("ends early by an AbortSignal, with its reason", async () => {
    const stock = await system.start(Stock, 0);
    const abort = new AbortController();
    const delivery = stock.with({ signal: abort.signal }).call.nextDelivery();
    const reason = new Error("changed my mind");
    abort.abort(reason);
    await expect(delivery).rejects.toBe(reason);
  });

  it("that timed out before the server handled it is not executed [B5]", async () => {
    const stock = await system.start(Stock, 10);
    const door = gate();
    stock.cast.note(door.promise, "busy");
    const outcome = stock
      .with({ timeoutMs: 100 })
      .call.take(3)
      .catch((e) => e.code);
    await clock.advance(100);
    expect(await outcome).toBe("ERR_CALL_TIMEOUT");
    door.open();
    expect(await stock.call.left()).toBe(10);
  });

  it("to a server that has ended, or to a name without a holder, ends at once", async () => {
    const stock = await system.start(Stock, 0);
    system.exit(stock.pid, "kill");
    await expect(stock.call.left()).rejects.toMatchObject({
      code: "ERR_CALLEE_EXITED",
      reason: { type: "noproc" },
    });
    const nobody = Stock.at(system, "stock");
    await expect(nobody.call.left()).rejects.toMatchObject({ reason: { type: "noproc" } });
  });

  it("may have any name, the names of a handle's own members included", async () => {
    const Odd = defineServer({
      init: () => ({}),
      calls: {
        to: () => "to",
        options: () => "options",
        kernel: () => "kernel",
        constructor: () => "constructor",
      },
      casts: { to: () => stop("shutdown") },
    });
    const odd = await system.start(Odd);
    const names = await Promise.all([
      odd.call.to(),
      odd.call.options(),
      odd.call.kernel(),
      odd.call.constructor(),
    ]);
    expect(names).toEqual(["to", "options", "kernel", "constructor"]);
    const end = system.exited(odd.pid);
    odd.cast.to();
    expect(await end).toEqual({ type: "shutdown" });
  });

  it.each(["left", "toString"])(
    "that the server does not have (%s) is refused: the handle is for another server",
    async (name) => {
      const Other = defineServer({ init: () => ({}), calls: { something: () => 1 } });
      await system.startWith({ name: "other" }, Other);
      const Asking = defineServer({ init: () => ({}), calls: { [name]: () => 1 } });
      const error = await Asking.at(system, "other")
        .call[name]?.()
        .catch((e: unknown) => e);
      expect(error).toBeInstanceOf(UnknownRequestError);
      expect((error as Error).message).toBe(`this server has no call "${name}"; it has something`);
    },
  );
});

describe("a call made by a process", () => {
  it("to itself is an error, not a deadlock", async () => {
    const Selfish = defineServer({
      init: (ctx) => ({ ctx }),
      calls: {
        ask: (state): Promise<unknown> =>
          Selfish.at(system, state.ctx.self)
            .with({ from: state.ctx })
            .call.ask()
            .catch((e) => e.code),
      },
    });
    expect(await (await system.start(Selfish)).call.ask()).toBe("ERR_CALL_SELF");
  });

  it("ends with that process, and counts as withdrawn for the server", async () => {
    const stock = await system.start(Stock, 10);
    const caller = puppet(system);
    const outcome = caller.do((ctx) => ({
      call: stock
        .with({ from: ctx })
        .call.nextDelivery()
        .catch((e) => e.code),
    }));
    const { call } = await outcome;
    system.exit(caller.pid, "kill");
    expect(await call).toBe("ERR_PROCESS_EXITED");
  });

  it("that has ended is refused, and so are casts of a process that has ended", async () => {
    const stock = await system.start(Stock, 10);
    const caller = puppet(system);
    const ctx = await caller.do((ctx) => ({ ctx })).then(({ ctx }) => ctx);
    const asked = stock.with({ from: ctx });
    asked.cast.restock(1);
    system.exit(caller.pid, "kill");
    await expect(asked.call.take(3)).rejects.toMatchObject({ code: "ERR_PROCESS_EXITED" });
    expect(() => asked.cast.restock(1)).toThrow(expect.objectContaining({ code: "ERR_PROCESS_EXITED" }));
    expect(await stock.call.left()).toBe(11);
  });
});
