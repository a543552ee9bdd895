// Keys over programs that are killed and stopped, over real servers of NATS and PostgreSQL.

import { keyedSchema } from "signalbox/nodes";
import { describe, expect, it } from "vitest";
import { keyedStates } from "../../../lib/node/keyed/key-entry.js";
import { PostgresBench } from "../../store/postgres/bench.js";
import { type Child, childProgram } from "../../support/child-program.js";
import { noNats, startNats } from "../../support/nats.js";
import { describePostgres } from "../../support/postgres.js";
import { proving } from "../../support/proof.js";

/** As many messages as reach each key of the program twice. */
const ROUND = 24;
const ACKNOWLEDGED = /acknowledged (\S+) (\S+);/g;

/** Waits until a program has so many further messages acknowledged. */
async function goesOn(child: Child, name: string): Promise<void> {
  const last = [...child.printed().matchAll(ACKNOWLEDGED)].at(-1)?.[2] ?? `${name}.0`;
  await child.prints(` ${name}.${Number(last.split(".")[1]) + ROUND};`);
}

/** It waits for the real time of leases. */
const onServers = proving && noNats === undefined ? describePostgres : describe.skip;

onServers("keys of programs on servers", () => {
  const bench = new PostgresBench(keyedSchema);

  it("go on elsewhere after kill -9, and after SIGSTOP; what was acknowledged is there once, also when the one that was stopped goes on [N1363]", async () => {
    await using server = await startNats();
    const place = bench.place();
    const program = await childProgram(new URL("../../support/programs/keyed-node.ts", import.meta.url));
    try {
      const start = (name: string): Child =>
        program.start(JSON.stringify(bench.server.connection), place, server.address, name);
      const [a, b, c] = [start("a"), start("b"), start("c")];
      await Promise.all([goesOn(a, "a"), goesOn(b, "b"), goesOn(c, "c")]);
      b.signal("SIGKILL");
      await goesOn(a, "a");
      c.signal("SIGSTOP");
      await goesOn(a, "a");
      c.signal("SIGCONT");
      await Promise.all([goesOn(a, "a"), goesOn(c, "c")]);
      const printed = [a, b, c].flatMap((child) => [...child.printed().matchAll(ACKNOWLEDGED)]);
      a.signal("SIGKILL");
      c.signal("SIGKILL");
      const store = await bench.opened(bench.server.connection, { schema: place });
      const rows = await store.scan(keyedStates, { prefix: ["log"] });
      const idsOf = new Map(rows.map(({ key, state }) => [key, JSON.parse(String(state)) as string[]]));
      for (const ids of idsOf.values()) expect(new Set(ids).size).toBe(ids.length);
      for (const [, key = "", id] of printed) expect(idsOf.get(key)).toContain(id);
      expect(idsOf.size).toBe(12);
      expect(printed.length).toBeGreaterThan(4 * ROUND);
    } finally {
      program.remove();
    }
  });
});
