// A lost commit: the database has committed, its answer is lost, and the service does the whole transaction again.

import type { Planted } from "./planted.js";

interface Row {
  cents: number;
  /** Transactions that have changed the row. */
  readonly by: Set<string>;
}

export const lostCommit: Planted = {
  bug: "lost commit",
  wrong: "a service takes a commit without an answer for one that failed, and pays in once more",
  code: "ERR_SIM_INVARIANT",
  says: "the money is there once",
  scenario: (wrong) => async (sim) => {
    const row: Row = { cents: 0, by: new Set() };
    const failures = [new Error("the connection was reset")];
    const commit = sim.io(
      "db.commit",
      (id: string, cents: number) => {
        row.cents += cents;
        row.by.add(id);
      },
      { failures, latencyMs: [0, 20] },
    );
    const hasCommitted = sim.io("db.hasCommitted", (id: string) => row.by.has(id));
    const payIn = async (id: string, cents: number): Promise<void> => {
      try {
        await commit(id, cents);
      } catch {
        if (wrong || !(await hasCommitted(id))) await payIn(id, cents);
      }
    };
    const system = sim.system({ name: "shop" });
    system.spawn(() => payIn("t1", 500), { label: "till" });
    await sim.until("the money is paid in", () => row.cents > 0);
    sim.finally("the money is there once", () => row.cents === 500);
    await sim.sleep(1_000);
  },
};
