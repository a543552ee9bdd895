// State machines as processes: what they do with messages, time, other processes and their own end.

import {
  CalleeExitedError,
  type Context,
  defineStateMachine,
  type ExitReason,
  ProcessExitedError,
  System,
  startIn,
  supervisor,
  to,
  WrongStateError,
} from "signalbox";
import { testClock } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { BANK_MS, Payment } from "./payment.js";

describe("a state machine", () => {
  it("answers calls as its state says, and refuses those that do not fit", async () => {
    await using system = new System({ report: false });
    const payment = await system.start(Payment, 500);
    expect(await payment.call.status()).toBe("waiting");
    const refused = await payment.call.refund({ cents: 1 }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(WrongStateError);
    expect(refused).toMatchObject({ code: "ERR_WRONG_STATE", state: "waiting", event: "refund" });
    expect(await payment.call.pay({ card: "4000" })).toBe("charging");
    payment.cast.charged({ receipt: "r1" });
    expect(await payment.call.refund({ cents: 200 })).toBe(300);
    await expect(payment.call.refund({ cents: 400 })).rejects.toThrow("only 300 cents were paid");
    expect(await payment.call.status()).toBe("paid");
  });

  it("handles what it postponed when the state changes, oldest first, and answers those callers [B23]", async () => {
    await using system = new System({ report: false });
    const payment = await system.start(Payment, 500);
    await payment.call.pay({ card: "4000" });
    const refunds = [100, 50, 25].map((cents) => payment.call.refund({ cents }));
    expect(await payment.call.status()).toBe("charging");
    payment.send({ type: "charged", receipt: "r1" });
    expect(await Promise.all(refunds)).toEqual([400, 350, 325]);
  });

  it("has timeouts by the clock of its system, which a change of state cancels [B24]", async () => {
    const clock = testClock();
    await using system = new System({ environment: clock.environment, report: false });
    const [late, paid] = await clock.until(
      Promise.all([system.start(Payment, 500), system.start(Payment, 500)]),
    );
    late.cast.charged({ receipt: "ignored while waiting" });
    void late.call.pay({ card: "1" });
    void paid.call.pay({ card: "2" });
    await clock.advance(BANK_MS - 1);
    paid.cast.charged({ receipt: "r2" });
    await clock.advance(1);
    expect(await clock.until(late.call.status())).toBe("declined: too late");
    expect(await clock.until(paid.call.status())).toBe("paid");
  });

  it("is a child of a supervisor, and its handle by name finds it after a restart", async () => {
    await using system = new System({ report: false });
    const Till = supervisor({ children: [{ id: "payment", name: "payment", start: Payment, args: [500] }] });
    await system.start(Till);
    const payment = Payment.at(system, "payment");
    await payment.call.pay({ card: "4000" });
    const before = payment.pid;
    system.exit(before, "kill");
    await system.idle();
    expect(payment.pid).not.toBe(before);
    expect(await payment.call.status()).toBe("waiting");
    expect(String(payment)).toBe("payment");
  });

  it("stops when its handle says so, after the messages before, and takes open calls with it [B30]", async () => {
    await using system = new System({ report: false });
    const payment = await system.start(Payment, 500);
    const { pid } = payment;
    await payment.call.pay({ card: "4000" });
    const postponed = payment.call.refund({ cents: 5 }).catch((error: unknown) => error);
    const handled = payment.call.status();
    payment.stop({ type: "custom", value: "closing time" });
    const waiting = payment.call.status().catch((error: unknown) => error);
    expect(await handled).toBe("charging");
    for (const left of [await postponed, await waiting]) {
      expect(left).toBeInstanceOf(CalleeExitedError);
      expect(left).toMatchObject({ reason: { type: "custom", value: "closing time" } });
    }
    expect(system.isAlive(pid)).toBe(false);
    payment.stop();
  });

  it("makes calls on behalf of a process, until that process exits", async () => {
    await using system = new System({ report: false });
    const payment = await system.start(Payment, 500);
    let from: Context | undefined;
    const caller = system.spawn({
      init: (ctx) => {
        from = ctx as Context;
      },
      handle: () => undefined,
    });
    await system.idle();
    const ours = payment.with({ from: from as Context });
    expect(await ours.call.pay({ card: "4000" })).toBe("charging");
    const open = ours.call.refund({ cents: 1 });
    system.exit(caller, "kill");
    await expect(open).rejects.toBeInstanceOf(ProcessExitedError);
    await expect(ours.call.status()).rejects.toBeInstanceOf(ProcessExitedError);
    expect(() => ours.cast.tooLate()).toThrow(ProcessExitedError);
    expect(() => ours.send({ type: "tooLate" })).toThrow(ProcessExitedError);
  });
});

describe("a process of callbacks that asks a state machine", () => {
  it("gets each reply between its messages, and is refused what makes no sense", async () => {
    await using system = new System({ report: false });
    const payment = await system.start(Payment, 500);
    const replies: unknown[] = [];
    const asker = system.spawn<never>({
      init: (ctx) => {
        const { ask } = payment.with({ from: ctx });
        ask.status((reply) => replies.push(reply));
        ask.refund({ cents: 5 }, (reply) => replies.push(reply.ok));
        ask.pay({ card: "4000" }, (reply) => replies.push(reply));
        expect(() => ask.pay({ card: "4000" }, 5 as never)).toThrow(
          expect.objectContaining({ code: "ERR_OPTION", path: "onReply" }),
        );
      },
      handle: () => undefined,
    });
    await system.idle();
    expect(replies).toEqual([{ ok: true, value: "waiting" }, false, { ok: true, value: "charging" }]);
    let gone: (() => void) | undefined;
    system.spawn<never>((ctx) => {
      const { ask } = payment.with({ from: ctx });
      expect(() => ask.status(() => undefined)).toThrow(
        expect.objectContaining({ code: "ERR_NOT_CALLBACKS" }),
      );
      gone = () => ask.status(() => undefined);
    });
    await system.idle();
    expect(gone).toThrow(ProcessExitedError);
    expect(system.isAlive(asker)).toBe(true);
  });
});

type Work = { readonly name: "idle" } | { readonly name: "done"; readonly what: unknown };
type WorkEvent =
  | { readonly type: "begin"; readonly work: (ctx: Context<unknown>) => unknown }
  | { readonly type: "finished"; readonly what: unknown };

/** Does the work that it is told to, as a task. */
const Worker = defineStateMachine<Work, WorkEvent>({
  init: startIn("idle", () => ({ name: "idle" })),
  states: {
    idle: {
      on: {
        begin: (_state, { work }, m) => m.keep(m.task(work as never)),
        finished: to("done", (_state, { what }, m) => m.next({ name: "done", what })),
      },
    },
    done: {
      enter: ({ what }, _previous, m) => m.keep(m.run((ctx) => ctx.register(`done: ${what}`))),
      on: { begin: "ignore", finished: "ignore" },
    },
  },
});

describe("a task of a state machine", () => {
  it("ends in an event, and the machine handles others meanwhile [B29]", async () => {
    await using system = new System({ report: false });
    const worker = await system.start(Worker);
    let finish = (_what: unknown): void => undefined;
    const work = new Promise((resolve) => {
      finish = resolve;
    });
    worker.cast.begin({ work: () => work });
    worker.cast.begin({ work: () => undefined });
    await system.idle();
    expect(system.whereis("done: tea")).toBeUndefined();
    finish({ type: "finished", what: "tea" });
    await work;
    await system.idle();
    expect(system.whereis("done: tea")).toBe(worker.pid);
  });

  it("crashes the machine when it fails, at once or later [B29]", async () => {
    await using system = new System({ report: false });
    const failures: ((ctx: Context<unknown>) => unknown)[] = [
      () => {
        throw new Error("boom");
      },
      () => Promise.reject(new Error("boom")),
    ];
    for (const work of failures) {
      const worker = await system.start(Worker);
      worker.cast.begin({ work });
      expect(await system.exited(worker.pid)).toMatchObject({ type: "crash", error: { message: "boom" } });
    }
  });

  it("is aborted when the machine exits, and its event is dropped then [B29]", async () => {
    await using system = new System({ report: false });
    const late: unknown[] = [];
    system.events.on("lateError", (event) => late.push(event));
    const worker = await system.start(Worker);
    let aborted: unknown;
    let finish = (_what: unknown): void => undefined;
    worker.cast.begin({
      work: (ctx) =>
        new Promise((resolve) => {
          finish = resolve;
          ctx.signal.addEventListener("abort", () => {
            aborted = ctx.signal.reason;
          });
        }),
    });
    await system.idle();
    system.exit(worker.pid, "kill");
    finish({ type: "finished", what: "too late" });
    await system.idle();
    expect(aborted).toBeInstanceOf(ProcessExitedError);
    expect(late).toEqual([]);
  });
});

type Ear = { readonly name: "open"; readonly heard: readonly string[] };
type EarEvent = { readonly type: "heard"; readonly what: string };

describe("a state machine that is not asked by its handle", () => {
  it("turns messages and signals into events, and leaves the others as dead letters", async () => {
    await using system = new System({ report: false });
    const states: Ear[] = [];
    const dead: unknown[] = [];
    system.events.on("deadLetter", ({ message }) => dead.push(message));
    const Listener = defineStateMachine<Ear, EarEvent>({
      init: startIn("open", ({ ctx }) => {
        ctx.monitor(system.spawn(() => undefined));
        return { name: "open", heard: [] };
      }),
      states: {
        open: {
          on: {
            heard: ({ heard }, { what }, m) => {
              const state: Ear = { name: "open", heard: [...heard, what] };
              states.push(state);
              return m.next(state);
            },
          },
        },
      },
      info: (message) => (typeof message === "string" ? { type: "heard", what: message } : undefined),
      signal: ({ type }) => (type === "down" ? { type: "heard", what: type } : undefined),
    });
    const { pid } = await system.start(Listener);
    system.send(pid as never, "a word" as never);
    system.send(pid as never, 7 as never);
    await system.idle();
    expect(states.at(-1)?.heard.toSorted()).toEqual(["a word", "down"]);
    expect(dead).toEqual([7]);
  });
});

type Phase = { readonly name: "one" } | { readonly name: "two" };
type PhaseEvent = { readonly type: "go" };

/** What `terminate` sees when going from one to two ends as `how` says. */
async function endOf(how: {
  go?: () => never;
  enter?: (m: { stop(reason: "shutdown"): unknown }) => unknown;
  actions?: readonly unknown[];
}): Promise<[Phase["name"], ExitReason]> {
  await using system = new System({ report: false });
  let end: [Phase["name"], ExitReason] | undefined;
  const Machine = defineStateMachine<Phase, PhaseEvent>({
    init: startIn("one", () => ({ name: "one" })),
    states: {
      one: {
        on: {
          go: to("two", (_state, _event, m) => {
            how.go?.();
            return m.next({ name: "two" }, ...((how.actions ?? []) as never[]));
          }),
        },
      },
      two: {
        enter: (_state, _previous, m) => (how.enter === undefined ? m.keep() : how.enter(m)) as never,
        on: { go: "ignore" },
      },
    },
    terminate: ({ name }, reason) => {
      end = [name, reason];
    },
  });
  const { cast, pid } = await system.start(Machine);
  cast.go();
  await system.exited(pid);
  return end as never;
}

describe("the end of a state machine", () => {
  const boom = (): never => {
    throw new Error("boom");
  };

  it("shows terminate the state that holds: before an error in an enter, after a stop from it [B27]", async () => {
    expect(await endOf({ go: boom })).toMatchObject(["one", { error: { message: "boom" } }]);
    expect(await endOf({ enter: boom })).toMatchObject(["one", { error: { message: "boom" } }]);
    expect(await endOf({ enter: (m) => m.stop("shutdown") })).toEqual(["two", { type: "shutdown" }]);
    expect(await endOf({ enter: () => "nonsense" })).toMatchObject([
      "two",
      { error: { code: "ERR_BAD_STEP" } },
    ]);
    expect(await endOf({ actions: ["nonsense"] })).toMatchObject([
      "two",
      { error: { code: "ERR_BAD_ACTION" } },
    ]);
  });
});
