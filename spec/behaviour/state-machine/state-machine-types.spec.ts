// The types of a state machine: held by the compiler, which reads this file in `npm run types`.

import {
  type Call,
  type Cell,
  defineStateMachine,
  type ReplyTo,
  type StateMachineRef,
  type StatesOf,
  System,
  startIn,
  to,
} from "signalbox";
import { describe, expect, expectTypeOf, it } from "vitest";
import { Payment, type PaymentEvent, type PaymentState } from "./payment.js";

type Lamp = { readonly name: "off" } | { readonly name: "on"; readonly watts: number };
type LampEvent =
  | Call<{ readonly type: "press"; readonly watts: number }, boolean>
  | { readonly type: "reset" };

describe("the types of a state machine", () => {
  it("give its handle a method for each call and each cast [B20]", async () => {
    await using system = new System({ report: false });
    const payment = await system.start(Payment, 500);
    expectTypeOf(payment).toEqualTypeOf<StateMachineRef<PaymentEvent>>();
    expectTypeOf(payment.call.pay).returns.toEqualTypeOf<Promise<"charging">>();
    expectTypeOf(payment.call.refund).returns.toEqualTypeOf<Promise<number>>();
    expectTypeOf(payment.call.status).toEqualTypeOf<() => Promise<string>>();
    expectTypeOf(payment.cast.tooLate).toEqualTypeOf<() => void>();
    expectTypeOf(payment.cast.charged).parameter(0).toExtend<{ receipt: string }>();
    expectTypeOf<keyof typeof payment.call>().toEqualTypeOf<"pay" | "refund" | "status">();
    expectTypeOf<keyof typeof payment.cast>().toEqualTypeOf<"charged" | "failed" | "tooLate">();
    expectTypeOf(payment.with({ timeoutMs: 5 }).call).toEqualTypeOf(payment.call);
    expectTypeOf(Payment.at(system, "payment")).toEqualTypeOf(payment);
    expectTypeOf(Payment.transition).returns.toHaveProperty("state").toEqualTypeOf<PaymentState>();
    expect(await payment.call.pay({ card: "4000" })).toBe("charging");
  });

  it("give handlers their state, their event, their reply and whom to reply to [B20]", () => {
    const cell: Cell<Lamp & { name: "off" }, LampEvent & { type: "press" }, Lamp, LampEvent> = to(
      "on",
      (state, event, m, from) => {
        expectTypeOf(state).toEqualTypeOf<Lamp & { name: "off" }>();
        expectTypeOf(event.watts).toBeNumber();
        expectTypeOf(m.reply).parameter(0).toBeBoolean();
        expectTypeOf(from).toEqualTypeOf<ReplyTo<boolean>>();
        return m.next(
          { name: "on", watts: event.watts },
          m.reply(true),
          m.stateTimeout(5, { type: "reset" }),
        );
      },
    );
    expect(cell).toBeDefined();
  });

  it("are errors where a handler does what it did not declare [B20]", () => {
    const misuse = async (system: System): Promise<void> => {
      const cells: StatesOf<Lamp, LampEvent>["off"]["on"] = {
        // @ts-expect-error "on" is not declared
        press: (_state, { watts }, m) => m.next({ name: "on", watts }),
        // @ts-expect-error a cast has no reply
        reset: (_state, _event, m) => m.keep(m.reply(true)),
      };
      const others: StatesOf<Lamp, LampEvent>["off"]["on"] = {
        // @ts-expect-error there is no such state
        press: to("broken", (_state, _event, m) => m.keep()),
        // @ts-expect-error a state is more than its name
        reset: to("on", (_state, _event, m) => m.next({ name: "on" })),
      };
      const words: StatesOf<Lamp, LampEvent>["off"]["on"] = {
        // @ts-expect-error a call that is ignored would wait for its timeout
        press: "ignore",
        // @ts-expect-error nobody would hear of a refused cast
        reset: "refuse",
      };
      // @ts-expect-error the handler of an event is missing
      const lacking: StatesOf<Lamp, LampEvent>["off"]["on"] = { press: "refuse" };
      const state: StatesOf<Lamp, LampEvent>["off"] = {
        // @ts-expect-error an enter may not change the state
        enter: (_state, _previous, m) => m.next({ name: "on", watts: 5 }),
        on: { press: "postpone", reset: "ignore" },
      };
      const moves: StatesOf<Lamp, LampEvent>["off"] = {
        // @ts-expect-error an enter may not postpone
        enter: (_state, _previous, m) => m.keep(m.postpone()),
        on: {
          press: "postpone",
          reset: (_state, _event, m) =>
            // @ts-expect-error a call cannot be timed: nobody would get the reply
            m.keep(m.eventTimeout(5, { type: "press", watts: 4 })),
        },
      };
      defineStateMachine<Lamp, LampEvent>({
        init: startIn("off", () => ({ name: "off" })),
        // @ts-expect-error the state "on" is missing
        states: { off: state },
      });
      const payment = await system.start(Payment, 500);
      // @ts-expect-error a call is not sent
      payment.send({ type: "status" });
      // @ts-expect-error there is no such event
      payment.cast.refund({ cents: 5 });
      // @ts-expect-error init takes a number
      await system.start(Payment, "500");
      expect([cells, others, words, lacking, moves]).toBeDefined();
    };
    expect(misuse).toBeTypeOf("function");
  });
});
