// Circles of calls: an error at the call that closes the circle, and never where some process could still answer.

import {
  type BodyContext,
  CallCycleError,
  type Caller,
  type Context,
  defer,
  defineServer,
  inspect,
  type Pid,
  type ReplyTo,
  System,
} from "signalbox";
import { testClock } from "signalbox/testing";
import { describe, expect, test } from "vitest";

/** What a server does with a call of `go`. */
type Step = (ctx: Context<unknown>) => unknown;

/** A server whose handlers are given by the test. */
const Actor = defineServer({
  init: (ctx) => ({ ctx, kept: undefined as Caller<string> | undefined }),
  calls: {
    go: async ({ ctx }, step: Step) => step(ctx) as Promise<string>,
    direct: ({ ctx }, step: Step) => step(ctx) as Promise<string>,
    answer: () => "answer",
    keep: (state) =>
      defer<string>((caller) => {
        state.kept = caller;
      }),
    free: (state) => {
      state.kept?.reply("freed");
      return "done";
    },
  },
});

type Ref = Awaited<ReturnType<typeof start>>;
const start = (system: System, label: string) => system.startWith({ label }, Actor);

/** Calls `go` of one server in the name of another. */
const go =
  (to: Ref, step: Step): Step =>
  (ctx) =>
    to.with({ from: ctx }).call.go(step);
const ask =
  (to: Ref): Step =>
  (ctx) =>
    to.with({ from: ctx }).call.answer();
/** Hides a step behind other async functions. */
const nested =
  (step: Step): Step =>
  async (ctx) => {
    const inner = async (): Promise<unknown> => {
      const value = await step(ctx);
      return value;
    };
    return await inner();
  };
const caught =
  (step: Step): Step =>
  async (ctx) => {
    try {
      return await step(ctx);
    } catch (error) {
      return (error as { code?: string }).code;
    }
  };

describe("a call that closes a circle", () => {
  test("is an error with the circle named, over servers [I13]", async () => {
    await using system = new System({ name: "shop" });
    const [a, b] = [await start(system, "a"), await start(system, "b")];
    let error: unknown;
    const closing: Step = async (ctx) => {
      try {
        return await ask(a)(ctx);
      } catch (thrown) {
        error = thrown;
        return "refused";
      }
    };
    expect(await a.call.go(go(b, closing))).toBe("refused");
    expect(error).toBeInstanceOf(CallCycleError);
    expect(error).toMatchObject({
      code: "ERR_CALL_CYCLE",
      cycle: [
        { from: a.pid, to: b.pid, method: "go" },
        { from: b.pid, to: a.pid, method: "answer" },
      ],
      message:
        "these processes would wait for each other forever: <shop.1 a> waits for go of <shop.2 b>, " +
        "<shop.2 b> waits for answer of <shop.1 a>",
    });
  });

  test("is found at any length, behind async functions, and without `from` [I13]", async () => {
    await using system = new System();
    for (const length of [2, 3, 7]) {
      const all: Ref[] = [];
      for (let i = 0; i < length; i++) all.push(await start(system, `p${i}`));
      let step: Step = caught(nested(() => (all[0] as Ref).call.answer()));
      for (const ref of all.slice(1).reverse()) {
        const next = step;
        step = nested(() => ref.call.go(next));
      }
      expect(await (all[0] as Ref).call.go(step)).toBe("ERR_CALL_CYCLE");
    }
  });

  test("is found where a handler returns the promise of the call itself [I13]", async () => {
    await using system = new System();
    const [a, b] = [await start(system, "a"), await start(system, "b")];
    const step: Step = (ctx) => b.with({ from: ctx }).call.direct(caught(ask(a)));
    expect(await a.call.direct(step)).toBe("ERR_CALL_CYCLE");
  });

  test("is found when a request still waits in a mailbox [I13]", async () => {
    await using system = new System();
    const [a, b] = [await start(system, "a"), await start(system, "b")];
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const busy = b.call.go(async (ctx) => {
      await gate;
      return caught(ask(a))(ctx);
    });
    const waits = a.call.go(ask(b));
    await system.idle();
    open();
    expect(await busy).toBe("ERR_CALL_CYCLE");
    expect(await waits).toBe("answer");
  });

  test("is found over plain callbacks and bodies [I13]", async () => {
    await using system = new System();
    interface Go {
      readonly to: Pid<Go> | undefined;
      readonly next: Pid<Go> | undefined;
      readonly replyTo: ReplyTo<string>;
    }
    const work = async (ctx: Context<Go>, { to, next, replyTo }: Go): Promise<void> => {
      if (to === undefined) {
        ctx.reply(replyTo, "answer");
        return;
      }
      const asked = ctx.call(to, (address: ReplyTo<string>) => ({
        to: next,
        next: undefined,
        replyTo: address,
      }));
      ctx.reply(replyTo, await asked.catch((error: { code: string }) => error.code));
    };
    const callbacks = { handle: work };
    const body = async (ctx: Context<Go>): Promise<void> => {
      for (;;) await work(ctx, await (ctx as BodyContext<Go>).receive());
    };
    for (const [one, two] of [
      [callbacks, callbacks],
      [callbacks, body],
      [body, callbacks],
      [body, body],
    ]) {
      const a = system.spawn<Go>(one as typeof callbacks);
      const b = system.spawn<Go>(two as typeof callbacks);
      const reply = system.call(a, (replyTo: ReplyTo<string>) => ({ to: b, next: a, replyTo }));
      expect(await reply).toBe("ERR_CALL_CYCLE");
      system.exit(a, "kill");
      system.exit(b, "kill");
    }
  });

  test("is found while a process is traced [I13]", async () => {
    await using system = new System();
    const [a, b] = [await start(system, "a"), await start(system, "b")];
    await using _ = inspect(system, a.pid).trace();
    expect(await a.call.go(go(b, caught(ask(a))))).toBe("ERR_CALL_CYCLE");
  });

  test("is found when a process calls in its `init` [I13]", async () => {
    await using system = new System({ report: false });
    const a = await start(system, "a");
    const Child = defineServer({
      init: async (ctx) => ({ reply: await ask(a)(ctx) }),
      calls: { reply: (state) => state.reply },
    });
    const child = Child.at(system, "child");
    let started: Promise<unknown> = Promise.resolve();
    const asked = a.call.go((ctx) => {
      started = system.startWith({ name: "child" }, Child);
      started.catch(() => undefined);
      return caught(() => child.with({ from: ctx }).call.reply())(ctx);
    });
    expect(await asked).toBe("ERR_CALLEE_EXITED");
    await expect(started).rejects.toMatchObject({ code: "ERR_START", cause: { code: "ERR_CALL_CYCLE" } });
  });
});

describe("a call is no error", () => {
  const clock = testClock();
  const fixture = async (use: (system: System, a: Ref, b: Ref) => Promise<void>): Promise<void> => {
    await using system = new System({ environment: clock.environment });
    await use(system, await start(system, "a"), await start(system, "b"));
  };
  const sleep = (ctx: Context<unknown>, ms: number): Promise<void> =>
    new Promise((resolve) => {
      ctx.wrap(() => undefined);
      setTimeoutOn(ctx, ms, resolve);
    });
  /** A timer that runs while a handler is at work: a message of the clock, not of the mailbox. */
  const setTimeoutOn = (ctx: Context<unknown>, ms: number, fn: () => void): void => {
    ctx.spawn(async (other) => {
      await other.receive({ timeoutMs: ms }).catch(() => undefined);
      fn();
    });
  };

  test("when the process that is called does not wait for its own call [I13]", () =>
    fixture(async (_system, a, b) => {
      const asked = a.call.go(async (ctx) => {
        const answer = go(b, ask(a))(ctx) as Promise<string>;
        answer.catch(() => undefined);
        await sleep(ctx, 10);
        return answer.then === undefined ? "never" : "slept";
      });
      await clock.advance(10);
      expect(await asked).toBe("slept");
    }));

  test("when it waits for something older than its call [I13]", () =>
    fixture(async (_system, a, b) => {
      let reply: unknown;
      const asked = a.call.go(async (ctx) => {
        const older = sleep(ctx, 10);
        void (go(b, ask(a))(ctx) as Promise<string>).then((value) => {
          reply = value;
        });
        await older;
        return "slept";
      });
      await clock.advance(10);
      expect(await asked).toBe("slept");
      await clock.advance(0);
      expect(reply).toBe("answer");
    }));

  test("when it races its call against something else [I13]", () =>
    fixture(async (_system, a, b) => {
      const asked = a.call.go((ctx) => {
        const called = go(b, ask(a))(ctx) as Promise<string>;
        return Promise.race([called, sleep(ctx, 10)]);
      });
      await clock.advance(10);
      expect(await asked).toBeUndefined();
    }));

  test("when it waits for several things together [I13]", () =>
    fixture(async (_system, a, b) => {
      const failing = async (ctx: Context<unknown>): Promise<never> => {
        await sleep(ctx, 10);
        throw new Error("late");
      };
      const asked = a.call.go(async (ctx) => {
        try {
          return await Promise.all([go(b, ask(a))(ctx), failing(ctx)]);
        } catch {
          return "went on";
        }
      });
      await clock.advance(10);
      expect(await asked).toBe("went on");
    }));

  test("when it waits for calls that an iterator makes one by one [I13]", () =>
    fixture(async (_system, a, b) => {
      const failing = async (ctx: Context<unknown>): Promise<never> => {
        await sleep(ctx, 10);
        throw new Error("late");
      };
      const asked = a.call.go(async (ctx) => {
        const waits = [failing(ctx)];
        function* all(): Generator<unknown> {
          yield* waits;
          yield go(b, ask(a))(ctx);
        }
        return Promise.all(all()).catch(() => "went on");
      });
      await clock.advance(10);
      expect(await asked).toBe("went on");
    }));

  test("when a plain process has put the reply off, and its timer answers [I13]", async () => {
    await using system = new System({ environment: clock.environment });
    interface Question {
      readonly replyTo: ReplyTo<string>;
      readonly kind: "answer" | "keep" | "call";
      readonly to?: Pid<Question>;
    }
    const plain = {
      handle: async (ctx: Context<Question>, { replyTo, kind, to }: Question): Promise<void> => {
        if (kind === "keep") {
          ctx.spawn(async (other) => {
            await other.receive({ timeoutMs: 10 }).catch(() => undefined);
            other.reply(replyTo, "kept");
          });
          return;
        }
        if (kind === "answer") {
          ctx.reply(replyTo, "answer");
          return;
        }
        const next = to === undefined ? "keep" : "answer";
        const callee = (to ?? system.whereis("keeper")) as Pid<Question>;
        ctx.reply(
          replyTo,
          await ctx.call(callee, (address: ReplyTo<string>) => ({ replyTo: address, kind: next })),
        );
      },
    };
    const a = system.spawn<Question>(plain);
    const keeper = system.spawn<Question>(plain, { name: "keeper" });
    const waits = system.call(a, (replyTo: ReplyTo<string>) => ({ replyTo, kind: "call" as const }));
    await clock.advance(0);
    const calls = system.call(keeper, (replyTo: ReplyTo<string>) => ({
      replyTo,
      kind: "call" as const,
      to: a,
    }));
    await clock.advance(10);
    expect([await waits, await calls]).toEqual(["kept", "answer"]);
  });

  test("when the called body is between two receives of another of its tasks [I13]", async () => {
    await using system = new System({ environment: clock.environment });
    const b = await start(system, "b");
    interface Plain {
      readonly replyTo: ReplyTo<string>;
    }
    const results: unknown[] = [];
    const body = system.spawn<Plain | "begin">(async (ctx) => {
      const serving = (async () => {
        await ctx.receive();
        await sleep(ctx as Context<unknown>, 10);
        const question = await ctx.receive();
        if (question !== "begin") ctx.reply(question.replyTo, "served");
      })();
      const step: Step = async (inner) => {
        system.send(body, "begin");
        await sleep(inner, 5);
        return inner.call(body, (replyTo: ReplyTo<string>) => ({ replyTo }));
      };
      const called = b.with({ from: ctx }).call.go(step);
      results.push(await called);
      await serving;
    });
    await clock.advance(0);
    await clock.advance(5);
    await clock.advance(10);
    expect(results).toEqual(["served"]);
  });

  test("when the caller used `ask` and can answer [I13]", async () => {
    await using system = new System();
    interface Go {
      readonly replyTo: ReplyTo<string>;
      readonly asks?: Pid<Go>;
    }
    const a = system.spawn<Go>({
      handle: (ctx, { replyTo, asks }) => {
        if (asks === undefined) ctx.reply(replyTo, "answer");
        else
          ctx.ask(
            asks,
            (address: ReplyTo<string>) => ({ replyTo: address, asks: ctx.self }),
            (reply) => ctx.reply(replyTo, reply.ok ? reply.value : "failed"),
          );
      },
    });
    const b = system.spawn<Go>({
      handle: async (ctx, { replyTo, asks }) => {
        const value = await ctx.call(asks as Pid<Go>, (address: ReplyTo<string>) => ({ replyTo: address }));
        ctx.reply(replyTo, value);
      },
    });
    expect(await system.call(a, (replyTo: ReplyTo<string>) => ({ replyTo, asks: b }))).toBe("answer");
  });

  test("when the reply is deferred, and another process answers [I13]", () =>
    fixture(async (system, a, b) => {
      const waits = a.call.go((ctx) => b.with({ from: ctx }).call.keep());
      await clock.advance(0);
      const calls = b.call.go(ask(a));
      await clock.advance(0);
      expect(system.info(b.pid)?.status).toBe("suspended");
      // Whoever holds the caller may answer: here the state of `b`, read from outside.
      const { kept } = await inspectState(system, b);
      kept?.reply("freed");
      expect([await waits, await calls]).toEqual(["freed", "answer"]);
    }));

  test("when the called body receives in another of its tasks [I13]", async () => {
    await using system = new System();
    const b = await start(system, "b");
    interface Plain {
      readonly replyTo: ReplyTo<string>;
    }
    const body = system.spawn<Plain>(async (ctx) => {
      const serving = (async () => {
        const { replyTo } = await ctx.receive();
        ctx.reply(replyTo, "served");
      })();
      const value = await b
        .with({ from: ctx })
        .call.go((inner) => inner.call(body, (replyTo: ReplyTo<string>) => ({ replyTo })));
      await serving;
      system.send("result", value);
    });
    const results: unknown[] = [];
    system.spawn<unknown>({ handle: (_ctx, value) => void results.push(value) }, { name: "result" });
    await system.idle();
    expect(results).toEqual(["served"]);
  });

  test("from outside of all processes [I13]", async () => {
    await using system = new System();
    const a = await start(system, "a");
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const first = a.call.go(() => gate.then(() => "done"));
    await system.idle();
    const second = a.call.answer();
    await system.idle();
    open();
    expect([await first, await second]).toEqual(["done", "answer"]);
  });
});

/** The state of a server as it is, shared. */
async function inspectState(system: System, ref: Ref): Promise<{ kept: Caller<string> | undefined }> {
  const { process } = ref.pid;
  expect(system.isAlive(ref.pid)).toBe(true);
  const behaviour = process?.behaviour as unknown as { inspected(): { state(): unknown } };
  return behaviour.inspected().state() as { kept: Caller<string> | undefined };
}
