// The payment of one order, as a state machine: due, charging, and then paid or declined. A customer who asks again while the
// card is being charged waits for the same answer.

import {
  type Call,
  defineStateMachine,
  type ReplyTo,
  type StateMachineDefinition,
  type StateMachineRef,
  startIn,
  to,
} from "signalbox";
import type { Order } from "./order.js";
import type { Charge } from "./partners.js";

/** How a payment has ended. */
export type Paid =
  | { readonly type: "paid"; readonly receipt: string }
  | { readonly type: "declined"; readonly why: string };

type State =
  | { readonly name: "due"; readonly order: Order; readonly charge: Charge }
  | { readonly name: "charging"; readonly payer: ReplyTo<Paid> }
  | { readonly name: "settled"; readonly paid: Paid };

type Event = Call<{ readonly type: "pay" }, Paid> | { readonly type: "answered"; readonly paid: Paid };

export type PaymentRef = StateMachineRef<Event>;

export const Payment: StateMachineDefinition<State, Event, [order: Order, charge: Charge]> =
  defineStateMachine<State, Event, [order: Order, charge: Charge]>({
    label: "payment",
    init: startIn("due", (_m, order, charge) => ({ name: "due", order, charge })),
    // The token of the card is nobody's business.
    format: (state) => ({ name: state.name }),
    states: {
      due: {
        on: {
          pay: to("charging", ({ order, charge }, _event, m, payer) =>
            m.next(
              { name: "charging", payer },
              // A bank that cannot be reached crashes the payment. The order asks again: the bank charges an order once.
              m.task(async (ctx) => ({
                type: "answered",
                paid: await charge.with({ signal: ctx.signal })(order),
              })),
            ),
          ),
          answered: "ignore",
        },
      },
      charging: {
        on: {
          pay: "postpone",
          answered: to("settled", ({ payer }, { paid }, m) =>
            m.next({ name: "settled", paid }, m.replyTo(payer, paid)),
          ),
        },
      },
      settled: {
        on: {
          pay: ({ paid }, _event, m) => m.keep(m.reply(paid)),
          answered: "ignore",
        },
      },
    },
  });
