// A plain read: the owner of a register holds a lease, and answers from its memory when its machine has stood still for longer than that.

import { defineServer, refuse } from "signalbox";
import { type Lease, singleton } from "signalbox/nodes";
import { openStore, type Store } from "signalbox/store";
import { assertLinearizable, OperationHistory, type SimulatedNode } from "signalbox/testing";
import type { Planted } from "./planted.js";

export const plainRead: Planted = {
  bug: "read after the lease",
  wrong:
    "the owner of a register answers from its memory, and does not ask whether its lease is still held: its machine may have stood still",
  code: "ERR_NOT_LINEARIZABLE",
  says: "no order explains the answer",
  faults: { nodePause: { of: "a", forMs: [3_000] } },
  scenario: (wrong) => async (sim) => {
    const source = sim.store({ shared: true });
    /** What the store holds. Only the owner of the register writes. */
    let kept = 0;
    const Register = defineServer({
      init: (_ctx, lease: Lease, store: Store) => ({ lease, store, value: kept }),
      calls: {
        read: ({ lease, value }) =>
          wrong || lease.isHeld ? value : refuse(new Error("the lease is not held")),
        write: async (state, value: number) => {
          await state.store.commit({ claim: state.lease, writes: [] });
          kept = state.value = value;
          return true;
        },
      },
    });
    const boot = async (machine: SimulatedNode) => {
      const system = machine.system();
      const store = await openStore(system, source, []);
      return system.start(
        singleton(system, { name: "register", lease: store, start: Register, args: [store] }),
      );
    };
    const history = new OperationHistory<number | "read", number | boolean>();
    sim.calm();
    const first = await sim.node("a", boot).ready();
    await sim.sleep(0);
    const a = await first.here();
    sim.storm();
    await sim.sleep(2_600);
    const second = await sim.node("b", boot).ready();
    await sim.sleep(0);
    const b = await second.here();
    if (a === undefined || b === undefined) return;
    await history.run("bob", 1, () => b.call.write(1));
    await history.run("ann", "read", () => a.call.read()).catch(() => 0);
    assertLinearizable(history, {
      initial: 0,
      apply: (value: number, op): [number, number | boolean] => (op === "read" ? [value, value] : [op, true]),
    });
  },
};
