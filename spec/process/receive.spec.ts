// Selective receive: the oldest entry that fits, the others stay in order; a wait ends by a timeout or an AbortSignal.

import fc from "fast-check";
import { type BodyContext, custom, type Pid, type ReplyTo, type Signal, System, stop } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { puppet, sleep } from "../support/puppet.js";

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

/** Runs a body to where it waits or ends, and shows what it noted. */
function run<M>(
  body: (ctx: BodyContext<M>, note: (entry: unknown) => void) => unknown,
  trapExit = false,
): { pid: Pid<M>; log: unknown[] } {
  const log: unknown[] = [];
  const pid = system.spawn<M>((ctx) => body(ctx, (entry) => void log.push(entry)), { trapExit });
  return { pid, log };
}

const code = (error: unknown): unknown => (error as { code?: unknown }).code ?? error;

describe("receive", () => {
  it("returns messages in the order of arrival", async () => {
    const { pid, log } = run<number>(async (ctx, note) => {
      for (;;) note(await ctx.receive());
    });
    for (const n of [1, 2, 3]) system.send(pid, n);
    await system.idle();
    expect(log).toEqual([1, 2, 3]);
  });

  it("waits for a message that has not arrived yet", async () => {
    const { pid, log } = run<string>(async (ctx, note) => note(await ctx.receive()));
    await system.idle();
    expect(system.info(pid)?.status).toBe("waiting");
    system.send(pid, "at last");
    await system.idle();
    expect(log).toEqual(["at last"]);
  });

  it("accepts any value as a message, also undefined", async () => {
    const { pid, log } = run<unknown>(async (ctx, note) => {
      for (let i = 0; i < 4; i++) note(await ctx.receive());
    });
    for (const value of [undefined, null, 0, Promise.resolve(7)]) system.send(pid, value);
    await system.idle();
    expect(log).toEqual([undefined, null, 0, 7]);
  });

  it("with a filter finds any value, also NaN, at any place in the queue", async () => {
    const values = [Number.NaN, undefined, null, 0, ""];
    const { pid, log } = run<unknown>(async (ctx, note) => {
      for (const value of [...values, ...values])
        note(await ctx.receive((message) => Object.is(message, value)));
    });
    for (const value of [...values, ...values].reverse()) system.send(pid, value);
    await system.idle();
    expect(log).toEqual([...values, ...values]);
  });

  it("behind many messages checks each message once, and leaves the messages in their places [F7]", async () => {
    const many = 10_000;
    let looks = 0;
    const { pid, log } = run<number>(async (ctx, note) => {
      for (let n = 0; n < many; n++) ctx.send(ctx.self, n);
      for (let n = 1; n <= 20; n++) {
        ctx.send(ctx.self, -n);
        note(
          await ctx.receive((message) => {
            looks++;
            return message < 0;
          }),
        );
      }
      await sleep({ receive: () => ctx.receive(() => false) });
    });
    await system.idle();
    expect(log).toEqual(Array.from({ length: 20 }, (_, n) => -1 - n));
    expect(looks).toBe(20 * (many + 1));
    expect(system.info(pid)?.mailboxDepth).toBe(many);
  });

  it("with a filter takes the oldest fitting message and leaves the others in order", async () => {
    const { pid, log } = run<number>(async (ctx, note) => {
      note(await ctx.receive((n) => n % 2 === 0));
      note(await ctx.receive((n) => n > 3));
      for (;;) note(await ctx.receive());
    });
    for (const n of [1, 3, 2, 4, 5]) system.send(pid, n);
    await system.idle();
    expect(log).toEqual([2, 4, 1, 3, 5]);
  });

  it("with a filter waits on while no fitting message arrives, and checks each message once", async () => {
    const looked: number[] = [];
    const { pid, log } = run<number>(async (ctx, note) => {
      note(
        await ctx.receive((n) => {
          looked.push(n);
          return n === 3;
        }),
      );
    });
    for (const n of [1, 2, 3]) {
      system.send(pid, n);
      await system.idle();
    }
    expect(looked).toEqual([1, 2, 3]);
    expect(log).toEqual([3]);
  });

  it("narrows the message by a type guard", async () => {
    type Fruit = { type: "apple"; weight: number } | { type: "pear" };
    const { pid, log } = run<Fruit>(async (ctx, note) => {
      const apple = await ctx.receive((fruit): fruit is Fruit & { type: "apple" } => fruit.type === "apple");
      note(apple.weight);
    });
    system.send(pid, { type: "pear" });
    system.send(pid, { type: "apple", weight: 90 });
    await system.idle();
    expect(log).toEqual([90]);
  });

  it("rejects with the error that its filter throws, leaves the message, and can be called again", async () => {
    const { pid, log } = run<string>(async (ctx, note) => {
      const bad = (): boolean => {
        throw new Error("bad filter");
      };
      note(await ctx.receive(bad).catch((error) => error.message));
      note(await ctx.receive());
    });
    system.send(pid, "still here");
    await system.idle();
    expect(log).toEqual(["bad filter", "still here"]);
  });

  it("while another receive waits rejects, and the first goes on waiting", async () => {
    const { pid, log } = run<string>(async (ctx, note) => {
      const first = ctx.receive();
      const others = [ctx.receive(), ctx.receiveSignal(), ctx.receiveAny()].map((wait) => wait.catch(code));
      for (const other of others) note(await other);
      note(await first);
    });
    system.send(pid, "for the first");
    await system.idle();
    expect(log).toEqual([...Array(3).fill("ERR_RECEIVE_BUSY"), "for the first"]);
  });

  it("is not for processes made from callbacks", async () => {
    const outcomes: unknown[] = [];
    const pid = system.spawn<string>({
      handle: (ctx) => (ctx as BodyContext<string>).receive().catch((error) => outcomes.push(code(error))),
    });
    system.send(pid, "go");
    await system.idle();
    expect(outcomes).toEqual(["ERR_NOT_A_BODY"]);
  });
});

describe("a receive with a timeout", () => {
  it("rejects when the timeout has passed without a message, not before", async () => {
    const { log } = run(async (ctx, note) =>
      note(await ctx.receive({ timeoutMs: 100 }).catch((error) => error)),
    );
    await clock.advance(99);
    expect(log).toEqual([]);
    await clock.advance(1);
    expect(log).toMatchObject([{ code: "ERR_RECEIVE_TIMEOUT", timeoutMs: 100 }]);
  });

  it("rejects although other messages arrived, and these stay", async () => {
    const { pid, log } = run<string>(async (ctx, note) => {
      note(await ctx.receive((text) => text === "wanted", { timeoutMs: 100 }).catch(code));
      note(await ctx.receive({ timeoutMs: 0 }));
    });
    await clock.advance(50);
    system.send(pid, "other");
    await clock.advance(50);
    expect(log).toEqual(["ERR_RECEIVE_TIMEOUT", "other"]);
  });

  it("ends the process when no code catches the timeout error", async () => {
    const { pid } = run((ctx) => ctx.receive({ timeoutMs: 100 }));
    const exited = system.exited(pid);
    await clock.advance(100);
    expect(await exited).toMatchObject({ type: "crash", error: { code: "ERR_RECEIVE_TIMEOUT" } });
  });

  it("leaves no timer behind when a message arrives or the process ends", async () => {
    const { pid } = run<string>(async (ctx) => {
      await ctx.receive({ timeoutMs: 100 });
      await ctx.receive({ timeoutMs: 100 });
    });
    system.send(pid, "one");
    await system.idle();
    expect(system.kernel.pendingTimers).toBe(1);
    system.exit(pid, "kill");
    expect(system.kernel.pendingTimers).toBe(0);
  });

  it("of 0 takes a message that is there, and does not wait", async () => {
    const { pid, log } = run<string>(async (ctx, note) => {
      note(await ctx.receive({ timeoutMs: 0 }));
      note(await ctx.receive({ timeoutMs: 0 }).catch(code));
    });
    system.send(pid, "there");
    await clock.advance(0);
    expect(log).toEqual(["there", "ERR_RECEIVE_TIMEOUT"]);
  });

  it("takes a message that arrived together with the timeout", async () => {
    const { pid, log } = run<string>(async (ctx, note) =>
      note(await ctx.receive({ timeoutMs: 100 }).catch(code)),
    );
    system.sendAfter(pid, "just in time", 100);
    await clock.advance(100);
    expect(log).toEqual(["just in time"]);
  });

  it("of Infinity waits without limit", async () => {
    const { pid } = run((ctx) => ctx.receive({ timeoutMs: Number.POSITIVE_INFINITY }));
    await clock.advance(1e12);
    expect(system.isAlive(pid)).toBe(true);
    expect(system.kernel.pendingTimers).toBe(0);
  });

  it.each([-1, Number.NaN, "5"])("of %s is refused, and the process may receive again", async (timeout) => {
    const { pid, log } = run<string>(async (ctx, note) => {
      note(await ctx.receive({ timeoutMs: timeout as number }).catch(code));
      note(await ctx.receive());
    });
    system.send(pid, "next");
    await system.idle();
    expect(log).toEqual(["ERR_OPTION", "next"]);
  });
});

describe("a receive with an AbortSignal", () => {
  it("rejects with the signal's reason, and the next message is for the next receive", async () => {
    const controller = new AbortController();
    const { pid, log } = run<string>(async (ctx, note) => {
      note(await ctx.receive({ signal: controller.signal }).catch((reason) => reason));
      note(await ctx.receive());
    });
    await system.idle();
    controller.abort("enough");
    await system.idle();
    expect(log).toEqual(["enough"]);
    system.send(pid, "next");
    await system.idle();
    expect(log).toEqual(["enough", "next"]);
  });

  it("that is already aborted rejects at once, although a message waits", async () => {
    const { pid, log } = run<string>(async (ctx, note) => {
      note(await ctx.receive({ signal: AbortSignal.abort("before") }).catch((reason) => reason));
      note(await ctx.receive());
    });
    system.send(pid, "waiting");
    await system.idle();
    expect(log).toEqual(["before", "waiting"]);
  });

  it("that is aborted afterwards does not affect the next receive", async () => {
    const controller = new AbortController();
    const { pid, log } = run<string>(async (ctx, note) => {
      note(await ctx.receive({ signal: controller.signal }));
      note(await ctx.receive().catch(() => "aborted"));
    });
    system.send(pid, "one");
    await system.idle();
    controller.abort();
    system.send(pid, "two");
    await system.idle();
    expect(log).toEqual(["one", "two"]);
  });
});

describe("signals and messages", () => {
  const broken = custom("broken");

  it("are kept apart: receive takes messages only, receiveSignal signals only", async () => {
    const { pid, log } = run<string>(async (ctx, note) => {
      const { ref } = ctx.spawnMonitor(() => stop(broken));
      await ctx.receive((text) => text === "ready");
      note((await ctx.receiveSignal((signal) => signal.type === "down" && signal.ref === ref)).type);
      note(await ctx.receive());
    });
    await system.idle();
    system.send(pid, "ready");
    system.send(pid, "message");
    await system.idle();
    expect(log).toEqual(["down", "message"]);
  });

  it("come from receiveAny in the order of arrival", async () => {
    const other = puppet(system);
    const { pid, log } = run<string>(async (ctx, note) => {
      await ctx.receive((text) => text === "go");
      for (;;) {
        const entry: string | Signal = await ctx.receiveAny();
        note(typeof entry === "string" ? entry : entry.type);
      }
    }, true);
    system.send(pid, "one");
    await other.do((ctx) => ctx.exit(pid, broken));
    system.send(pid, "two");
    await other.do((ctx) => ctx.exit(pid, "normal"));
    system.send(pid, "go");
    await system.idle();
    expect(log).toEqual(["one", "exit", "two", "exit"]);
  });

  it("narrow by a type guard", async () => {
    const { log } = run(async (ctx, note) => {
      const child = ctx.spawnLink(() => stop(broken));
      const exit = await ctx.receiveSignal((signal) => signal.type === "exit");
      note([exit.from === child, exit.reason]);
    }, true);
    await system.idle();
    expect(log).toEqual([[true, broken]]);
  });

  it("receiveSignal has timeouts too", async () => {
    const { pid, log } = run<string>(async (ctx, note) =>
      note(await ctx.receiveSignal({ timeoutMs: 10 }).catch(code)),
    );
    system.send(pid, "no signal");
    await clock.advance(10);
    expect(log).toEqual(["ERR_RECEIVE_TIMEOUT"]);
  });
});

describe("a request of a call", () => {
  it("is received as the message that it carries, and filters get the same message", async () => {
    const { pid, log } = run<string | { to: ReplyTo<string> }>(async (ctx, note) => {
      const request = await ctx.receive((message) => typeof message !== "string");
      if (typeof request !== "string") ctx.reply(request.to, "answer");
      note(await ctx.receive());
    });
    system.send(pid, "before");
    const answer = system.call(pid, (to: ReplyTo<string>) => ({ to }));
    await system.idle();
    expect(await answer).toBe("answer");
    expect(log).toEqual(["before"]);
  });

  it("whose caller gave up is never received", async () => {
    const { pid, log } = run<string>(async (ctx, note) => {
      await ctx.receive((text) => text === "go");
      for (;;) note(await ctx.receive());
    });
    const call = system.call(pid, () => "abandoned", { timeoutMs: 10 }).catch(code);
    await clock.advance(10);
    system.send(pid, "go");
    system.send(pid, "after");
    await system.idle();
    expect(await call).toBe("ERR_CALL_TIMEOUT");
    expect(log).toEqual(["after"]);
    expect(system.info(pid)?.mailboxDepth).toBe(0);
  });
});

describe("selective receive in general", () => {
  it("takes the same messages as a search in an array, for any order of messages and any filters", async () => {
    const step = fc.oneof(
      fc.record({ send: fc.array(fc.nat(5), { minLength: 1, maxLength: 12 }) }),
      fc.record({ want: fc.uniqueArray(fc.nat(5), { minLength: 1, maxLength: 3 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const wants = steps.flatMap((one) => ("want" in one ? [one.want] : []));
        const { pid, log } = run<number>(async (ctx, note) => {
          for (const want of wants) note(await ctx.receive((n) => want.includes(n)));
          await sleep({ receive: () => ctx.receive(() => false) });
        });
        const model: number[] = [];
        for (const one of steps) {
          if (!("send" in one)) continue;
          model.push(...one.send);
          for (const n of one.send) system.send(pid, n);
          await system.idle();
        }
        const expected: number[] = [];
        for (const want of wants) {
          const at = model.findIndex((n) => want.includes(n));
          if (at < 0) break;
          expected.push(...model.splice(at, 1));
        }
        await system.idle();
        expect(log).toEqual(expected);
        expect(system.info(pid)?.mailboxDepth).toBe(model.length);
        system.exit(pid, "kill");
      }),
      { numRuns: 150 },
    );
  });
});
