// One device: the readings of a meter, each counted once. Its process ends when it is silent for long, and comes back with the next reading.

import { defineServer, type ServerDefinition, stop } from "signalbox";

/** What is known of a device. */
export interface Totals {
  /** The number of the last reading. */
  readonly last: number;
  readonly sum: number;
}

/** Where the totals are safe: a table of a database, or a fake of a test. */
export interface Store {
  load(id: string): Promise<Totals | undefined>;
  /** Does nothing when `last` is not above the one that is stored: a process that is gone may write late. */
  save(id: string, totals: Totals): Promise<void>;
}

export const LIMITS = {
  /** Processes of devices at a time. */
  maxDevices: 20_000,
  /** A device that sends nothing for so long has no process. */
  idleMs: 600_000,
  /** Readings that wait for one device. */
  maxWaiting: 100,
} as const;

interface State {
  readonly id: string;
  readonly store: Store;
  totals: Totals;
}
type Calls = { report(state: State, n: number, value: number): Promise<void> };

export const Device: ServerDefinition<[id: string, store: Store], Calls, Record<never, never>> = defineServer(
  {
    label: "device",
    mailbox: { capacity: LIMITS.maxWaiting, overflow: "reject" },
    init: async (_ctx: unknown, id: string, store: Store): Promise<State> => ({
      id,
      store,
      totals: (await store.load(id)) ?? { last: 0, sum: 0 },
    }),
    calls: {
      async report(state: State, n: number, value: number) {
        if (n <= state.totals.last) return; // sent again, since its answer was lost
        const totals = { last: n, sum: state.totals.sum + value };
        await state.store.save(state.id, totals); // first safe, then counted
        state.totals = totals;
      },
    },
    idle: () => stop(),
    idleMs: LIMITS.idleMs,
  },
);
