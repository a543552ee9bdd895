// The answer to the exercise of docs/course/09-at-least-once.md: a till that charges each key once.

import { defineServer, type Refusal, refuse, type ServerDefinition } from "signalbox";

/** Keys that the till remembers. A caller that repeats a charge after so many others pays again. */
export const KEPT_KEYS = 1_000;

/** A key came a second time, with another amount. */
export class KeyReusedError extends Error {
  override readonly name = "KeyReusedError";
}

interface Charge {
  readonly cents: number;
  readonly receipt: string;
}

interface State {
  total: number;
  receipts: number;
  readonly charges: Map<string, Charge>;
}

/** What the till answers. */
type Calls = {
  charge: (state: State, key: string, cents: number) => string | Refusal;
  total: (state: State) => number;
};

/** Takes money, once for each key: a repeated charge gets the first receipt. */
export const Till: ServerDefinition<[], Calls, Record<never, never>> = defineServer({
  init: (): State => ({ total: 0, receipts: 0, charges: new Map() }),
  calls: {
    charge: (state: State, key: string, cents: number) => {
      const known = state.charges.get(key);
      if (known !== undefined) {
        if (known.cents === cents) return known.receipt;
        return refuse(new KeyReusedError(`${key} was charged with ${known.cents} cents, not ${cents}`));
      }
      state.total += cents;
      state.receipts += 1;
      const receipt = `receipt ${state.receipts}: ${cents}`;
      state.charges.set(key, { cents, receipt });
      // A Map keeps its keys in the order of their arrival: the first is the oldest.
      for (const oldest of state.charges.keys()) {
        if (state.charges.size <= KEPT_KEYS) break;
        state.charges.delete(oldest);
      }
      return receipt;
    },
    total: ({ total }: State) => total,
  },
});
