// What a host does not hear of, and finds all the same.

import { describe, expect, it } from "vitest";
import { defineFlow } from "../../../lib/flow/index.js";
import { memory } from "../../../lib/store/index.js";
import { watched } from "../defects/support.js";
import { bench } from "./bench.js";
import { deafening } from "./deafening.js";

const endless = defineFlow("endless", (flow, _: undefined) =>
  flow.step("endless", () => new Promise(() => undefined)),
);

describe("a host whose connection to the store was replaced", () => {
  it("carries out what was wanted of the flows in memory meanwhile [J24]", async () => {
    const store = deafening(memory());
    await using b = await bench([endless], { store: store.source });
    const run = await b.until(b.flows.start(endless, undefined));
    store.deaf = true;
    await b.until(run.kill());
    await b.clock.advance(60_000);
    expect(await b.until(run.info())).toMatchObject({ status: "running" });
    store.deaf = false;
    store.again();
    await expect(b.until(run.result())).rejects.toMatchObject({ status: "killed" });
  });
});

const mailed = defineFlow("mailed", (flow, _: undefined) => flow.receive<string>("word"));

describe("a wait for the end of a flow at another host", () => {
  it("comes to its end, although the other host was killed before it told anybody [J24]", async () => {
    const shared = memory({ shared: true });
    await using other = await bench([mailed], { store: shared });
    const store = deafening(shared);
    await using b = await bench([mailed], { store: store.source, clock: other.clock });
    const run = await other.until(other.flows.start(mailed, undefined, { id: "m" }));
    let end: unknown;
    void b.flows
      .get("m")
      .result()
      .then((value) => {
        end = value;
      });
    await other.clock.advance(100);
    store.deaf = true;
    await other.until(run.send("word", "done"));
    expect(await other.until(run.result())).toBe("done");
    await other.clock.advance(10_000);
    expect(end).toBe("done");
  });
});

describe("a wish", () => {
  it("that comes while its flow is taken is carried out [J24]", async () => {
    let late: (() => Promise<unknown>) | undefined;
    const first = await bench([endless]);
    await first.until(first.flows.start(endless, undefined, { id: "e" }));
    await first[Symbol.asyncDispose]();
    const source = watched(first.store, async (method, [set]) => {
      const isTaking =
        method === "commit" && JSON.stringify((set as { writes: unknown }).writes).includes("taken_at");
      if (!isTaking || late === undefined) return;
      const act = late;
      late = undefined;
      await act();
    });
    await using other = await bench([], { store: first.store, clock: first.clock });
    late = () => other.flows.get("e").kill();
    await using b = await bench([endless], { store: source, clock: first.clock });
    await expect(b.until(b.flows.get("e").result())).rejects.toMatchObject({ status: "killed" });
  });
});
