// Pipelines under the simulator: whichever process is killed at whichever step, every message is settled once and the execution
// completes. Permits are scarce, so that one that is lost would stop it.

import { supervisor } from "signalbox";
import { definePipeline, many, pipelineHost, queue, route } from "signalbox/pipeline";
import { openStore } from "signalbox/store";
import type { Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { executions, lineage, messages, PIPELINE_SCHEMA } from "../../lib/pipeline/ledger/tables.js";
import { explored } from "../support/proof.js";

const VALUES = [1, 2, 3];

/** Each number becomes two parts, which are gathered. */
function pipeline() {
  const numbers = queue<number>("numbers");
  const parts = queue<number>("parts");
  const retry = { attempts: 1_000, backoff: { minMs: 1, maxMs: 5 } };
  const split = route("split", { from: numbers, concurrency: 2, retry })
    .via("split", async (n, ctx) => {
      await ctx.sleep(n);
      return many([n, -n]);
    })
    .to(parts);
  const gather = route("gather", { from: parts, retry }).batch(
    "gather",
    { size: 4, everyMs: 3_600_000 },
    async (_all, ctx) => {
      await ctx.sleep(1);
      return undefined;
    },
  );
  return { numbers, definition: definePipeline("simulated", { routes: [split, gather], inFlight: 2 }) };
}

/** Runs one execution to its end on a supervised host, and looks at what is in the store then. */
async function played(sim: Simulation): Promise<void> {
  const { numbers, definition } = pipeline();
  const source = sim.store();
  const system = sim.system({ name: "shop" });
  sim.calm();
  const host = pipelineHost({ store: source, pipelines: [definition], name: "pipelines", drainMs: 50 });
  await system.start(
    supervisor({ label: "root", intensity: 1_000, children: [{ id: "pipelines", start: host }] }),
  );
  const handle = host.at(system, "pipelines");
  sim.storm();
  const insist = async <T>(request: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await request();
      } catch {
        await sim.sleep(50);
      }
    }
  };
  const given = { id: "one", messages: { to: numbers, values: VALUES } };
  await insist(() => handle.start(definition, given));
  const end = await insist(() => handle.get("one").completed({ timeoutMs: 60_000 }));
  expect(end).toMatchObject({ status: "completed", inputs: 3, done: 9, dead: 0, pending: 0 });
  const store = await openStore(sim.system({ name: "reader" }), source, [PIPELINE_SCHEMA]);
  const [row] = await store.scan(executions, {});
  const entries = await store.scan(lineage, {});
  expect(row).toMatchObject({ status: "completed", pending: 0, done: 9, dead: 0, inputs: 3 });
  expect([(await store.scan(messages, {})).length, entries.length]).toEqual([0, 9]);
  await store.close();
}

describe("a pipeline whose processes are killed at any step", () => {
  it("settles every message once and completes, whichever worker, processor, execution or host dies [Y31]", async () => {
    await explored(played, {
      quick: 60,
      seed: 1,
      faults: {
        crash: [
          { of: "shop/root/**", atMost: 3, reason: "kill" },
          { of: "shop/root/pipelines", atMost: 1, reason: "kill" },
        ],
      },
    });
  });
});
