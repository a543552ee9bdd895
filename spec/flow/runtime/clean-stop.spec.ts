// A host that stops in order, as on SIGTERM, gives back its claim and its flows. Nobody waits for its lease.

import { System } from "signalbox";
import { defineFlow, flowHost } from "signalbox/flow";
import { memory, pglite, postgres, type StoreSource } from "signalbox/store";
import { describe, expect, it, onTestFinished } from "vitest";
import { runsOnPglite, sharedPglite } from "../../support/pglite.js";
import { describePostgres, startPostgres } from "../../support/postgres.js";
import { proving } from "../../support/proof.js";

/** Longer than any test waits. */
const LEASE_MS = 600_000;

async function takesOver(first: StoreSource, second: StoreSource): Promise<void> {
  let attempts = 0;
  let begun = (): void => undefined;
  const isBegun = new Promise<void>((go) => {
    begun = go;
  });
  const gate = defineFlow<string, string, { go: string }>("gate", (flow) => flow.receive("go"));
  const nap = defineFlow("nap", async (flow) => {
    await flow.sleep(1);
    return "rested";
  });
  const stuck = defineFlow("stuck", (flow) =>
    flow.step("work", async () => {
      attempts++;
      begun();
      // The first attempt hears no signal, and outlives the drain.
      if (attempts === 1) await new Promise<void>(() => undefined);
      return attempts;
    }),
  );
  const open = async (store: StoreSource) => {
    const system = new System({ report: false });
    onTestFinished(() => system.stop());
    const definition = flowHost({ store, flows: [gate, nap, stuck], socket: false, limits: { drainMs: 50 } });
    return { system, host: await system.start(definition) };
  };
  const one = await open(first);
  for (const id of ["a", "b", "c"]) await one.host.start(gate, "", { id });
  await one.host.start(stuck, undefined, { id: "stuck" });
  await isBegun;
  await one.host.start(nap, undefined, { id: "nap" });
  const other = await open(second);
  await one.system.stop();
  await Promise.all(["a", "b", "c"].map((id) => other.host.get(id).send("go", id)));
  const results = ["a", "b", "c", "nap", "stuck"].map((id) => other.host.get(id).result());
  expect(await Promise.all(results)).toEqual(["a", "b", "c", "rested", 2]);
}

it("all flows of a host that stopped go on at another one that was there before [N365]", async () => {
  const source = memory();
  await takesOver(source, source);
});

describe.runIf(runsOnPglite(proving))("on PGlite", () => {
  it("all flows of a host that stopped go on at another one, whatever its lease was [N365]", async () => {
    const source = pglite(await sharedPglite(), { schema: "clean_stop_flows", leaseMs: LEASE_MS });
    await takesOver(source, source);
  }, 60_000);
});

describePostgres("on PostgreSQL", () => {
  it("all flows of a host that stopped go on at another one, whatever its lease was [N365]", async () => {
    await using server = await startPostgres();
    const source = (): StoreSource => postgres(server.connection, { leaseMs: LEASE_MS });
    await takesOver(source(), source());
  }, 60_000);
});
