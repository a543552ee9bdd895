// A reply to a call that has ended reaches nobody; it is counted, and an event says whose it was and why.

import {
  CallTimeoutError,
  type DiscardedReply,
  DoubleReplyError,
  LateReplyError,
  type Pid,
  ProcessExitedError,
  type ReplyTo,
  System,
} from "signalbox";
import { testClock } from "signalbox/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

interface Question {
  readonly replyTo: ReplyTo<string>;
}

const clock = testClock();
let system: System;
let discarded: DiscardedReply[];
let open: ReplyTo<string>[];
/** Replies only when it is told to. */
let callee: Pid<Question | (() => void)>;
let answer: (value: string) => Promise<void>;
let refuse: (error: Error) => Promise<void>;

beforeEach(() => {
  system = new System({ environment: clock.environment, report: false });
  discarded = [];
  open = [];
  system.events.on("discardedReply", (event) => discarded.push(event));
  callee = system.spawn<Question | (() => void)>({
    init: (ctx) => {
      answer = async (value) => {
        system.send(callee, () => ctx.reply(open[0] as ReplyTo<string>, value));
        await clock.settle();
      };
      refuse = async (error) => {
        system.send(callee, () => ctx.refuse(open[0] as ReplyTo<never>, error));
        await clock.settle();
      };
    },
    handle: (_ctx, message) => (typeof message === "function" ? message() : void open.push(message.replyTo)),
  });
});

afterEach(() => clock.until(system.stop()));

const ask = (replyTo: ReplyTo<string>): Question => ({ replyTo });

describe("a reply without a receiver", () => {
  it("is a second one: the first counts, and the event has a DoubleReplyError [B8]", async () => {
    const reply = system.call(callee, ask);
    await clock.settle();
    await answer("one");
    await answer("two");
    await refuse(new RangeError("three"));
    expect(await reply).toBe("one");
    expect(discarded).toEqual([
      { callee, caller: undefined, reply: { ok: true, value: "two" }, error: expect.any(DoubleReplyError) },
      {
        callee,
        caller: undefined,
        reply: { ok: false, error: new RangeError("three") },
        error: expect.any(DoubleReplyError),
      },
    ]);
    expect(discarded[0]?.error).toMatchObject({ code: "ERR_DOUBLE_REPLY", callee: String(callee) });
    expect(system.events.discardedReplies).toBe(2);
  });

  it("is a second one after a refusal, too [B8]", async () => {
    const reply = system.call(callee, ask);
    const rejected = expect(reply).rejects.toThrow("no");
    await clock.settle();
    await refuse(new Error("no"));
    await answer("yes");
    await rejected;
    expect(discarded.map(({ error }) => error.code)).toEqual(["ERR_DOUBLE_REPLY"]);
  });

  it("comes after the timeout: the event has a LateReplyError whose cause says so [B8]", async () => {
    const reply = system.call(callee, ask, { timeoutMs: 10 });
    const rejected = expect(reply).rejects.toBeInstanceOf(CallTimeoutError);
    await clock.advance(10);
    await rejected;
    await answer("late");
    expect(discarded).toMatchObject([{ callee, reply: { ok: true, value: "late" } }]);
    const [{ error }] = discarded as [DiscardedReply];
    expect(error).toBeInstanceOf(LateReplyError);
    expect(error).toMatchObject({ code: "ERR_LATE_REPLY", callee: String(callee) });
    expect(error.cause).toBeInstanceOf(CallTimeoutError);
    expect(system.events.discardedReplies).toBe(1);
  });

  it("comes after the caller has died, which the event names [B8]", async () => {
    const caller = system.spawn<never>(async (ctx) => void (await ctx.call(callee, ask)));
    await clock.settle();
    system.exit(caller, "kill");
    await answer("late");
    expect(discarded).toMatchObject([{ caller, error: { code: "ERR_LATE_REPLY" } }]);
    expect(discarded[0]?.error.cause).toBeInstanceOf(ProcessExitedError);
  });

  it("comes after the caller has withdrawn, with the abort as cause [B8]", async () => {
    const controller = new AbortController();
    const reply = system.call(callee, ask, { signal: controller.signal });
    const rejected = expect(reply).rejects.toThrow("enough");
    await clock.settle();
    controller.abort(new Error("enough"));
    await rejected;
    await refuse(new Error("late"));
    expect(discarded).toMatchObject([{ error: { code: "ERR_LATE_REPLY", cause: new Error("enough") } }]);
  });

  it("is counted without a listener, and does its callee no harm [B8]", async () => {
    system.events.removeAllListeners();
    const reply = system.call(callee, ask);
    await clock.settle();
    await answer("one");
    await answer("two");
    expect(await reply).toBe("one");
    expect(system.events.discardedReplies).toBe(1);
    expect(discarded).toEqual([]);
    expect(system.isAlive(callee)).toBe(true);
  });
});

describe("withdraw: false", () => {
  it("leaves a request in the mailbox when the wait ends; by default it is withdrawn [B9]", async () => {
    for (const [withdraw, taken] of [
      [true, 0],
      [undefined, 0],
      [false, 1],
    ] as const) {
      open = [];
      let finish = (): void => undefined;
      const busy = new Promise<void>((resolve) => {
        finish = resolve;
      });
      system.send(callee, () => busy as never);
      await clock.settle();
      const reply = system.call(callee, ask, {
        timeoutMs: 10,
        ...(withdraw === undefined ? {} : { withdraw }),
      });
      const rejected = expect(reply).rejects.toBeInstanceOf(CallTimeoutError);
      await clock.advance(10);
      await rejected;
      finish();
      await clock.settle();
      expect(open.map((one) => one.open)).toEqual(new Array(taken).fill(false));
    }
  });
});
