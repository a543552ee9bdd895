import { expect, test } from "vitest";
import { defineFlow, flowHost } from "../../../lib/flow/index.js";
import { System } from "../../../lib/index.js";
import { memory } from "../../../lib/store/index.js";

test("runs", async () => {
  await using system = new System();
  const child = defineFlow("child", async (flow, n: number) => flow.step("double", () => n * 2));
  const greet = defineFlow("greet", async (flow, name: string) => {
    const a = await flow.step("a", () => `hello ${name}`);
    const all = await Promise.all([flow.step("b", async () => 1), flow.step("b", async () => 2)]);
    const r = await Promise.race([flow.sleep(5).then(() => "slept"), flow.receive<string>("never")]);
    const m = await flow.receive<string>("go");
    const d = await flow.call(child, 21);
    return [a, all, r, m, d, flow.version("x", 1, 2)];
  });
  const store = memory();
  const flows = await system.start(flowHost({ store, flows: [greet, child] }));
  const run = await flows.start(greet, "Ada", { id: "g1" });
  await run.send("go", "went");
  expect(await run.result()).toEqual(["hello Ada", [1, 2], "slept", "went", 42, 2]);
  expect((await run.info()).status).toBe("completed");
  const again = await flows.start(greet, "Ada", { id: "g1" });
  expect(again.attached).toBe(true);
});
