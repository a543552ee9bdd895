// The stock: what lies on the shelves and for whom it is reserved. After a crash it is counted anew from the journal.

import { type Context, defineServer, refuse, type ServerDefinition, type ServerRef } from "signalbox";
import type { JournalRef } from "./journal.js";
import type { Order } from "./order.js";

/** How many pieces of each article there are. */
export type Levels = Readonly<Record<string, number>>;

/** There are not enough pieces of an article. */
export class OutOfStockError extends Error {
  override readonly name = "OutOfStockError";
  constructor(sku: string, wanted: number, left: number) {
    super(`${wanted} of ${sku} wanted, ${left} left`);
  }
}

interface State {
  readonly left: Map<string, number>;
  readonly held: Map<string, Order>;
}

type Calls = {
  /** Reserves all lines of an order, or none. Reserving again changes nothing. */
  reserve(state: State, order: Order): undefined | ReturnType<typeof refuse>;
  /** Gives back what is reserved for an order. */
  release(state: State, id: string): undefined;
  left(state: State): Levels;
};

export type StockRef = ServerRef<Calls, Record<never, never>>;

export const Stock: ServerDefinition<
  [initially: Levels, journal: JournalRef],
  Calls,
  Record<never, never>
> = defineServer({
  label: "stock",
  init: async (_ctx: Context<never>, initially: Levels, journal: JournalRef): Promise<State> => {
    const state: State = { left: new Map(Object.entries(initially)), held: new Map() };
    for (const order of await journal.call.holding()) take(state, order);
    return state;
  },
  calls: {
    reserve: (state, order) => {
      if (state.held.has(order.id)) return undefined;
      for (const [sku, wanted] of needsOf(order)) {
        const left = state.left.get(sku) ?? 0;
        if (left < wanted) return refuse(new OutOfStockError(sku, wanted, left));
      }
      take(state, order);
      return undefined;
    },
    release: (state, id) => {
      const order = state.held.get(id);
      if (order === undefined || !state.held.delete(id)) return undefined;
      for (const [sku, count] of needsOf(order)) state.left.set(sku, (state.left.get(sku) ?? 0) + count);
      return undefined;
    },
    left: ({ left }) => Object.fromEntries(left),
  },
});

function take(state: State, order: Order): void {
  state.held.set(order.id, order);
  for (const [sku, count] of needsOf(order)) state.left.set(sku, (state.left.get(sku) ?? 0) - count);
}

/** What an order needs of each article: two lines may name the same one. */
export function needsOf({ lines }: Order): ReadonlyMap<string, number> {
  const needs = new Map<string, number>();
  for (const { sku, count } of lines) needs.set(sku, (needs.get(sku) ?? 0) + count);
  return needs;
}
