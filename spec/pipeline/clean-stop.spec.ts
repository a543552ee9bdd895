// A host that stops in order, as on SIGTERM, gives back its claim and its messages. Nobody waits for its lease.

import { System } from "signalbox";
import { definePipeline, pipelineHost, queue, route } from "signalbox/pipeline";
import { pglite, postgres, type StoreSource } from "signalbox/store";
import { describe, expect, it, onTestFinished } from "vitest";
import { runsOnPglite, sharedPglite } from "../support/pglite.js";
import { describePostgres, startPostgres } from "../support/postgres.js";
import { proving } from "../support/proof.js";

/** Longer than any test waits. */
const LEASE_MS = 600_000;
const INPUTS = 50;

const numbers = queue<number>("numbers");

/** A host whose calls end at once, or never. */
async function open(store: StoreSource, isStuck: boolean) {
  const system = new System({ report: false });
  onTestFinished(() => system.stop());
  let begun = (): void => undefined;
  const isBegun = new Promise<void>((go) => {
    begun = go;
  });
  const work = route("work", { from: numbers, concurrency: 4 }).via("work", async () => {
    begun();
    if (isStuck) await new Promise<void>(() => undefined);
  });
  const pipeline = definePipeline("work", { routes: [work] });
  const host = await system.start(pipelineHost({ store, pipelines: [pipeline], drainMs: 50 }));
  return { system, host, pipeline, isBegun };
}

async function takesOver(first: StoreSource, second: StoreSource): Promise<void> {
  const one = await open(first, true);
  const run = await one.host.start(one.pipeline, {
    messages: { to: numbers, values: Array.from({ length: INPUTS }, (_, i) => i) },
  });
  await one.isBegun;
  await one.system.stop();
  const other = await open(second, false);
  expect(await other.host.get(run.id).completed()).toMatchObject({ done: INPUTS, dead: 0 });
}

describe.runIf(runsOnPglite(proving))("on PGlite", () => {
  it("all messages of a host that stopped go on at another one, whatever its lease was [Y363]", async () => {
    const source = pglite(await sharedPglite(), { schema: "clean_stop_pipelines", leaseMs: LEASE_MS });
    await takesOver(source, source);
  }, 60_000);
});

describePostgres("on PostgreSQL", () => {
  it("all messages of a host that stopped go on at another one, whatever its lease was [Y363]", async () => {
    await using server = await startPostgres();
    const source = (): StoreSource => postgres(server.connection, { leaseMs: LEASE_MS });
    await takesOver(source(), source());
  }, 60_000);
});
