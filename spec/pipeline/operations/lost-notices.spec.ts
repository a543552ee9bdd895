// A wait for the outcome of an execution at a shared store whose notice was lost: the host that committed was killed before it notified.

import { System } from "signalbox";
import { openPipelineOperations } from "signalbox/pipeline";
import { memory } from "signalbox/store";
import { testClock } from "signalbox/testing";
import { expect, onTestFinished, test } from "vitest";
import { pipelineHost } from "../../../lib/pipeline/host.js";
import { deafening } from "../../flow/runtime/deafening.js";
import { lines, pipeline, SLOW } from "./answer-drills.js";

test("the outcome of an execution whose notice was lost is found at the next look, some seconds later [N1514]", async () => {
  const shared = memory({ shared: true });
  const store = deafening(shared);
  const clock = testClock();
  const system = new System({ environment: clock.environment, report: false });
  onTestFinished(() => clock.until(system.stop()).then(() => undefined));
  const host = await clock.until(
    system.start(pipelineHost({ pipelines: [pipeline], store: shared, drainMs: 10 })),
  );
  const run = await clock.until(host.start(pipeline, { id: "x", messages: { to: lines, values: [SLOW] } }));
  const operations = await clock.until(openPipelineOperations(system, store.source));
  store.deaf = true;
  let status: string | undefined;
  void operations.outcome("x").then((summary) => {
    status = summary.status;
  });
  await clock.advance(100);
  await clock.until(run.cancel());
  await clock.advance(6_000);
  expect(status).toBe("cancelled");
  await clock.until(operations.close());
});
