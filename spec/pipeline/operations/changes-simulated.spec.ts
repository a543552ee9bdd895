// People give up and move messages of a pipeline whose hosts run, and die, at whichever step: the counts are those of the rows, and the
// execution completes once nothing is left.

import type { PipelineHost } from "signalbox/pipeline";
import type { Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { decodeEntry } from "../../../lib/pipeline/ledger/lineage.js";
import { lineage, messages } from "../../../lib/pipeline/ledger/tables.js";
import { explored, proving } from "../../support/proof.js";
import { audited, reading } from "../simulated/audit.js";
import { hostOn } from "../simulated/hosts.js";
import { Job } from "../simulated/job.js";
import { end, start } from "../simulated/play.js";

function reached(sim: Simulation, label: string, holds: boolean): void {
  if (proving) sim.sometimes(label, holds);
}

/** What is asked may come too late, or its host may die under it. */
async function asked(request: () => Promise<{ readonly messages: number }>): Promise<number> {
  try {
    return (await request()).messages;
  } catch {
    return 0;
  }
}

const REASON = "it is in the way";

describe.each([false, true])("a pipeline in a store that several hosts share: %s", (shared) => {
  it("adds up and completes, whatever people give up and move while its processes are killed [Y475]", async () => {
    await explored(
      async (sim) => {
        const job = new Job();
        const source = sim.store({ shared });
        sim.calm();
        const hosts = [await hostOn(sim, "shop", source, [job.pipeline as never])];
        if (shared) hosts.push(await hostOn(sim, "store", source, [job.pipeline as never]));
        const store = await reading(sim.system({ name: "reader" }), source);
        sim.storm();
        const find = async (): Promise<PipelineHost> => hosts[0] as PipelineHost;
        await start(sim, job, find, "one");
        let [givenUp, moved] = [0, 0];
        for (let i = 1 + sim.choose(3, "changes"); i > 0; i--) {
          await sim.sleep(sim.oneOf([0, 1, 3, 10], "until the change"));
          const live = await store.scan(messages, {});
          const { id } = live[sim.choose(Math.max(1, live.length), "message")] ?? {};
          const run = (hosts[sim.choose(hosts.length, "the host that is asked")] as PipelineHost).get("one");
          const what = sim.choose(4, "change");
          if (what === 0 && id !== undefined)
            givenUp += await asked(() => run.giveUp({ messages: [id], reason: REASON }));
          if (what === 1 && id !== undefined)
            moved += await asked(() => run.move({ to: "gather", messages: [id] }));
          if (what === 2) givenUp += await asked(() => run.giveUp({ queues: ["parts"], reason: REASON }));
          if (what === 3) await asked(() => run.giveUp({ sources: ["reader"], reason: REASON }));
        }
        const { status, pending } = await end(sim, find, "one");
        expect({ status, pending }).toEqual({ status: "completed", pending: 0 });
        sim.calm();
        const row = await audited(store, "one");
        const entries = (await store.scan(lineage, { prefix: [row.number] })).map(({ id, entry }) =>
          decodeEntry(id, entry),
        );
        const dropped = entries.filter((one) => one.status === "dropped").length;
        expect(row.dropped ?? 0).toBe(dropped);
        expect(dropped).toBeGreaterThanOrEqual(givenUp);
        await store.close();
        reached(sim, "something was given up", givenUp > 0);
        reached(sim, "something was moved", moved > 0);
      },
      {
        quick: 6,
        share: 0.2,
        seed: 475,
        faults: { crash: { of: "shop/root/**", atMost: 2, reason: "kill" } },
      },
    );
  });
});
