// Which labels metrics have: names of definitions, registries and routes, never keys.

import { defineServer, Registry, System, supervisor } from "signalbox";
import { defineFlow, flowHost } from "signalbox/flow";
import { definePipeline, done, openQueues, pipelineHost, queue, route } from "signalbox/pipeline";
import { pool, prometheus, telemetry } from "signalbox/service";
import { memory } from "signalbox/store";
import { describe, expect, it } from "vitest";
import { MAX_METHODS } from "../../../lib/service/telemetry/options.js";
import { TOOLS, type Tools } from "../pool/support.js";
import { parseExposition } from "./exposition.js";

const Order = defineServer({
  label: "order",
  init: (_ctx, _id: string) => ({ paid: false }),
  calls: { isPaid: ({ paid }) => paid },
  casts: { pay: () => undefined },
});

const Stock = defineServer({ label: "stock", init: () => ({}), calls: { count: () => 1 } });

/** All values of labels on a page, but those of the system. */
function valuesOn(page: string): Set<string> {
  const values = new Set<string>();
  for (const { samples } of parseExposition(page).values())
    for (const { labels } of samples)
      for (const [label, value] of Object.entries(labels))
        if (label !== "system" && label !== "le") values.add(value);
  return values;
}

describe("labels", () => {
  it("are no keys that outsiders ask for: the real ones keep their series [L16]", async () => {
    await using system = new System({ name: "shop", report: false });
    await using metrics = prometheus(system);
    await using stream = telemetry(system);
    const heard: string[] = [];
    stream.subscribe("call:begin", ({ label }) => void heard.push(label));
    const orders = new Registry<string>(system, { name: "orders" });
    for (let i = 0; i < 300; i++) {
      await Order.at(system, orders.via(`unknown-${i}`))
        .call.isPaid()
        .catch(() => undefined);
      await Order.at(system, `unknown-${i}`)
        .call.isPaid()
        .catch(() => undefined);
      Order.at(system, orders.via(`unknown-${i}`)).cast.pay();
      Order.at(system, `unknown-${i}`).cast.pay();
    }
    const stock = await system.start(Stock);
    await stock.call.count();
    expect(new Set(heard)).toEqual(new Set(["orders", "unregistered", "stock"]));
    const values = valuesOn(metrics.text());
    expect([...values].filter((value) => value.includes("unknown"))).toEqual([]);
    expect(values).toContain("stock");
    expect(values).not.toContain("other");
  });

  it("leave the series of others alone when a pool is asked for jobs that it does not have [L16]", async () => {
    await using system = new System({ name: "shop", report: false });
    await using metrics = prometheus(system);
    const tools = await system.start(pool<Tools>(TOOLS, { size: 1, label: "tools" }));
    const run = tools.run as unknown as Record<string, () => Promise<unknown>>;
    for (let i = 0; i < 300; i++) await run[`made-up-${i}`]?.().catch(() => undefined);
    const stock = await system.start(Stock);
    await stock.call.count();
    const calls = parseExposition(metrics.text()).get("signalbox_calls_total")?.samples ?? [];
    // Each method has a series for the replies, and one for the refusals.
    expect(calls).toHaveLength(2 * (MAX_METHODS + 1) + 1);
    expect(calls.map(({ labels }) => labels.label)).toContain("stock");
    await tools[Symbol.asyncDispose]();
  });

  it("are no ids of durable flows [L16]", async () => {
    await using system = new System({ name: "shop", report: false });
    await using metrics = prometheus(system);
    const stays = defineFlow("stays", (flow) => flow.step("wait", () => new Promise<void>(() => undefined)));
    const crashes = defineFlow("crashes", async () => {
      throw new Error("spilled");
    });
    const flows = await system.start(flowHost({ name: "flows", store: memory(), flows: [stays, crashes] }));
    for (let i = 0; i < 5; i++) {
      await flows.start(stays, undefined, { id: `key-${i}` });
      const run = await flows.start(crashes, undefined, { id: `key-crash-${i}` });
      await run.result().catch(() => undefined);
    }
    await system.idle();
    const values = [...valuesOn(metrics.text())];
    expect(values.filter((value) => value.includes("key"))).toEqual([]);
    expect(values).toContain("flow stays");
    system.exit("flows", "kill");
  });

  it("are no ids of executions, messages and envelopes [L16]", async () => {
    await using system = new System({ name: "shop", report: false });
    await using metrics = prometheus(system);
    const lines = queue<string>("lines");
    const pipeline = definePipeline("print", {
      routes: [route("print", { from: lines }).via("out", () => undefined)],
    });
    const host = await system.start(pipelineHost({ pipelines: [pipeline] }));
    const run = await host.start(pipeline, { id: "key-1", messages: { to: lines, values: ["a"] } });
    await run.completed();
    const queues = await openQueues(system, { store: memory() });
    const orders = queues.queue<string>("orders");
    let handled = (): void => undefined;
    const isHandled = new Promise<void>((resolve) => {
      handled = resolve;
    });
    const subscriber = await orders.subscribe({}, () => {
      handled();
      return done;
    });
    await orders.publish("a", { id: "key-2" });
    await isHandled;
    await subscriber.stop();
    const values = [...valuesOn(metrics.text())];
    expect(values.filter((value) => value.includes("key"))).toEqual([]);
    expect(values).toContain("execution print");
  });

  it("are no ids of children that were added to a supervisor, which may be keys [L16]", async () => {
    await using system = new System({ name: "shop", report: false });
    await using metrics = prometheus(system);
    const floor = await system.start(supervisor({ label: "floor", intensity: 1_000, children: [] }));
    for (let i = 0; i < 30; i++) {
      await floor.startChild({ id: `order-${i}`, start: Order, args: [`${i}`], name: `order-${i}` });
      await Order.at(system, `order-${i}`).call.isPaid();
      system.exit(`order-${i}`, new Error("spilled"));
    }
    await system.idle();
    const values = valuesOn(metrics.text());
    expect([...values].filter((value) => value.startsWith("order"))).toEqual(["order"]);
  });
});
