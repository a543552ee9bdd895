// Calls: a message with a reply to it, that ends exactly once, by whatever comes first.

import { type BodyContext, custom, type ExitReason, type Pid, type ReplyTo, System, stop } from "signalbox";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { ask, busy, doubler, outcome, type Question, silent } from "../support/callees.js";
import { gate } from "../support/gate.js";
import { puppet } from "../support/puppet.js";

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

const broken = custom("broken");

describe("a call", () => {
  it("resolves with the reply", async () => {
    expect(await system.call(doubler(system), (to: ReplyTo<number>) => ({ n: 21, to }))).toBe(42);
  });

  it("can be made by a process too, by pid or name", async () => {
    const pid = doubler(system);
    system.register("doubler", pid);
    const answers: number[] = [];
    system.spawn(async (ctx) => {
      answers.push(await ctx.call(pid, (to: ReplyTo<number>) => ({ n: 1, to })));
      answers.push(await ctx.call("doubler", (to: ReplyTo<number>) => ({ n: 2, to })));
    });
    await system.idle();
    expect(answers).toEqual([2, 4]);
  });

  it("keeps its place among the messages of one sender [S2]", async () => {
    const log: unknown[] = [];
    const pid = system.spawn<unknown>({ handle: (_ctx, message) => void log.push(message) });
    system.send(pid, "before");
    void system.call(pid, () => "call").catch(outcome);
    system.send(pid, "after");
    await system.idle();
    expect(log).toEqual(["before", "call", "after"]);
  });

  it("may be answered later, and by a process other than the callee", async () => {
    const front = silent(system);
    const back = puppet(system);
    const call = ask(system, front.pid, 1);
    await system.idle();
    const question = front.asked[0] as Question;
    await back.do((ctx) => ctx.reply(question.to, 7));
    expect(await call).toBe(7);
  });

  it("that the callee refuses rejects with exactly the given error, and the callee lives on", async () => {
    const error = new RangeError("not in stock");
    const pid = system.spawn<Question>({ handle: (ctx, { to }) => ctx.refuse(to, error) });
    expect(await ask(system, pid, 1)).toBe(error);
    expect(system.isAlive(pid)).toBe(true);
  });

  it("is answered once: later replies are dropped", async () => {
    const pid = system.spawn<Question>({
      handle: (ctx, { to }) => {
        ctx.reply(to, 1);
        expect(to.open).toBe(false);
        ctx.reply(to, 2);
        ctx.refuse(to, new Error("three"));
      },
    });
    expect(await ask(system, pid, 1)).toBe(1);
    expect(system.isAlive(pid)).toBe(true);
  });

  it("leaves no timer, no entry and no listener behind", async () => {
    const pid = doubler(system);
    const controller = new AbortController();
    const { signal } = controller;
    const added = vi.spyOn(signal, "addEventListener");
    const removed = vi.spyOn(signal, "removeEventListener");
    await ask(system, pid, 1, { signal, timeoutMs: 100 });
    await system.idle();
    expect(added).toHaveBeenCalledOnce();
    expect(removed).toHaveBeenCalledWith(...(added.mock.calls[0] as unknown[]).slice(0, 2));
    expect(system.kernel.pendingTimers).toBe(0);
    expect(system.info(pid)?.mailboxDepth).toBe(0);
    expect(pid.process?.requests).toBe(undefined);
  });
});

interface Callee {
  readonly pid: Pid<Question>;
  readonly asked: readonly Question[];
  /** Answers the first question. */
  answer(): void;
}

describe("a call's timeout", () => {
  it("ends the call when the timeout has passed without a reply, not before [C3]", async () => {
    const callee = silent(system);
    let ended: unknown;
    void ask(system, callee.pid, 1, { timeoutMs: 100 }).then((value) => {
      ended = value;
    });
    await clock.advance(99);
    expect(ended).toBe(undefined);
    await clock.advance(1);
    expect(ended).toBe("ERR_CALL_TIMEOUT");
  });

  it("is 5 seconds by default", async () => {
    const callee = silent(system);
    const call = ask(system, callee.pid, 1);
    await clock.advance(4_999);
    expect(callee.asked[0]?.to.open).toBe(true);
    await clock.advance(1);
    expect(await call).toBe("ERR_CALL_TIMEOUT");
  });

  it("withdraws the waiting request: the callee never sees it [C2]", async () => {
    const callee = busy(system);
    await system.idle();
    const call = ask(system, callee.pid, 1, { timeoutMs: 10 });
    await clock.advance(10);
    expect(await call).toBe("ERR_CALL_TIMEOUT");
    const second = ask(system, callee.pid, 2);
    callee.free();
    await system.idle();
    expect(callee.asked).toEqual([2]);
    system.exit(callee.pid, "kill");
    await second;
  });

  it.each<[state: string, prepare: (ctx: BodyContext<Question>, door: Promise<void>) => Promise<unknown>]>([
    ["has not looked at it", (_ctx, door) => door],
    ["has left it in its mailbox", (ctx) => ctx.receive(({ n }) => n === 3)],
  ])("withdraws the request from a body that %s: the body never sees it [C2]", async (_state, prepare) => {
    const door = gate();
    const asked: number[] = [];
    const pid = system.spawn<Question>(async (ctx) => {
      await prepare(ctx, door.promise);
      for (;;) asked.push((await ctx.receive()).n);
    });
    const late = ask(system, pid, 1, { timeoutMs: 10 });
    const call = ask(system, pid, 2);
    await clock.advance(10);
    expect(await late).toBe("ERR_CALL_TIMEOUT");
    door.open();
    system.send(pid, { n: 3 } as Question);
    await system.idle();
    expect(asked.filter((n) => n !== 3)).toEqual([2]);
    system.exit(pid, "kill");
    await call;
  });

  it.each<[kind: string, callee: () => Callee]>([
    [
      "callbacks",
      () => {
        const callee = silent(system);
        const { pid, asked } = callee;
        return { pid, asked, answer: () => callee.ctx?.reply((asked[0] as Question).to, 7) };
      },
    ],
    [
      "a body",
      () => {
        const door = gate();
        const asked: Question[] = [];
        const pid = system.spawn<Question>(async (ctx) => {
          asked.push(await ctx.receive());
          await door.promise;
          ctx.reply((asked[0] as Question).to, 7);
          await ctx.receive();
        });
        return { pid, asked, answer: () => door.open() };
      },
    ],
  ])("drops a reply of %s that comes too late [C2]", async (_kind, made) => {
    const { pid, asked, answer } = made();
    const call = ask(system, pid, 1, { timeoutMs: 10 });
    await clock.advance(10);
    expect(asked[0]?.to.open).toBe(false);
    answer();
    await system.idle();
    expect(await call).toBe("ERR_CALL_TIMEOUT");
    expect(system.isAlive(pid)).toBe(true);
    expect(system.deadLetters).toBe(0);
  });

  it("names the callee and the time that the call waited", async () => {
    const callee = silent(system);
    const call = system.call(callee.pid, (to: ReplyTo<number>) => ({ n: 1, to }), { timeoutMs: 10 });
    const caught = call.catch((error) => error);
    await clock.advance(10);
    expect(await caught).toMatchObject({
      timeoutMs: 10,
      message: expect.stringContaining(String(callee.pid)),
    });
  });

  it("of Infinity waits until the callee ends", async () => {
    const callee = silent(system);
    const call = ask(system, callee.pid, 1, { timeoutMs: Number.POSITIVE_INFINITY });
    await clock.advance(1e12);
    expect(callee.asked[0]?.to.open).toBe(true);
    system.exit(callee.pid, "kill");
    expect(await call).toBe("ERR_CALLEE_EXITED");
  });

  it.each([-1, Number.NaN, "10"])("of %s is refused, and nothing is sent", async (timeout) => {
    const callee = silent(system);
    expect(await ask(system, callee.pid, 1, { timeoutMs: timeout as number })).toBe("ERR_OPTION");
    await system.idle();
    expect(callee.asked).toEqual([]);
  });
});

describe("a call's AbortSignal", () => {
  it("ends the call with the signal's reason, and withdraws the request", async () => {
    const callee = busy(system);
    await system.idle();
    const controller = new AbortController();
    const call = ask(system, callee.pid, 1, { signal: controller.signal });
    controller.abort("enough");
    expect(await call).toBe("enough");
    callee.free();
    await system.idle();
    expect(callee.asked).toEqual([]);
  });

  it("that is already aborted sends nothing", async () => {
    const callee = silent(system);
    expect(await ask(system, callee.pid, 1, { signal: AbortSignal.abort("before") })).toBe("before");
    await system.idle();
    expect(callee.asked).toEqual([]);
  });
});

describe("a callee's end", () => {
  it.each<[string, (callee: Pid<Question>) => void]>([
    ["before it took the request", (pid) => system.exit(pid, broken)],
    ["by the request", () => undefined],
  ])("%s ends the call with the reason", async (_when, end) => {
    const pid = system.spawn<Question>({ handle: () => stop(broken) });
    const call = system.call(pid, (to: ReplyTo<number>) => ({ n: 1, to })).catch((error) => error);
    end(pid);
    expect(await call).toMatchObject({ code: "ERR_CALLEE_EXITED", reason: broken });
  });

  it("after the callee took the request ends the call, also when the exit was normal", async () => {
    const callee = silent(system);
    const call = system.call(callee.pid, (to: ReplyTo<number>) => ({ n: 1, to })).catch((error) => error);
    await system.idle();
    expect(callee.asked).toHaveLength(1);
    callee.ctx?.runAfter(0, () => stop());
    await clock.advance(0);
    expect(await call).toMatchObject({ code: "ERR_CALLEE_EXITED", reason: { type: "normal" } });
  });

  it("gives the Error that crashed the callee as the cause", async () => {
    const cause = new Error("boom");
    const pid = system.spawn<Question>({
      handle: () => {
        throw cause;
      },
    });
    const error = await system.call(pid, (to: ReplyTo<number>) => ({ n: 1, to })).catch((e) => e);
    expect(error.cause).toBe(cause);
  });

  it("makes a dead letter of a request that the callee had not taken, with the message inside", async () => {
    const letters: unknown[] = [];
    system.events.on("deadLetter", (letter) => letters.push(letter));
    const pid = system.spawn<string>({ handle: () => undefined });
    const call = system.call(pid, () => "question").catch(outcome);
    system.exit(pid, "kill");
    expect(await call).toBe("ERR_CALLEE_EXITED");
    expect(letters).toEqual([{ to: pid, message: "question", reason: "exited" }]);
  });

  it("long before the call is noproc, and so is a name without a holder", async () => {
    const pid = doubler(system);
    system.exit(pid, "kill");
    for (const call of [
      system.call(pid, (to: ReplyTo<number>) => ({ n: 1, to })),
      system.call("nobody", () => 1),
    ]) {
      await expect(call).rejects.toMatchObject({ code: "ERR_CALLEE_EXITED", reason: { type: "noproc" } });
    }
  });
});

describe("a call that cannot be made", () => {
  it("because the caller is the callee rejects, by pid and by name", async () => {
    const outcomes: unknown[] = [];
    system.spawn<number>(
      async (ctx) => {
        outcomes.push(
          await ctx.call(ctx.self, () => 1).catch(outcome),
          await ctx.call("me", () => 1).catch(outcome),
        );
      },
      { name: "me" },
    );
    await system.idle();
    expect(outcomes).toEqual(["ERR_CALL_SELF", "ERR_CALL_SELF"]);
  });

  it("because building its message throws rejects with the thrown error, and nothing is sent", async () => {
    const callee = silent(system);
    const error = new Error("no such order");
    const call = system.call(callee.pid, (): Question => {
      throw error;
    });
    await expect(call).rejects.toBe(error);
    await system.idle();
    expect(callee.asked).toEqual([]);
  });

  it("because the mailbox is full rejects, and leaves nothing behind", async () => {
    const pid = system.spawn<unknown>((ctx) => ctx.receive(() => false), {
      mailbox: { capacity: 1, overflow: "reject" },
    });
    system.send(pid, "fills it");
    expect(await system.call(pid, () => 1).catch(outcome)).toBe("ERR_MAILBOX_FULL");
    await system.idle();
    expect(pid.process?.requests).toBe(undefined);
    expect(system.kernel.pendingTimers).toBe(0);
  });
});

describe("a caller's end", () => {
  it("a call whose caller ended is withdrawn from a callee that lives", async () => {
    const callee = silent(system);
    const caller = puppet(system);
    const reasons: ExitReason[] = [];
    await caller.do((ctx) => {
      void ctx
        .call(callee.pid, (to: ReplyTo<number>) => ({ n: 1, to }))
        .catch((error) => reasons.push(error.reason));
    });
    system.exit(caller.pid, broken);
    await system.idle();
    expect(reasons).toEqual([broken]);
    expect(callee.pid.process?.requests).toBe(undefined);
    expect(system.isAlive(callee.pid)).toBe(true);
  });
});
