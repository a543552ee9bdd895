// The durable schedules of a shop: they survive restarts, and each says what happens to times that were missed.

import { defineFlow, type FlowHostDefinition, flowHost, schedule } from "signalbox/flow";
import type { StoreSource } from "signalbox/store";

/** The work. Each function is called at least once for each due time: it has to bear a repetition. */
export interface Work {
  /** @param night - the due time, such as `2020-01-02T01:30:00.000Z` */
  report(night: string): Promise<void>;
  reorder(due: string): Promise<void>;
  greet(due: string): Promise<void>;
}

/** A child of a supervisor. Run it on as many hosts as you like: each due time starts one flow over all of them. */
export function shopSchedules(store: StoreSource, work: Work): FlowHostDefinition {
  const report = defineFlow("report", { queue: "reports" }, async (flow) => {
    await flow.step("write", () => work.report(dueOf(flow.flowId)));
  });
  const reorder = defineFlow("reorder", async (flow) => {
    await flow.step("order", () => work.reorder(dueOf(flow.flowId)));
  });
  const greet = defineFlow("greet", async (flow) => {
    await flow.step("send", () => work.greet(dueOf(flow.flowId)));
  });
  return flowHost({
    store,
    flows: [report, reorder, greet],
    // One report at a time, over all hosts: after a long break several nights are due at once.
    queues: { reports: { concurrency: 1 } },
    schedules: [
      // Each night needs its report, however late.
      schedule("nightly", { cron: "30 2 * * *", timeZone: "Europe/Amsterdam", missed: "all", flow: report }),
      // The last one is enough, and one that still runs is not joined by another.
      schedule("reorder", { every: "6 hours", missed: "last", overlap: "skip", flow: reorder }),
      // Nobody wants this morning's greeting in the afternoon.
      schedule("morning", { cron: "0 8 * * 1-5", timeZone: "Europe/Amsterdam", missed: "skip", flow: greet }),
    ],
  });
}

/** The id of a scheduled flow is `name/due time`. */
function dueOf(flowId: string): string {
  return flowId.slice(flowId.indexOf("/") + 1);
}
