// Changes of schedules whose sender was killed between its commit and its notice: the hosts of their flows find them by themselves.

import { expect, test } from "vitest";
import { defineFlow, openFlowOperations, schedule } from "../../../lib/flow/index.js";
import { memory } from "../../../lib/store/index.js";
import { bench } from "../runtime/bench.js";
import { deafening } from "../runtime/deafening.js";

const MINUTE = 60_000;

test("a schedule that was resumed by a sender that notified nobody starts its flow at the next due time [N1516]", async () => {
  const ran: string[] = [];
  const report = defineFlow("report", async (flow, name: string) => {
    await flow.step("write", () => void ran.push(name));
  });
  const often = (name: string) =>
    schedule(name, { every: "1 min", missed: "skip", flow: report, input: name });
  const shared = memory({ shared: true });
  const store = deafening(shared);
  await using deaf = await bench([report], { store: store.source, schedules: [often("resumed")] });
  const operations = await deaf.until(openFlowOperations(deaf.system, shared));
  await deaf.until(operations.pauseSchedule("resumed"));
  await deaf.clock.advance(MINUTE);
  store.deaf = true;
  await deaf.clock.advance(MINUTE);
  expect(ran).toEqual([]);
  await deaf.until(operations.resumeSchedule("resumed"));
  await deaf.clock.advance(2 * MINUTE + 10_000);
  expect(ran).toEqual(["resumed", "resumed"]);
  await deaf.until(operations.close());
});
