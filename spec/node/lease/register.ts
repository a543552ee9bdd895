// A register whose owner is a singleton over a shared store: the ways in which it may answer reads, and a cluster of three machines whose
// clients read, write and compare-and-set while machines are paused, cut off and lose power.

import { defineServer, type Pid, type Refusal, refuse, type System, supervisor } from "signalbox";
import { joinCluster, type Lease, singleton, storeLeases } from "signalbox/nodes";
import { defineTable, openStore, type Schema, type Store } from "signalbox/store";
import { OperationHistory, type SequentialModel, type Simulation } from "signalbox/testing";
import { Way } from "./way.js";

/**
 * `plain`: the value in memory. `checked`: the value in memory, while `isHeld`. `fenced`: the value in memory, after a commit under the
 * lease. `stored`: the value in the store.
 */
export type ReadKind = "plain" | "checked" | "fenced" | "stored";

export type RegisterOp =
  | { readonly type: "read" }
  | { readonly type: "write"; readonly value: number }
  | { readonly type: "cas"; readonly from: number; readonly to: number };

/** A value that was read, or whether a write took effect. */
export type RegisterResult = number | boolean;

export const REGISTER: SequentialModel<number, RegisterOp, RegisterResult> = {
  initial: 0,
  apply: (value, op) => {
    if (op.type === "read") return [value, value];
    if (op.type === "write") return [op.value, true];
    return value === op.from ? [op.to, true] : [value, false];
  },
};

const values = defineTable("registers", { columns: { id: "integer", value: "integer" }, key: ["id"] });
export const SCHEMA: Schema = { name: "registers", version: 1, tables: [values] };
const NAME = "register";

interface Owner {
  readonly lease: Lease;
  readonly store: Store;
  readonly kind: ReadKind;
  value: number;
}

async function stored(store: Store): Promise<number> {
  const [row] = await store.get(values, [[1]]);
  return row?.value ?? 0;
}

/** The value that may be answered; undefined when there is none to answer. */
async function current({ lease, store, kind, value }: Owner): Promise<number | undefined> {
  if (kind === "stored") return stored(store);
  if (kind === "checked" && !lease.isHeld) return undefined;
  if (kind === "fenced") await store.commit({ claim: lease, writes: [] });
  return value;
}

const notHeld = (): Refusal => refuse(new Error("the lease is not held"));

async function write(state: Owner, value: number): Promise<true> {
  // A commit that is refused ends the owner: its value is old.
  await state.store.commit({
    claim: state.lease,
    writes: [{ type: "put", table: values, row: { id: 1, value } }],
  });
  state.value = value;
  return true;
}

const Register = defineServer({
  init: async (ctx, lease: Lease, store: Store, kind: ReadKind, began: (lease: Lease) => void) => {
    // From here on the store refuses the writes of all earlier owners, so what it has now is the last value.
    const value = await stored(store);
    ctx.register(NAME);
    began(lease);
    return { lease, store, kind, value } as Owner;
  },
  calls: {
    read: async (state) => (await current(state)) ?? notHeld(),
    write,
    cas: async (state, from: number, to: number) => {
      const value = await current(state);
      if (value === undefined) return notHeld();
      return value === from ? write(state, to) : false;
    },
  },
});

export interface RegisterWorld {
  readonly history: OperationHistory<RegisterOp, RegisterResult>;
  /** The leases of all owners so far. */
  readonly leases: readonly Lease[];
  /** The way of each machine to the store of the leases. */
  readonly ways: readonly Way[];
}

interface RegisterOptions {
  readonly kind: ReadKind;
  readonly names: readonly string[];
  /** Operations of the client on each machine. */
  readonly operations: number;
}

const PATIENCE_MS = 400;

/** Machines of one cluster: each contends for the register, and has a client of it. */
export function registers(sim: Simulation, { kind, names, operations }: RegisterOptions): RegisterWorld {
  const network = sim.network({
    latencyMs: [0, 20],
    partition: { atMost: 1, forMs: [10, 3_000], oneWay: true, silent: true },
  });
  const source = sim.store({ shared: true });
  const history = new OperationHistory<RegisterOp, RegisterResult>();
  const leases: Lease[] = [];
  const ways: Way[] = [];
  let next = 0;
  names.forEach((name, index) => {
    const way = new Way();
    ways.push(way);
    sim.node(
      name,
      async (machine) => {
        const system = machine.system();
        const node = await joinCluster(system, network);
        const store = await openStore(system, source, [SCHEMA]);
        way.to(storeLeases(store));
        const began = (lease: Lease): void => void leases.push(lease);
        const start = singleton(node, {
          name: NAME,
          lease: way,
          start: Register,
          args: [store, kind, began],
        });
        await system.start(supervisor({ children: [{ id: NAME, start }], intensity: 100 }));
        if (machine.boots > 1) return;
        system.spawn(
          async (ctx) => {
            for (let n = 0; n < operations; n++) {
              await ctx
                .receive({ timeoutMs: sim.oneOf([200, 900], "until the next operation") })
                .catch(() => 0);
              const pid = await node.whereis(NAME, { timeoutMs: PATIENCE_MS }).catch(() => undefined);
              if (pid === undefined) continue;
              const op = opOf(sim, ++next);
              await history.run(name, op, () => call(op, system, pid as Pid<never>)).catch(() => 0);
            }
          },
          { label: `client ${index}` },
        );
      },
      { clock: { jumps: { atMost: 1 } } },
    );
  });
  return { history, leases, ways };
}

function opOf(sim: Simulation, value: number): RegisterOp {
  const type = sim.oneOf<RegisterOp["type"]>(["read", "write", "cas"], "operation");
  if (type === "read") return { type };
  return type === "write" ? { type, value } : { type, from: value - 1, to: value };
}

function call(op: RegisterOp, system: System, pid: Pid<never>): Promise<RegisterResult> {
  const owner = Register.at(system, pid).with({ timeoutMs: PATIENCE_MS });
  switch (op.type) {
    case "read":
      return owner.call.read();
    case "write":
      return owner.call.write(op.value);
    case "cas":
      return owner.call.cas(op.from, op.to);
    default:
      return op satisfies never;
  }
}
