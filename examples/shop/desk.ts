// The desk: has a fulfilment started for every open order. It looks through the journal when it starts, when an order comes in, and
// every so often: so whatever crashes, an accepted order is found again.

import {
  type Context,
  type DynamicSupervisorRef,
  defineServer,
  type ServerDefinition,
  type ServerRef,
} from "signalbox";
import type { JournalRef } from "./journal.js";
import type { Order } from "./order.js";
import type { Patient } from "./patience.js";

/** How often the desk looks for orders that nobody works on. */
const LOOK_MS = 500;

export interface DeskTools {
  readonly journal: JournalRef;
  readonly patient: Patient;
  readonly fulfilments: DynamicSupervisorRef<readonly [Order]>;
}

interface State extends DeskTools {
  readonly ctx: Context<unknown>;
}

type Casts = {
  /** An order is in the journal, and is to be fulfilled. */
  accepted(state: State, order: Order): void;
};

export type DeskRef = ServerRef<Record<never, never>, Casts>;

export const Desk: ServerDefinition<[tools: DeskTools], Record<never, never>, Casts> = defineServer({
  label: "desk",
  init: async (ctx: Context<unknown>, tools: DeskTools): Promise<State> => {
    const state = { ...tools, ctx };
    await look(state);
    ctx.sendInterval(ctx.self, "look", LOOK_MS);
    return state;
  },
  casts: { accepted: (state, order) => begin(state, order) },
  info: (state) => look(state),
});

async function look(state: State): Promise<void> {
  const open = await state.patient(() => state.journal.call.open());
  for (const order of open)
    if (state.ctx.whereis(`order ${order.id}`) === undefined) await begin(state, order);
}

async function begin({ fulfilments, patient }: State, order: Order): Promise<void> {
  await patient(() => fulfilments.startLike([order]));
}
