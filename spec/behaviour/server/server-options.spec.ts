// Calls with options, and calls whose reply goes to a callback.

import {
  type Context,
  defineServer,
  NotCallbacksError,
  OptionError,
  ProcessExitedError,
  type Reply,
  refuse,
  System,
} from "signalbox";
import { testClock } from "signalbox/testing";
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from "vitest";

const clock = testClock();
let system: System;

beforeEach(() => {
  system = new System({ environment: clock.environment, report: false });
});

afterEach(() => clock.until(system.stop()));

const Till = defineServer({
  init: () => ({ sum: 0 }),
  calls: {
    add: (state, n: number, note?: string) => {
      state.sum += n;
      return note === undefined ? `${state.sum}` : `${note} ${state.sum}`;
    },
    never: () => refuse(new RangeError("no")),
    hang: () => new Promise<number>(() => undefined),
  },
  casts: {
    clear: (state) => {
      state.sum = 0;
    },
  },
});

describe("with", () => {
  it("takes known options only, each with a value that it can have", async () => {
    const till = await clock.until(system.start(Till));
    const wrong = [
      { timeoutMs: -1 },
      { timeoutMs: "5" },
      { signal: new AbortController() },
      { withdraw: 1 },
      { from: till.pid },
      { timeout: 5 },
      null,
      5,
    ];
    for (const options of wrong) expect(() => till.with(options as never)).toThrow(OptionError);
    expect(() => till.with({ timeoutMS: 5 } as never)).toThrow(/did you mean timeoutMs/);
  });

  it("makes something that can be kept, for many calls and casts", async () => {
    const till = await clock.until(system.start(Till));
    const quick = till.with({ timeoutMs: 50 });
    expect(quick.call).toBe(quick.call);
    expect(await clock.until(quick.call.add(1))).toBe("1");
    quick.cast.clear();
    expect(await clock.until(quick.call.add(2))).toBe("2");
    const hung = expect(quick.call.hang()).rejects.toMatchObject({ code: "ERR_CALL_TIMEOUT", timeoutMs: 50 });
    await clock.advance(50);
    await hung;
  });
});

describe("ask", () => {
  /** Runs `work` in a process made from callbacks. */
  async function inProcess(work: (ctx: Context<never>) => void): Promise<unknown> {
    let thrown: unknown;
    system.spawn<never>({
      init: (ctx) => {
        try {
          work(ctx);
        } catch (error) {
          thrown = error;
        }
      },
      handle: () => undefined,
    });
    await clock.settle();
    return thrown;
  }

  it("gives the reply to the callback, with the types of the call", async () => {
    const till = await clock.until(system.start(Till));
    const replies: unknown[] = [];
    await inProcess((ctx) => {
      const { ask } = till.with({ from: ctx, timeoutMs: 50 });
      expectTypeOf(ask.add).parameters.toEqualTypeOf<
        [n: number, note: string | undefined, onReply: (reply: Reply<string>) => unknown]
      >();
      ask.add(1, undefined, (reply) => replies.push(reply));
      ask.add(2, "now", (reply) => replies.push(reply));
      ask.never((reply) => replies.push(reply));
      ask.hang((reply) => replies.push(reply));
    });
    expect(replies).toEqual([
      { ok: true, value: "1" },
      { ok: true, value: "now 3" },
      { ok: false, error: new RangeError("no") },
    ]);
    await clock.advance(50);
    expect(replies[3]).toMatchObject({ ok: false, error: { code: "ERR_CALL_TIMEOUT" } });
  });

  it("is for processes made from callbacks that are alive, and takes a function", async () => {
    const till = await clock.until(system.start(Till));
    const errors: unknown[] = [];
    let dead: Context<never> | undefined;
    system.spawn<never>((ctx) => {
      dead = ctx;
      try {
        till.with({ from: ctx }).ask.add(1, "x", () => undefined);
      } catch (error) {
        errors.push(error);
      }
    });
    await clock.settle();
    expect(errors).toEqual([expect.any(NotCallbacksError)]);
    const late = till.with({ from: dead as Context<never> });
    expect(() => late.ask.add(1, "x", () => undefined)).toThrow(ProcessExitedError);
    const thrown = await inProcess((ctx) => till.with({ from: ctx }).ask.add(1, "x", "no function" as never));
    expect(thrown).toBeInstanceOf(OptionError);
    expect((await clock.until(till.call.add(0))) as string).toBe("0");
  });
});
