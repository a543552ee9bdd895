// Starts: many at once, the same one again, and those whose answer does not come.

import {
  defineFlow,
  type FlowHost,
  FlowInputDiffersError,
  FlowOutcomeUnknownError,
  type FlowRun,
} from "signalbox/flow";
import { flowKit } from "signalbox/testing";
import { describe, expect, it, test } from "vitest";
import { HeldSource } from "../../support/held-store.js";

const echo = defineFlow("echo", async (flow, input: unknown) => flow.step("echo", () => input));
const waits = defineFlow("waits", (flow, _: unknown) => flow.receive<unknown>("go"));
const anew = defineFlow("anew", async (flow, n: number): Promise<number> => {
  if (n > 0) flow.continueAsNew(n - 1);
  return n;
});

describe("a start under the id of a flow that is there", () => {
  it("attaches to it if its input is the same, and is refused else unless it says so [J284]", async () => {
    await using kit = await flowKit({ flows: [echo, waits, anew] });
    const start = (input: unknown, attach?: boolean): Promise<FlowRun<unknown>> =>
      kit.clock.until(kit.host.start(echo, input, { id: "one", ...(attach && { attach }) }));
    await start({ a: 1, b: [new Date(2), 3] });
    expect((await start({ b: [new Date(2), 3], a: 1 })).attached).toBe(true);
    for (const other of [{ a: 1 }, { a: 1, b: [new Date(3), 3] }, undefined]) {
      await expect(start(other)).rejects.toThrow(FlowInputDiffersError);
      expect((await start(other, true)).attached).toBe(true);
    }
    // What it has begun anew with is not what it was started with.
    await kit.clock.until(kit.host.start(anew, 3, { id: "anew" }));
    await kit.settle();
    expect((await kit.clock.until(kit.host.start(anew, 3, { id: "anew" }))).attached).toBe(true);
  });
});

describe("many starts", () => {
  test("of one call have their flows once each, in the order of the inputs [J285]", async () => {
    await using kit = await flowKit({ flows: [echo] });
    const inputs = Array.from({ length: 2_500 }, (_, i) => ({ id: `n${i}`, input: i }));
    const runs = await kit.clock.until(kit.host.startMany(echo, inputs));
    expect(runs.map(({ id, attached }) => [id, attached])).toEqual(inputs.map(({ id }) => [id, false]));
    const ends = await kit.clock.until(Promise.all(runs.map((run) => run.result())));
    expect(ends).toEqual(inputs.map(({ input }) => input));
    const again = await kit.clock.until(kit.host.startMany(echo, inputs.slice(0, 1_500)));
    expect(again.every(({ attached }) => attached)).toBe(true);
    const others = kit.host.startMany(echo, [{ id: "n0", input: "other" }]);
    await expect(kit.clock.until(others)).rejects.toThrow(FlowInputDiffersError);
  });

  test("of one call up to a start that is refused are started, page by page [J383]", async () => {
    await using kit = await flowKit({ flows: [echo] });
    const inputs = Array.from({ length: 2_500 }, (_, i) => ({ id: `n${i}`, input: i }));
    const refused = [...inputs.slice(0, 2_200), { id: "", input: 0 }, ...inputs.slice(2_200)];
    await expect(kit.clock.until(kit.host.startMany(echo, refused))).rejects.toThrow("starts[2200].id");
    await kit.settle();
    const runs = await kit.clock.until(kit.host.startMany(echo, inputs));
    expect(runs.map(({ attached }) => attached)).toEqual(inputs.map((_, i) => i < 2_000));
  });

  test("are durable when they are answered, and run in the next life of the host [J285]", async () => {
    await using kit = await flowKit({ flows: [echo] });
    const inputs = Array.from({ length: 1_200 }, (_, i) => ({ id: `n${i}`, input: i }));
    await kit.clock.until(kit.host.startMany(echo, inputs));
    await kit.crash();
    expect(await kit.get("n1199").result()).toBe(1_199);
  });

  test("at once wait for their turn, and none times out [J286]", async () => {
    const store = new HeldSource();
    await using kit = await flowKit({ flows: [echo], store });
    store.hold();
    const all = Promise.all(Array.from({ length: 2_000 }, (_, i) => kit.host.start(echo, i)));
    await kit.settle();
    const most = store.most;
    store.release();
    expect((await kit.clock.until(all)).length).toBe(2_000);
    expect(most).toBe(500);
  });
});

describe("an operation whose answer does not come", () => {
  const OPERATIONS: Readonly<Record<string, (host: FlowHost) => Promise<unknown>>> = {
    start: (host) => host.start(echo, 1),
    send: (host) => host.get("there").send("go", 1),
    cancel: (host) => host.get("there").cancel(),
    kill: (host) => host.get("there").kill(),
    pause: (host) => host.get("there").pause(),
    observation: (host) => host.hospital.observe("there", "why"),
  };

  test.each(Object.entries(OPERATIONS))(
    "%s: ends behind the time of its store, as unknown, and names the flow [J287]",
    async (name, operation) => {
      for (const unreachableMs of [undefined, 60_000]) {
        const store = new HeldSource(unreachableMs);
        await using kit = await flowKit({ flows: [echo, waits], store });
        await kit.start(waits, 1, { id: "there" });
        store.hold();
        let error: unknown = "no answer yet";
        operation(kit.host).catch((thrown: unknown) => {
          error = thrown;
        });
        await kit.advance(unreachableMs ?? 30_000);
        expect(error).toBe("no answer yet");
        await kit.advance("5 seconds");
        expect(error).toBeInstanceOf(FlowOutcomeUnknownError);
        const { operation: asked, flowId } = error as FlowOutcomeUnknownError;
        expect(asked).toBe(name);
        // It takes place when the store goes on: the id leads to it.
        store.release();
        await kit.settle();
        expect((await kit.clock.until(kit.host.get(flowId).info())).id).toBe(flowId);
      }
    },
  );
});
