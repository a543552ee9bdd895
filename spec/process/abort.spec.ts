// AbortSignals that end many waits: one listener on each, and none after the last.

import { getEventListeners } from "node:events";
import { ConsumerGroup, type ReplyTo, System } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { ask, busy, doubler, outcome } from "../support/callees.js";

let clock: TestClock;
let system: System;
beforeEach(() => {
  clock = testClock();
  system = new System({ environment: clock.environment, report: false });
});
afterEach(async () => {
  for (const pid of system.processes()) system.exit(pid, "kill");
  await system.stop();
});

const listeners = (signal: AbortSignal): number => getEventListeners(signal, "abort").length;

describe("an AbortSignal that many wait on", () => {
  it("has one listener for all calls, receives, dispatches and waits for ends, and aborts all of them [F2]", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const { pid } = busy(system);
    const calls = Array.from({ length: 100 }, (_, n) => ask(system, pid, n, { signal }));
    const received: unknown[] = [];
    for (let n = 0; n < 100; n++) {
      system.spawn(async (ctx) => {
        received.push(await ctx.receive({ signal }).catch(outcome));
      });
    }
    const exits = Array.from({ length: 100 }, () => system.exited(pid, { signal }).catch(outcome));
    const group = new ConsumerGroup<number>();
    const dispatches = Array.from({ length: 100 }, (_, n) =>
      system.dispatch(group, n, { signal, patienceMs: 60_000 }).catch(outcome),
    );
    await system.idle();
    expect(listeners(signal)).toBe(1);
    controller.abort("enough");
    await system.idle();
    expect(await Promise.all([...calls, ...exits, ...dispatches])).toEqual(new Array(300).fill("enough"));
    expect(received).toEqual(new Array(100).fill("enough"));
    expect(listeners(signal)).toBe(0);
  });

  it("loses its listener when the last wait ends for another reason [F2]", async () => {
    const { signal } = new AbortController();
    const pid = doubler(system);
    const late = busy(system);
    const slow = ask(system, late.pid, 0, { signal, timeoutMs: 50 });
    const calls = Array.from({ length: 100 }, (_, n) => ask(system, pid, n, { signal }));
    expect(listeners(signal)).toBe(1);
    await Promise.all(calls);
    expect(listeners(signal)).toBe(1);
    await clock.advance(50);
    expect(await slow).toBe("ERR_CALL_TIMEOUT");
    expect(listeners(signal)).toBe(0);
    expect(await ask(system, pid, 4, { signal })).toBe(8);
    expect(listeners(signal)).toBe(0);
  });

  it("ends the waits in the order in which they began, each once, also a wait that another of the waits ends", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const { pid } = busy(system);
    const order: number[] = [];
    const caller = system.spawn(async (ctx) => {
      await ctx.call(pid, (to: ReplyTo<number>) => ({ n: 1, to }), { signal }).catch(() => order.push(1));
    });
    await system.idle();
    const calls = [2, 3].map((n) => ask(system, pid, n, { signal }).then(() => order.push(n)));
    system.events.on("exit", (exit) => {
      if (exit.pid === caller) controller.abort("again");
    });
    controller.abort("enough");
    await Promise.all(calls);
    await system.idle();
    expect(order).toEqual([1, 2, 3]);
  });
});
