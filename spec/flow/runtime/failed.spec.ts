// What the error of a flow that failed says.

import { System } from "signalbox";
import { defineFlow, FlowFailedError, flowHost } from "signalbox/flow";
import { memory } from "signalbox/store";
import { describe, expect, it } from "vitest";

const LENGTH = 200;

interface Chained {
  readonly left: number;
}
const close = defineFlow("close", async () => {
  throw new Error("the bank is closed");
});
const chain = defineFlow("chain", async (flow, { left }: Chained): Promise<void> => {
  if (left === 0) return flow.call(close, undefined, { id: "last" });
  await flow.call(chain as never, { left: left - 1 }, { id: `c${left - 1}` });
});
const throwing = defineFlow("throwing", async (_flow, what: "undefined" | "object") => {
  throw what === "undefined" ? undefined : { secret: 1 };
});
const stepping = defineFlow("stepping", async (flow) => {
  await flow.step("pay", () => {
    throw undefined;
  });
});

async function failing(run: (flows: Awaited<ReturnType<typeof start>>["flows"]) => Promise<unknown>) {
  const { system, flows } = await start();
  await using _ = system;
  const error = await run(flows).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(FlowFailedError);
  return error as FlowFailedError;
}
async function start() {
  const system = new System({ report: false });
  const flows = await system.start(flowHost({ store: memory(), flows: [close, chain, throwing, stepping] }));
  return { system, flows };
}

describe("the error of a flow that failed", () => {
  it("is one short sentence for a chain of two hundred, and leads to each cause [J343]", async () => {
    const error = await failing(async (flows) =>
      (await flows.start(chain, { left: LENGTH - 2 }, { id: "first" })).result(),
    );
    expect(error.message).toBe(
      `flow "first" ended as failed, the first of ${LENGTH} in a chain of calls; flow "last" ended as failed: the bank is closed`,
    );
    const ids: string[] = [];
    let at: unknown = error;
    for (; at instanceof FlowFailedError; at = at.cause) ids.push(at.flowId);
    expect(ids).toHaveLength(LENGTH);
    expect(at).toMatchObject({ message: "the bank is closed" });
  });

  it("says what was thrown if that was no error, and nothing that is in it [J343]", async () => {
    const thrown = await failing(async (flows) =>
      (await flows.start(throwing, "undefined", { id: "a" })).result(),
    );
    expect(thrown.message).toBe('flow "a" ended as failed: its code threw undefined, and no error');
    const inStep = await failing(async (flows) =>
      (await flows.start(stepping, undefined, { id: "a" })).result(),
    );
    expect(inStep.message).toBe('flow "a" ended as failed: its code threw undefined, and no error');
    const object = await failing(async (flows) =>
      (await flows.start(throwing, "object", { id: "a" })).result(),
    );
    expect(object.message).toBe('flow "a" ended as failed: its code threw an object, and no error');
  });
});
