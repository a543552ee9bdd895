// A transition without a process: pure, and the same as what a process does.

import { fc, test as property } from "@fast-check/vitest";
import { defineStateMachine, System, startIn, to } from "signalbox";
import { describe, expect, it } from "vitest";
import { BANK_MS, Payment, type PaymentEvent, type PaymentState } from "./payment.js";

const waiting: PaymentState = { name: "waiting", cents: 500 };
const charging: PaymentState = { name: "charging", cents: 500, card: "4000" };

describe("a transition", () => {
  it("gives the next state, and the actions of the handler and of the enter [B26]", () => {
    expect(Payment.transition(waiting, { type: "pay", card: "4000" })).toEqual({
      state: charging,
      actions: [
        { type: "reply", value: "charging" },
        { type: "startTimeout", key: { timeout: "state" }, afterMs: BANK_MS, event: { type: "tooLate" } },
      ],
    });
    expect(Payment.transition(charging, { type: "refund", cents: 5 })).toEqual({
      state: charging,
      actions: [{ type: "postpone" }],
    });
    expect(Payment.transition(waiting, { type: "tooLate" })).toEqual({ state: waiting, actions: [] });
    expect(Payment.transition(waiting, { type: "refund", cents: 5 }).actions).toMatchObject([
      { type: "refuse", error: { code: "ERR_WRONG_STATE" } },
    ]);
  });

  it("says why the machine stops, and throws what is wrong with a step [B26]", () => {
    type S = { name: "a" } | { name: "b" };
    type V = { type: "stop" | "wrong" | "late" | "crash" | "leave" };
    const Odd = defineStateMachine<S, V>({
      init: startIn("a", () => ({ name: "a" })),
      states: {
        a: {
          on: {
            stop: (_state, _event, m) => m.stop("shutdown"),
            wrong: (_state, _event, m) => m.next({ name: "b" } as never),
            late: async (_state, _event, m) => m.keep(),
            crash: () => {
              throw new Error("boom");
            },
            leave: to("b", (_state, _event, m) => m.next({ name: "b" })),
          },
        },
        b: {
          enter: (_state, _previous, m) => m.stop(),
          on: { stop: "ignore", wrong: "ignore", late: "ignore", crash: "ignore", leave: "ignore" },
        },
      },
    });
    const following = (type: V["type"]): unknown => Odd.transition({ name: "a" }, { type });
    expect(following("stop")).toEqual({ state: { name: "a" }, actions: [], stops: { type: "shutdown" } });
    expect(following("leave")).toEqual({ state: { name: "b" }, actions: [], stops: { type: "normal" } });
    expect(() => following("wrong")).toThrow(expect.objectContaining({ code: "ERR_UNDECLARED_TRANSITION" }));
    expect(() => following("late")).toThrow(expect.objectContaining({ code: "ERR_ASYNC_TRANSITION" }));
    expect(() => following("crash")).toThrow("boom");
    expect(() => following("jump" as never)).toThrow(expect.objectContaining({ code: "ERR_UNKNOWN_EVENT" }));
    expect(() => Odd.transition({ name: "c" } as never, { type: "stop" })).toThrow(
      expect.objectContaining({ code: "ERR_UNKNOWN_STATE" }),
    );
  });

  const sendable = fc.constantFrom<Extract<PaymentEvent, { type: "charged" | "failed" | "tooLate" }>>(
    { type: "charged", receipt: "r" },
    { type: "failed", why: "no money" },
    { type: "tooLate" },
  );
  const pay = fc.constant<Extract<PaymentEvent, { type: "pay" }>>({ type: "pay", card: "4000" });

  property.prop([fc.array(fc.oneof(sendable, pay), { maxLength: 12 })], { numRuns: 40 })(
    "folded over events, ends where a process ends that gets the same events [B26]",
    async (events) => {
      await using system = new System({ report: false });
      const payment = await system.start(Payment, 500);
      let state = waiting as PaymentState;
      for (const event of events) {
        state = Payment.transition(state, event).state;
        if (event.type === "pay") await payment.call.pay({ card: event.card }).catch(() => undefined);
        else payment.send(event);
      }
      const expected = state.name === "declined" ? `declined: ${state.why}` : state.name;
      expect(await payment.call.status()).toBe(expected);
    },
  );
});
