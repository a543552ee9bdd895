// What `deduplicate` promises to the adapters behind it: in its own route, and in the route behind its queue.

import { deduplicate, definePipeline, pipelineHost, queue, route } from "signalbox/pipeline";
import { memory } from "signalbox/store";
import { simulate } from "signalbox/testing";
import { expect, test } from "vitest";

test("the route behind it gets one message of each key, though the next adapter is called again [Y323]", async () => {
  await simulate(async (sim) => {
    const orders = queue<string>("orders");
    const firsts = queue<string>("firsts");
    const called: string[] = [];
    const got: string[] = [];
    const retry = { attempts: 3, backoff: { minMs: 1, maxMs: 1 } };
    const sift = route("sift", { from: orders, concurrency: 4, retry })
      .via(deduplicate<string>("once", { key: (order) => order }))
      .via("next", (order) => {
        called.push(order);
        if (called.filter((one) => one === order).length === 1) throw new Error("not yet");
        return order;
      })
      .to(firsts);
    const work = route("work", { from: firsts }).via("note", (order) => {
      got.push(order);
      return undefined;
    });
    const pipeline = definePipeline("sifting", { routes: [sift, work] });
    const host = await sim
      .system({ name: "shop" })
      .start(pipelineHost({ store: memory(), pipelines: [pipeline] }));
    const run = await host.start(pipeline, { messages: { to: orders, values: ["a", "b", "a", "b", "a"] } });
    expect(await run.completed()).toMatchObject({ dead: 0 });
    expect(called.length).toBeGreaterThan(new Set(called).size);
    expect(got.sort()).toEqual(["a", "b"]);
  });
});
