// One device: the readings of a meter, each counted once, and the connection that it was last seen on. Its process runs on one node.

import {
  type Context,
  type DownSignal,
  defineServer,
  type Pid,
  type ServerDefinition,
  stop,
} from "signalbox";

/** What is known of a device. */
export interface Totals {
  /** The number of the last reading. */
  readonly last: number;
  readonly sum: number;
}

/** Where the totals are safe: a table of a database that all nodes reach, or a fake of a test. */
export interface Store {
  load(id: string): Promise<Totals | undefined>;
  /** Rejects unless the stored `last` is `expected`: another process of the device may have written, here or on another node. */
  save(id: string, totals: Totals, expected: number): Promise<void>;
}

export const LIMITS = {
  /** Processes of devices at a time, on one node. */
  maxDevices: 20_000,
  /** A device that sends nothing for so long has no process. */
  idleMs: 600_000,
  /** Readings that wait for one device. */
  maxWaiting: 100,
} as const;

/** To the process of a connection, wherever it runs. */
export interface Command {
  readonly command: string;
}

interface State {
  readonly id: string;
  readonly store: Store;
  totals: Totals;
  connection: Pid<Command> | undefined;
}
interface Scope {
  readonly ctx: Context<unknown>;
}
type Calls = {
  report(this: Scope, state: State, n: number, value: number, from: Pid<Command>): Promise<void>;
  /** False: the device has no connection now. */
  command(this: Scope, state: State, command: string): boolean;
};

export const Device: ServerDefinition<[id: string, store: Store], Calls, Record<never, never>> = defineServer(
  {
    label: "device",
    mailbox: { capacity: LIMITS.maxWaiting, overflow: "reject" },
    init: async (_ctx: Context<unknown>, id: string, store: Store): Promise<State> => ({
      id,
      store,
      totals: (await store.load(id)) ?? { last: 0, sum: 0 },
      connection: undefined,
    }),
    calls: {
      async report(state: State, n: number, value: number, from: Pid<Command>) {
        if (state.connection !== from) {
          state.connection = from;
          this.ctx.monitor(from); // on whichever node it is
        }
        const { last, sum } = state.totals;
        if (n <= last) return; // sent again, since its answer was lost
        const totals = { last: n, sum: sum + value };
        await state.store.save(state.id, totals, last); // first safe, then counted
        state.totals = totals;
      },
      command({ connection }: State, command: string) {
        if (connection !== undefined) this.ctx.send(connection, { command });
        return connection !== undefined;
      },
    },
    signals: {
      /** The connection has ended, or the node of the connection is lost. */
      down: (state: State, { pid }: DownSignal) => {
        if (state.connection === pid) state.connection = undefined;
      },
    },
    idle: () => stop(),
    idleMs: LIMITS.idleMs,
  },
);
