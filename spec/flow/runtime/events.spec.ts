// What flows publish with `flow.emit`, and who reads it: from the first event or a later one, while the flow runs and afterwards, on any host.

import { OptionError, type System, supervisor } from "signalbox";
import {
  defineFlow,
  type FlowEvent,
  FlowNotFoundError,
  FlowWaitTimeoutError,
  flowHost,
  openFlowOperations,
} from "signalbox/flow";
import { memory } from "signalbox/store";
import { testClock } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { explored } from "../../support/proof.js";
import { bench } from "./bench.js";

/** Publishes before and after each of three messages. */
const parcel = defineFlow("parcel", async (flow, text: string) => {
  for (let n = 1; n <= 3; n++) {
    await flow.emit("at", n);
    const word = await flow.receive<string>("go");
    await flow.emit("word", `${text}${word}`);
  }
  return "over";
});

async function all<T>(events: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const event of events) found.push(event);
  return found;
}
const values = (events: readonly FlowEvent[]): unknown[] => events.map(({ value }) => value);
const EVENTS = [1, "xa", 2, "xb", 3, "xc"];

describe("the events of a flow", () => {
  it("are read in their order, while it runs and when it has ended [J61]", async () => {
    await using at = await bench([parcel]);
    const run = await at.until(at.flows.start(parcel, "x", { id: "one" }));
    const followed = all(run.events());
    const words = all(run.events({ topic: "word" }));
    for (const word of "abc") await at.until(run.send("go", word));
    const events = await at.until(followed);
    expect(values(events)).toEqual(EVENTS);
    expect(values(await at.until(words))).toEqual(["xa", "xb", "xc"]);
    expect(events.map(({ topic }) => topic)).toEqual(["at", "word", "at", "word", "at", "word"]);
    expect(await at.until(run.result())).toBe("over");
    expect(await at.until(all(run.events()))).toEqual(events);
    const third = events[2]?.position ?? 0;
    expect(await at.until(all(run.events({ after: third })))).toEqual(events.slice(3));
    expect(await at.until(all(run.events({ after: third, topic: "at", follow: false })))).toEqual([
      events[4],
    ]);
  });

  it("are those that are there, without `follow`; and waits end", async () => {
    await using at = await bench([parcel]);
    const run = await at.until(at.flows.start(parcel, "x", { id: "one" }));
    await at.until(at.system.idle());
    expect(values(await at.until(all(run.events({ follow: false }))))).toEqual([1]);
    const begin = at.clock.now;
    await expect(at.until(all(run.events({ timeoutMs: 25_000 })))).rejects.toThrow(
      new FlowWaitTimeoutError("one", 25_000, "publish an event"),
    );
    expect(at.clock.now - begin).toBe(25_000);
    const controller = new AbortController();
    const given = all(run.events({ signal: controller.signal }));
    await at.until(at.system.idle());
    controller.abort(new Error("enough"));
    await expect(at.until(given)).rejects.toThrow("enough");
    await expect(at.until(all(at.flows.get("two").events()))).rejects.toThrow(FlowNotFoundError);
    for (const bad of [{ after: -1 }, { topic: "" }, { follow: 1 }, { timeoutMs: -1 }, { from: 1 }])
      await expect(at.until(all(run.events(bad as never)))).rejects.toThrow(OptionError);
  });

  it("may be large or nothing, and come page by page", async () => {
    const long = "x".repeat(300_000);
    const many = defineFlow("many", async (flow) => {
      await flow.emit("long", long);
      await flow.emit("nothing", undefined);
      await Promise.all(Array.from({ length: 1_100 }, (_, n) => flow.emit("n", n)));
    });
    await using at = await bench([many], { clock: testClock({ turns: 100_000 }) });
    const run = await at.until(at.flows.start(many, undefined, { id: "one" }));
    const events = await at.until(all(run.events()));
    expect(values(events)).toEqual([long, undefined, ...Array.from({ length: 1_100 }, (_, n) => n)]);
  });

  it("are read by another host, and by operations on the store", async () => {
    const store = memory({ shared: true });
    await using at = await bench([parcel], { store });
    await using other = await bench([], { store, clock: at.clock });
    const operations = await at.until(openFlowOperations(other.system, store));
    const run = await at.until(at.flows.start(parcel, "x", { id: "one" }));
    const there = all(other.flows.get("one").events());
    const here = all(operations.events("one"));
    for (const word of "abc") await at.until(run.send("go", word));
    expect(values(await at.until(there))).toEqual(EVENTS);
    expect(values(await at.until(here))).toEqual(EVENTS);
    await at.until(operations.close());
  });

  it("come once each, whenever hosts are killed [J61]", async () => {
    await explored(
      async (sim) => {
        sim.calm();
        const store = sim.store({});
        const system = sim.system({ name: "shop" });
        const host = flowHost({ store, flows: [parcel], name: "flows" });
        await system.start(
          supervisor({ label: "root", intensity: 1_000, children: [{ id: "flows", start: host }] }),
        );
        sim.storm();
        const flows = host.at(system, "flows");
        await again(system, () => flows.start(parcel, "x", { id: "one" }));
        const seen: unknown[] = [];
        let after = 0;
        const reading = again(system, async () => {
          for await (const event of flows.get("one").events({ after })) {
            after = event.position;
            seen.push(event.value);
          }
        });
        for (const word of "abc")
          await again(system, () => flows.get("one").send("go", word, { messageId: word }));
        await reading;
        expect(seen).toEqual(EVENTS);
      },
      {
        ...{ quick: 8, seed: 3, share: 0.1 },
        faults: { crash: { of: "shop/root/flows", atMost: 2, reason: "kill" } },
      },
    );
  });
});

/** Until no crash of the host comes in between. */
async function again<T>(system: System, act: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (!["ERR_CALLEE_EXITED", "ERR_NO_PROCESS"].includes((error as { code: string }).code)) throw error;
      await system.idle();
    }
  }
}
