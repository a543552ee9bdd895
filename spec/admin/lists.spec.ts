// Lists over the admin socket refuse what the store refuses.

import { System } from "signalbox";
import { openFlowOperations } from "signalbox/flow";
import { openPipelineOperations, type PipelineOperations } from "signalbox/pipeline";
import { memory } from "signalbox/store";
import { expect, onTestFinished, test } from "vitest";
import * as flowTable from "../../lib/flow/operations/operations-table.js";
import * as pipelineTable from "../../lib/pipeline/operations/operations-table.js";
import { collect, wireTo } from "./support/wire.js";

/** None of them is how many items a list may have. */
const LIMITS: readonly unknown[] = [0, -1, 1.5, Number.NaN, "5", null];

function system(): System {
  const made = new System({ report: false });
  onTestFinished(() => made.stop({ timeoutMs: 0 }));
  return made;
}

const refused = { remote: { name: "OptionError", code: "ERR_OPTION" } };

test("a history with a limit that is none is refused [Z696]", async () => {
  const operations = await openFlowOperations(system(), memory());
  const remote = flowTable.remoteOperations(wireTo(flowTable.flowService(operations, () => true)).ask);
  for (const limit of LIMITS)
    await expect(collect(remote.history("a", { limit: limit as number }))).rejects.toMatchObject(refused);
});

const LISTS: readonly (readonly [
  string,
  (on: PipelineOperations, limit: number) => AsyncIterable<unknown>,
])[] = [
  ["children", (on, limit) => on.children("a", "10.10", { limit })],
  ["batch", (on, limit) => on.batch("a", "10.10", { limit })],
  ["messages", (on, limit) => on.messages("a", { limit })],
  ["failures", (on, limit) => on.failures("a", { limit })],
  ["deadLetters", (on, limit) => on.deadLetters("a", { limit })],
  ["deadRecords", (on, limit) => on.deadRecords("a", { limit })],
];

test.each(LISTS)("%s with a limit that is none is refused [Z696]", async (_name, list) => {
  const operations = await openPipelineOperations(system(), memory());
  const service = pipelineTable.pipelineService(operations, () => true);
  const remote = pipelineTable.remoteOperations(wireTo(service).ask);
  for (const limit of LIMITS) {
    await expect(collect(list(operations, limit as number))).rejects.toMatchObject({ code: "ERR_OPTION" });
    await expect(collect(list(remote, limit as number))).rejects.toMatchObject(refused);
  }
});
