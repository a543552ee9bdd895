// One device: the readings of a meter, each counted once, and the connection that it was last seen on. Its process runs on one node.

import {
  type Context,
  type DownSignal,
  defineServer,
  type Pid,
  type ServerDefinition,
  stop,
} from "signalbox";
import { type ClusterNode, type KeyEntry, type Keyed, keyed } from "signalbox/nodes";
import type { Store } from "signalbox/store";

/** What is known of a device. It is safe in the store. */
export interface Totals {
  /** The number of the last reading. */
  readonly last: number;
  readonly sum: number;
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

const NOTHING: Totals = { last: 0, sum: 0 };

interface State {
  readonly entry: KeyEntry<Totals>;
  connection: Pid<Command> | undefined;
}
interface Scope {
  readonly ctx: Context<unknown>;
}
type Calls = {
  /** `n` is counted by the device from 1, so that a reading which is sent twice counts once. */
  report(this: Scope, state: State, n: number, value: number, from: Pid<Command>): Promise<void>;
  totals(this: Scope, state: State): Totals;
  /** False: the device has no connection now. */
  command(this: Scope, state: State, command: string): boolean;
};

export const Device: ServerDefinition<[entry: KeyEntry<Totals>], Calls, Record<never, never>> = defineServer({
  label: "device",
  mailbox: { capacity: LIMITS.maxWaiting, overflow: "reject" },
  init: (_ctx: Context<unknown>, entry: KeyEntry<Totals>): State => ({ entry, connection: undefined }),
  calls: {
    async report(state: State, n: number, value: number, from: Pid<Command>) {
      if (state.connection !== from) {
        state.connection = from;
        this.ctx.monitor(from); // on whichever node it is
      }
      const { last, sum } = state.entry.state ?? NOTHING;
      if (n > last) await state.entry.save({ last: n, sum: sum + value });
    },
    totals: ({ entry }: State) => entry.state ?? NOTHING,
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
});

export type Devices = Keyed<typeof Device>;

// #region devices
/** The devices of all nodes. A device has one process, on the node that holds the lease of its shard. */
export function devicesOf(node: ClusterNode, store: Store): Devices {
  return keyed(node, { name: "device", store, start: Device, maxKeys: LIMITS.maxDevices });
}
// #endregion devices
