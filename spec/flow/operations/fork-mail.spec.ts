// Forks of flows that receive messages.

import { System } from "signalbox";
import { defineFlow, flowHost, openFlowOperations } from "signalbox/flow";
import { memory } from "signalbox/store";
import { expect, it } from "vitest";

const collect = defineFlow("collect", async (flow, count: number) => {
  const all: string[] = [];
  await flow.step("begin", () => 0);
  for (let i = 0; i < count; i++) {
    all.push(await flow.receive<string>("word"));
    await flow.step("seen", () => i);
  }
  return all.join(" ");
});

async function shop() {
  const system = new System({ report: false });
  const store = memory();
  const host = await system.start(flowHost({ store, flows: [collect] }));
  const operations = await openFlowOperations(system, store);
  return { system, host, operations };
}

it("a fork before messages receives what the first flow received behind that step [Z340]", async () => {
  const { system, host, operations } = await shop();
  await using _ = system;
  const run = await host.start(collect, 3, { id: "first" });
  // Longer than what stands in a row.
  const long = "x".repeat(300_000);
  for (const word of ["a", long, "c"]) await run.send("word", word);
  expect(await run.result()).toBe(`a ${long} c`);

  await operations.fork("first", { id: "before" });
  await operations.fork("first", { id: "from-begin", from: "begin" });
  // The first word is in the journal that is kept.
  await operations.fork("first", { id: "behind-one", from: "seen" });
  for (const id of ["before", "from-begin", "behind-one"])
    expect(await operations.outcome(id)).toEqual({ status: "completed", result: `a ${long} c` });
  await operations.close();
});

it("a fork of a flow that waits receives what the first one has not received yet [Z340]", async () => {
  const { system, host, operations } = await shop();
  await using _ = system;
  const run = await host.start(collect, 2, { id: "first" });
  await run.send("word", "a", { messageId: "1" });
  await run.send("other", "left alone");
  const copy = await operations.fork("first", { id: "copy" });
  // A message that the first flow was sent before the fork is not new to the fork.
  await operations.send(copy, "word", "again", { id: "1" });
  await operations.send(copy, "word", "b");
  expect(await operations.outcome(copy)).toEqual({ status: "completed", result: "a b" });
  await run.send("word", "z");
  expect(await run.result()).toBe("a z");
  await operations.close();
});
