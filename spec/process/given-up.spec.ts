// A call that its caller gave up is never handled, wherever it waits: in the mailbox, in a stash, postponed, behind a suspension,
// behind a continuation.

import {
  type Call,
  type CallerOptions,
  type CallTimeoutError,
  defineServer,
  defineStateMachine,
  inspect,
  noReply,
  type Pid,
  Stash,
  type StateMachineDefinition,
  System,
  startIn,
  to,
} from "signalbox";
import { type TestClock, testClock } from "signalbox/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Payment } from "../behaviour/state-machine/payment.js";
import { left } from "../support/collected.js";
import { explored } from "../support/proof.js";

let clock: TestClock;
let system: System;
beforeEach(() => {
  clock = testClock();
  system = new System({ environment: clock.environment, report: false });
});
afterEach(() => clock.until(system.stop()));

type Gate = { readonly name: "shut" } | { readonly name: "open" };
type GateEvent = Call<{ readonly type: "pass"; readonly who: object }, number> | { readonly type: "turn" };
let passed: object[] = [];
beforeEach(() => {
  passed = [];
});

/** Postpones `pass` while it is shut. */
const Gate: StateMachineDefinition<Gate, GateEvent, []> = defineStateMachine<Gate, GateEvent>({
  init: startIn("shut", () => ({ name: "shut" })),
  states: {
    shut: { on: { pass: "postpone", turn: to("open", (_shut, _turn, m) => m.next({ name: "open" })) } },
    open: {
      on: {
        pass: (_open, { who }, m) => m.keep(m.reply(passed.push(who))),
        turn: to("shut", (_open, _turn, m) => m.next({ name: "shut" })),
      },
    },
  },
});

interface Waiting {
  readonly pid: Pid<never>;
  ask(who: object, options: CallerOptions): Promise<number>;
  /** Called once all wait. */
  retry?(): void;
  /** Lets what waits be handled. */
  free(): Promise<void> | void;
}

/** Each place where a call may wait, with the options of a user who sets none. */
const PLACES: { readonly [where: string]: () => Promise<Waiting> } = {
  "postponed by a state machine": async () => {
    const gate = await clock.until(system.start(Gate));
    return {
      pid: gate.pid,
      ask: (who, options) => gate.with(options).call.pass({ who }),
      free: () => gate.cast.turn(),
    };
  },
  "retried by a state machine, behind one that is being handled": async () => {
    let free = (): void => undefined;
    const Slow = defineStateMachine<Gate, GateEvent>({
      init: startIn("shut", () => ({ name: "shut" })),
      states: {
        shut: { on: { pass: "postpone", turn: to("open", (_shut, _turn, m) => m.next({ name: "open" })) } },
        open: {
          on: {
            pass: async (_open, { who }, m) => {
              if (passed.push(who) === 1)
                await new Promise<void>((resolve) => {
                  free = resolve;
                });
              return m.keep(m.reply(passed.length));
            },
            turn: "ignore",
          },
        },
      },
    });
    const gate = await clock.until(system.start(Slow));
    const first = {};
    void gate.call.pass({ who: first });
    return {
      pid: gate.pid,
      ask: (who, options) => gate.with(options).call.pass({ who }),
      retry: () => gate.cast.turn(),
      free: () => free(),
    };
  },
  "set aside in a stash": async () => {
    const Early = defineServer({
      init: (ctx) => ({ early: new Stash(ctx, { capacity: 10 }), open: false }),
      calls: { pass: (state, who: object) => (state.open ? passed.push(who) : state.early.setAside()) },
      casts: {
        turn: (state) => {
          state.open = true;
          state.early.unstash();
        },
      },
    });
    const early = await clock.until(system.start(Early));
    return {
      pid: early.pid,
      ask: (who, options) => early.with(options).call.pass(who) as Promise<number>,
      free: () => early.cast.turn(),
    };
  },
  "in the mailbox of a suspended process": async () => {
    const Open = defineServer({
      init: () => ({}),
      calls: { pass: (_state, who: object) => passed.push(who) },
    });
    const open = await clock.until(system.start(Open));
    await clock.until(inspect(system, open.pid).suspend());
    return {
      pid: open.pid,
      ask: (who, options) => open.with(options).call.pass(who),
      free: () => clock.until(inspect(system, open.pid).resume()),
    };
  },
  "behind a continuation": async () => {
    let free = (): void => undefined;
    const Busy = defineServer({
      init: () => ({}),
      calls: { pass: (_state, who: object) => passed.push(who) },
      casts: {
        work: () =>
          noReply({
            continue: () =>
              new Promise<void>((resolve) => {
                free = resolve;
              }),
          }),
      },
    });
    const busy = await clock.until(system.start(Busy));
    busy.cast.work();
    await clock.settle();
    return { pid: busy.pid, ask: (who, options) => busy.with(options).call.pass(who), free: () => free() };
  },
};

describe.each(Object.entries(PLACES))("a call that is %s", (_where, open) => {
  it("is not handled once its time is over, it is aborted, or its caller has died [C2]", async () => {
    const { ask, free, retry } = await open();
    const who = { name: "in time" };
    const stop = new AbortController();
    const late = ask({ name: "late" }, { timeoutMs: 100 }).catch((error: unknown) => error);
    const aborted = ask({ name: "aborted" }, { signal: stop.signal, timeoutMs: 5_000 }).catch(
      (error: unknown) => error,
    );
    const caller = system.spawn(async (ctx) => {
      await ask({ name: "dead" }, { from: ctx });
    });
    await clock.settle();
    const answered = ask(who, {});
    await clock.settle();
    retry?.();
    await clock.settle();
    system.exit(caller, "kill");
    stop.abort("enough");
    await clock.advance(100);
    expect(await aborted).toBe("enough");
    expect(((await late) as CallTimeoutError).request).toBe("withdrawn");
    expect(((await late) as Error).message).toContain("is withdrawn and will not be handled");
    await free();
    expect(await clock.until(answered)).toBeGreaterThan(0);
    expect(passed.filter((one) => "name" in one && one !== who)).toEqual([]);
  });

  it("is handled all the same with `withdraw: false`, and its error says so [C2]", async () => {
    const { ask, free, retry } = await open();
    const who = { name: "kept" };
    const late = ask(who, { timeoutMs: 100, withdraw: false }).catch((error: unknown) => error);
    await clock.settle();
    retry?.();
    await clock.advance(100);
    expect(((await late) as CallTimeoutError).request).toBe("kept");
    expect(((await late) as Error).message).toContain("it may still be handled");
    await free();
    await clock.settle();
    expect(passed).toContain(who);
  });
});

it("three refunds that timed out are not paid [C2]", async () => {
  const payment = await clock.until(system.start(Payment, 500));
  await clock.until(payment.call.pay({ card: "4000" }));
  const refunds = [100, 100, 100].map((cents) =>
    payment.call.refund({ cents }).catch(({ code }: { readonly code: string }) => code),
  );
  await clock.advance(5_000);
  expect(await Promise.all(refunds)).toEqual(new Array(3).fill("ERR_CALL_TIMEOUT"));
  payment.cast.charged({ receipt: "r1" });
  expect(await clock.until(payment.call.refund({ cents: 200 }))).toBe(300);
});

it("a call that is being handled when its time is over says that [C2]", async () => {
  const Slow = defineServer({ init: () => ({}), calls: { work: () => new Promise<never>(() => undefined) } });
  const slow = await clock.until(system.start(Slow));
  const late = slow
    .with({ timeoutMs: 10 })
    .call.work()
    .catch((error: unknown) => error);
  await clock.advance(10);
  expect(await late).toMatchObject({
    request: "taken",
    message: expect.stringContaining("is being handled"),
  });
});

it("100,000 postponed calls that were given up leave nothing in memory, without a change of the state [F1]", async () => {
  const gate = await clock.until(system.start(Gate));
  const refs: WeakRef<object>[] = [];
  const ends: Promise<unknown>[] = [];
  for (let i = 0; i < 100_000; i++) {
    const who = {};
    if (i % 1_000 === 0) refs.push(new WeakRef(who));
    ends.push(
      gate
        .with({ timeoutMs: 100 })
        .call.pass({ who })
        .catch(() => undefined),
    );
  }
  await clock.settle();
  await clock.advance(100);
  await Promise.all(ends.splice(0));
  // As in a mailbox, the last of what waited may stay until something else comes.
  expect(await left(refs)).toBeLessThanOrEqual(1);
  gate.cast.turn();
  await clock.settle();
  expect(passed).toEqual([]);
});

it("calls that were given up count toward no limit of postponed events [F1]", async () => {
  const Small = defineStateMachine<Gate, GateEvent>({
    init: startIn("shut", () => ({ name: "shut" })),
    states: {
      shut: { on: { pass: "postpone", turn: to("open", (_shut, _turn, m) => m.next({ name: "open" })) } },
      open: { on: { pass: (_open, { who }, m) => m.keep(m.reply(passed.push(who))), turn: "ignore" } },
    },
    maxPostponed: 10,
  });
  const gate = await clock.until(system.start(Small));
  const kept = Array.from({ length: 6 }, () => gate.call.pass({ who: {} }));
  for (let round = 0; round < 5; round++) {
    const late = Array.from({ length: 4 }, () => gate.with({ timeoutMs: 10 }).call.pass({ who: {} }));
    await clock.advance(10);
    expect((await Promise.allSettled(late)).map(({ status }) => status)).toEqual(
      new Array(4).fill("rejected"),
    );
  }
  gate.cast.turn();
  expect(await clock.until(Promise.all(kept))).toEqual([1, 2, 3, 4, 5, 6]);
});

it("in any schedule a postponed call is answered or withdrawn, never both and never neither [C2]", async () => {
  await explored(
    async (sim) => {
      const handled = new Set<object>();
      const gate = await sim.system({ name: "s" }).start(
        defineStateMachine<Gate, GateEvent>({
          init: startIn("shut", () => ({ name: "shut" })),
          states: {
            shut: {
              on: { pass: "postpone", turn: to("open", (_shut, _turn, m) => m.next({ name: "open" })) },
            },
            open: {
              on: {
                pass: async (_open, { who }, m) => {
                  handled.add(who);
                  await sim.sleep(sim.oneOf([0, 15], "work"));
                  return m.keep(m.reply(1));
                },
                turn: to("shut", (_open, _turn, m) => m.next({ name: "shut" })),
              },
            },
          },
        }),
      );
      const calls = Array.from({ length: 4 }, async (_, i) => {
        const who = { i };
        try {
          await gate.with({ timeoutMs: 10 * (1 + sim.choose(3, "patience")) }).call.pass({ who });
          expect(handled.has(who)).toBe(true);
          sim.sometimes("a call is answered");
        } catch (error) {
          const { request } = error as CallTimeoutError;
          sim.sometimes(`a request is ${request}`);
          expect(request).not.toBe("kept");
          return { who, request };
        }
        return undefined;
      });
      for (let i = 0; i < 4; i++) {
        await sim.sleep(sim.oneOf([0, 10, 20], "pause"));
        gate.cast.turn();
      }
      const ends = await Promise.all(calls);
      // What waits is handled now, if anything is.
      gate.cast.turn();
      await sim.sleep(100);
      for (const end of ends) if (end?.request === "withdrawn") expect(handled.has(end.who)).toBe(false);
    },
    {
      quick: 100,
      least: 300,
      sometimes: ["a call is answered", "a request is withdrawn", "a request is taken"],
    },
  );
});
