// The payment machine that the specs of state machines ask: a card is charged, and meanwhile a refund has to wait.

import { type Call, defineStateMachine, type StateMachineDefinition, startIn, to } from "signalbox";

export type PaymentState =
  | { readonly name: "waiting"; readonly cents: number }
  | { readonly name: "charging"; readonly cents: number; readonly card: string }
  | { readonly name: "paid"; readonly cents: number; readonly receipt: string }
  | { readonly name: "declined"; readonly why: string };

export type PaymentEvent =
  | Call<{ readonly type: "pay"; readonly card: string }, "charging">
  | Call<{ readonly type: "refund"; readonly cents: number }, number>
  | Call<{ readonly type: "status" }, string>
  | { readonly type: "charged"; readonly receipt: string }
  | { readonly type: "failed"; readonly why: string }
  | { readonly type: "tooLate" };

/** How long the bank may take, in milliseconds. */
export const BANK_MS = 30_000;

export const Payment: StateMachineDefinition<PaymentState, PaymentEvent, [cents: number]> =
  defineStateMachine<PaymentState, PaymentEvent, [cents: number]>({
    init: startIn("waiting", (_m, cents) => ({ name: "waiting", cents })),
    states: {
      waiting: {
        on: {
          pay: to("charging", ({ cents }, { card }, m) =>
            m.next({ name: "charging", cents, card }, m.reply("charging")),
          ),
          refund: "refuse",
          status: ({ name }, _event, m) => m.keep(m.reply(name)),
          charged: "ignore",
          failed: "ignore",
          tooLate: "ignore",
        },
      },
      charging: {
        enter: (_state, _previous, m) => m.keep(m.stateTimeout(BANK_MS, { type: "tooLate" })),
        on: {
          pay: "refuse",
          refund: "postpone",
          status: ({ name }, _event, m) => m.keep(m.reply(name)),
          charged: to("paid", ({ cents }, { receipt }, m) => m.next({ name: "paid", cents, receipt })),
          failed: to("declined", (_state, { why }, m) => m.next({ name: "declined", why })),
          tooLate: to("declined", (_state, _event, m) => m.next({ name: "declined", why: "too late" })),
        },
      },
      paid: {
        on: {
          pay: "refuse",
          refund: (state, { cents }, m) =>
            cents > state.cents
              ? m.keep(m.refuse(new RangeError(`only ${state.cents} cents were paid`)))
              : m.next({ ...state, cents: state.cents - cents }, m.reply(state.cents - cents)),
          status: ({ name }, _event, m) => m.keep(m.reply(name)),
          charged: "ignore",
          failed: "ignore",
          tooLate: "ignore",
        },
      },
      declined: {
        on: {
          pay: to("charging", (_state, { card }, m) =>
            m.next({ name: "charging", cents: 0, card }, m.reply("charging")),
          ),
          refund: "refuse",
          status: ({ why }, _event, m) => m.keep(m.reply(`declined: ${why}`)),
          charged: "ignore",
          failed: "ignore",
          tooLate: "ignore",
        },
      },
    },
    label: "payment",
  });
