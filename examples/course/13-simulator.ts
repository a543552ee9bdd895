// The answer to the exercise of docs/course/13-simulator.md: a shelf that trusts its customers, one that does not, and the scenario that
// tells them apart.

import { defineServer, type Refusal, refuse, type ServerDefinition } from "signalbox";
import type { Scenario, Simulation } from "signalbox/testing";

interface State {
  left: number;
}
type Calls = {
  left: (state: State) => number;
  take: (state: State) => number | Refusal;
};
type ShelfDefinition = ServerDefinition<[start: number], Calls, Record<never, never>>;

/** Somebody was faster. */
export class SoldOutError extends Error {
  override readonly name = "SoldOutError";
}

const init = (_ctx: unknown, start: number): State => ({ left: start });
const left = (state: State): number => state.left;

/** Takes what it is asked for: between a caller's question and its order, another caller may come. */
export const TrustingShelf: ShelfDefinition = defineServer({
  init,
  calls: { left, take: (state: State) => --state.left },
});

/** Looks and takes in one message, in which nobody can come between. */
export const Shelf: ShelfDefinition = defineServer({
  init,
  calls: {
    left,
    take: (state: State) => (state.left === 0 ? refuse(new SoldOutError("sold out")) : --state.left),
  },
});

/** Two customers want the last tin. @param Kind - of shelf: {@link TrustingShelf} or {@link Shelf} */
export function lastTin(Kind: ShelfDefinition): Scenario {
  return async (sim: Simulation) => {
    const system = sim.system({ name: "shop" });
    const shelf = await system.start(Kind, 1);
    const customers = ["ada", "bob"].map((name) =>
      system.spawn(
        async (ctx) => {
          const asks = shelf.with({ from: ctx }).call;
          if ((await asks.left()) === 0) return;
          await asks.take().catch((error: unknown) => {
            if (!(error instanceof SoldOutError)) throw error;
          });
        },
        { label: name },
      ),
    );
    for (const customer of customers) await system.exited(customer);
    const end = await shelf.call.left();
    if (end !== 0) throw new Error(`${end} tins left`);
  };
}
