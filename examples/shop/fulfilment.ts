// The fulfilment of one order: reserve, charge, pick, label, ship. Each step writes a fact when it is done, and a fulfilment that
// is restarted goes on after the last fact. A step that is done twice has one effect, since it names its order.

import {
  type Context,
  type DynamicSupervisorRef,
  defineServer,
  dispatch,
  dynamicSupervisor,
  ignore,
  NameTakenError,
  ready,
  type ServerDefinition,
  type Stop,
  type SupervisorDefinition,
  type System,
  stop,
} from "signalbox";
import type { PoolRef } from "signalbox/service";
import type { JournalRef } from "./journal.js";
import type { Fact, Order } from "./order.js";
import type { Partners } from "./partners.js";
import type { Patient } from "./patience.js";
import { type Paid, Payment } from "./payment.js";
import type { Pickers } from "./picking.js";
import { OutOfStockError, type StockRef } from "./stock.js";

/** What a fulfilment works with. */
export interface Tools {
  readonly system: System;
  readonly journal: JournalRef;
  readonly stock: StockRef;
  readonly pickers: Pickers;
  readonly labels: PoolRef<typeof import("./label-worker.js")>;
  readonly partners: Partners;
  readonly patient: Patient;
}

/** How often fulfilments may crash within a second before their supervisor gives up. */
const INTENSITY = 1_000;

type Definition = ServerDefinition<[order: Order], Record<never, never>, Record<never, never>>;

/** A supervisor of the fulfilments of all open orders. */
export function fulfilments(tools: Tools): SupervisorDefinition<DynamicSupervisorRef<readonly [Order]>> {
  return dynamicSupervisor({
    label: "fulfilments",
    intensity: INTENSITY,
    periodMs: 1_000,
    report: false,
    child: { id: "fulfilment", start: fulfilment(tools), restart: "transient" },
  });
}

function fulfilment(tools: Tools): Definition {
  return defineServer({
    label: "fulfilment",
    init: (ctx: Context<unknown>, order: Order) => {
      try {
        ctx.register(`order ${order.id}`);
      } catch (error) {
        // The order is being worked on.
        if (error instanceof NameTakenError) return ignore;
        throw error;
      }
      return ready({}, { continue: () => fulfil(ctx, tools, order) });
    },
  });
}

async function fulfil(ctx: Context<unknown>, tools: Tools, order: Order): Promise<Stop> {
  const { system, journal, stock, pickers, labels, partners, patient } = tools;
  const { id } = order;
  const write = (fact: Fact): Promise<Fact> => patient(() => journal.call.append(fact));
  const facts = await patient(() => journal.call.facts(id));

  if (facts.reserved === undefined) {
    const shortage = await patient(() => stock.call.reserve(order)).then(() => undefined, shortageOf);
    if (shortage !== undefined) {
      await write({ type: "refused", id, why: shortage.message });
      return stop();
    }
    await write({ type: "reserved", id });
  }
  if (facts.charged === undefined) {
    const paid = await pay(ctx, tools, order);
    if (paid.type === "declined") {
      await write({ type: "refused", id, why: paid.why });
      await patient(() => stock.call.release(id));
      return stop();
    }
    await write({ type: "charged", id, receipt: paid.receipt });
  }
  if (facts.picked === undefined) {
    const { deliveredTo } = await dispatch(ctx, pickers, system.envelope(order, { id }));
    await write({ type: "picked", id, picker: deliveredTo });
  }
  const label = facts.labelled?.label ?? (await patient(() => labels.run.print(order)));
  await write({ type: "labelled", id, label });
  const parcel = await partners.ship.with({ signal: ctx.signal })(order, label);
  await write({ type: "shipped", id, parcel });
  return stop();
}

/** A payment is a process of its own, linked: if it crashes, the fulfilment does, and asks again. */
async function pay(ctx: Context<unknown>, { partners }: Tools, order: Order): Promise<Paid> {
  const payment = await ctx.start(Payment, order, partners.charge);
  const paid = await payment.with({ timeoutMs: PAYMENT_MS, from: ctx }).call.pay();
  payment.stop("normal");
  return paid;
}

/** How long a payment may take, with all its attempts. */
const PAYMENT_MS = 20_000;

function shortageOf(error: unknown): OutOfStockError {
  if (error instanceof OutOfStockError) return error;
  throw error;
}
