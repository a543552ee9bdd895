// What the evidence of a host says, for people: of one that runs, and of one that has left its evidence beside the file of a store.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { System } from "signalbox";
import { defineFlow, flowHost, openFlowOperations } from "signalbox/flow";
import {
  definePipeline,
  openPipelineOperations,
  openQueues,
  pipelineHost,
  queue,
  route,
} from "signalbox/pipeline";
import { sqlite } from "signalbox/store";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { chosenOf } from "../../../lib/admin/protocol.js";
import { offeredBy } from "../../../lib/admin/system/offered.js";
import { initial } from "../../../lib/host/evidence/evidence-machine.js";
import { evidenceView } from "../../../lib/host/evidence/evidence-view.js";
import { evidenceBeside } from "../../../lib/host/index.js";

const NOTHING = {
  ...{ marks: [], shortLives: { lives: 0, longestMs: 0 }, isWatched: false, isCarrying: false, others: [] },
};

let file: string;
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-view-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  file = join(folder, "orders.db");
});

/** What a host left that is dead: no process has this pid. */
function left(name: string, lives: string): void {
  const slot = join(`${file}.evidence`, name);
  mkdirSync(slot, { recursive: true });
  writeFileSync(join(slot, "pid"), "999999999");
  writeFileSync(join(slot, "lives"), lives);
}

function system(): System {
  const made = new System({ report: false });
  onTestFinished(() => made.stop({ timeoutMs: 0 }));
  return made;
}

const mark = { subject: "flow:a", kind: "uncaught", at: 5, life: 2 } as const;

describe("the evidence for people", () => {
  test("has accusations, suspicions and a search, in bounded lists [N1556]", () => {
    const many = Array.from({ length: 300 }, (_, i) => `flow:${i}`);
    const view = evidenceView(
      "flows",
      {
        ...initial(),
        ...{ life: 4, marks: [mark], stood: { subject: "flow:b", times: 2 }, isWatched: true },
        search: {
          ...{ from: 0, to: 9, isSecond: true, sinceMs: 0, voids: 0 },
          tested: many,
          accused: ["flow:1"],
        },
      },
      many.map((subject) => ({ host: "h", subject, times: 1, charged: 0, at: 1 })),
    );
    expect(view).toMatchObject({
      ...{ host: "flows", life: 4, marks: [mark], stood: { subject: "flow:b", times: 2 }, isWatched: true },
      search: { accused: ["flow:1"] },
    });
    expect([view.search?.tested.length, view.others.length]).toEqual([100, 100]);
  });

  test("is read beside a file without a host, of the wanted kind, and damaged files say nothing [N1556]", () => {
    expect([evidenceBeside(file, "flows"), evidenceBeside(undefined, "flows")]).toEqual([[], []]);
    left("flows-0", JSON.stringify({ ...initial(), life: 3, marks: [mark], token: 7, host: "x" }));
    left("flows-east-1", JSON.stringify({ ...initial(), life: 1 }));
    left("pipelines-0", JSON.stringify({ ...initial(), life: 9 }));
    left("flows-2", "{");
    left("flows-3", JSON.stringify({ life: "x", marks: [] }));
    left("flows-4", JSON.stringify({ life: 1, marks: [], search: {} }));
    left("flows-5", JSON.stringify({ ...initial(), life: 8, cleared: ["x".repeat(2_000_000)] }));
    expect(evidenceBeside(file, "flows")).toEqual([
      { ...NOTHING, host: "flows", life: 3, marks: [mark] },
      { ...NOTHING, host: "flows", life: 1, search: { tested: [], accused: [] } },
      { ...NOTHING, host: "flows-east", life: 1 },
    ]);
  });

  test("is asked of hosts that run, and of the file alone, with the ids of executions [N1556]", async () => {
    const on = system();
    const greet = defineFlow("greet", async () => undefined);
    const lines = queue<string>("lines");
    const print = definePipeline("print", { routes: [route("print", { from: lines })] });
    const store = sqlite(file);
    const stop = { subject: "message:1/1.1", kind: "exit", at: 5, life: 2 } as const;
    left("flows-0", JSON.stringify({ ...initial(), life: 3, marks: [mark] }));
    left("pipelines-0", JSON.stringify({ ...initial(), life: 5, marks: [stop] }));
    const host = await on.start(flowHost({ store, flows: [greet], socket: false }));
    const pipelines = await on.start(pipelineHost({ store, pipelines: [print], socket: false }));
    const queues = await openQueues(on, { store, socket: false });
    await pipelines.start(print, { id: "one" });
    const accused = { ...stop, subject: "message:one/1.1" };
    const ofFlows = [{ host: "flows", life: 4, marks: [mark] }];
    const ofPipelines = [{ host: "pipelines", life: 6, marks: [accused] }];
    const { run } = await chosenOf(offeredBy(on.kernel), "evidence", {});
    expect(await run({}, new AbortController().signal)).toMatchObject(ofFlows);
    expect(await pipelines.operations.evidence()).toMatchObject(ofPipelines);
    expect(await queues.operations.evidence()).toMatchObject([{ host: "queues", life: 1, marks: [] }]);
    await queues.close();
    await pipelines.stop();
    await host.stop();
    await using aloneFlows = await openFlowOperations(on, store);
    await using alonePipelines = await openPipelineOperations(on, store);
    expect(await aloneFlows.evidence()).toMatchObject(ofFlows);
    expect(await alonePipelines.evidence()).toMatchObject(ofPipelines);
  });
});
