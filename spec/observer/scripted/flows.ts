// Flows in every status, at one host.

import {
  type AnyFlow,
  defineFlow,
  type FlowHost,
  type FlowHostDefinition,
  flowHost,
  schedule,
} from "signalbox/flow";
import type { StoreSource } from "signalbox/store";
import { TEXTS } from "./hostile.js";

const forEver = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

const parcel = defineFlow("parcel", async (flow, to: string) => {
  await flow.step("label", () => `a label for ${to}`);
  await flow.sleep("10 ms");
  return `sent to ${to}`;
});

const order = defineFlow("order", async (flow, item: string) => {
  await flow.step("reserve", () => ({ item, shelf: TEXTS.markup }));
  let attempts = 0;
  await flow.step(
    "charge",
    () => {
      if (++attempts < 3) throw new Error(`the bank is busy, attempt ${attempts}`);
      return "receipt-1";
    },
    { retry: { attempts: 5, backoff: { minMs: 1, maxMs: 5 } } },
  );
  await flow.call(parcel, item);
  const approval = await flow.receive<{ by: string }>("approval", { timeout: "7 days" });
  return `${item}, approved by ${approval?.by}`;
});

const counting = defineFlow("counting", (flow, to: number) =>
  flow.step("count", (step) => {
    step.heartbeat({ counted: Math.floor(to / 2), of: to });
    return forEver(step.signal);
  }),
);
const resting = defineFlow("resting", async (flow) => {
  await flow.sleep("12 hours");
});
const failing = defineFlow("failing", async (flow, why: string) => {
  await flow.step("fail", () => {
    throw new Error(why);
  });
});
const ill = defineFlow("ill", { onError: "hospital" }, async (flow, why: string) => {
  await flow.step("operate", () => {
    throw new TypeError(why);
  });
});

const FLOWS: readonly AnyFlow[] = [parcel, order, counting, resting, failing, ill];

export function flowsOf(store: StoreSource, socket: string): FlowHostDefinition {
  const weekly = schedule("weekly", { every: "7 days", flow: resting, missed: "all" });
  const paused = schedule("paused", { every: "1 day", flow: resting, overlap: "skip" });
  return flowHost({
    ...{ name: "flows", store, socket, flows: FLOWS, schedules: [weekly, paused] },
    queues: { slow: { concurrency: 1, perKey: { concurrency: 1 } } },
  });
}

/** A host with a store of its own, beside the first one. */
export function pastOf(store: StoreSource): FlowHostDefinition {
  return flowHost({ name: "past", store, socket: false, flows: FLOWS });
}

/** A flow of the second store has the id of one in the first, and another does not. */
export async function leadPast(flows: FlowHost): Promise<void> {
  await flows.start(resting, undefined, { id: "resting" });
  await flows.start(resting, undefined, { id: "long-ago" });
}

/** Starts flows, and leads each to its status. */
export async function lead(flows: FlowHost): Promise<void> {
  const done = await flows.start(order, "tea", { id: "order-done" });
  await done.send("approval", { by: "Ada" });
  await done.result();
  await flows.start(order, TEXTS.markup, { id: "order-waiting" });
  await flows.start(counting, 1_000, { id: "counting-running" });
  await flows.start(resting, undefined, { id: "resting" });
  await flows.start(ill, TEXTS.script, { id: "ill" });
  for (const [id, why] of [
    ["failed", "no such account"],
    ["failed-hostile", TEXTS.markup],
  ] as const) {
    const run = await flows.start(failing, why, { id });
    await run.result().catch(() => undefined);
  }
  // The second one waits for its turn.
  for (const id of ["slow-1", "slow-2"])
    await flows.start(counting, 10, { id, queue: "slow", key: TEXTS.markup });
  await flows.schedules.trigger("weekly");
  await flows.schedules.pause("paused");
  const paused = await flows.start(order, "cups", { id: "order-paused" });
  await paused.pause();
  const cancelled = await flows.start(order, "pots", { id: "order-cancelled" });
  await cancelled.cancel();
  await cancelled.result().catch(() => undefined);
  const killed = await flows.start(counting, 5, { id: "counting-killed" });
  await killed.kill();
}
