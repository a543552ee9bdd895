import { expect, test } from "vitest";
import { defineFlow, flowHost } from "../../../lib/flow/index.js";
import { System } from "../../../lib/index.js";
import { memory, type StoreSource } from "../../../lib/store/index.js";

const child = defineFlow("child", async (flow, n: number) => flow.step("double", () => n * 2));
const greet = defineFlow("greet", async (flow, name: string) => {
  const a = await flow.step("a", () => `hello ${name}`);
  const all = await Promise.all([flow.step("b", async () => 1), flow.step("b", async () => 2)]);
  const r = await Promise.race([flow.sleep(5).then(() => "slept"), flow.receive<string>("never")]);
  const m = await flow.receive<string>("go");
  const d = await flow.call(child, 21);
  return [a, all, r, m, d, flow.version("x", 1, 2)];
});
const GREETED = ["hello Ada", [1, 2], "slept", "went", 42, 2];

test("a flow runs from its input to its result, and a second start attaches to it", async () => {
  await using system = new System();
  const flows = await system.start(flowHost({ store: memory(), flows: [greet, child], verify: true }));
  const run = await flows.start(greet, "Ada", { id: "g1" });
  await run.send("go", "went");
  expect(await run.result()).toEqual(GREETED);
  expect((await run.info()).status).toBe("completed");
  const again = await flows.start(greet, "Ada", { id: "g1" });
  expect(again.attached).toBe(true);
});

test("a flow goes on where it was after its host has gone", async () => {
  const store = memory();
  let steps = 0;
  const slow = defineFlow("slow", async (flow, n: number) => {
    const first = await flow.step("first", () => ++steps);
    const more = await flow.receive<number>("more");
    return first + more + n;
  });
  {
    await using system = new System();
    const flows = await system.start(flowHost({ store, flows: [slow] }));
    await flows.start(slow, 100, { id: "s" });
  }
  await using system = new System();
  const flows = await system.start(flowHost({ store, flows: [slow] }));
  await flows.get("s").send("more", 10);
  expect(await flows.get("s").result()).toBe(111);
  expect(steps).toBe(1);
});

test("with `verify`, a hidden random number is found on the first run", async () => {
  await using system = new System();
  let calls = 0;
  const hidden = defineFlow("hidden", async (flow, _: undefined) => {
    await flow.step("one", () => 1);
    await flow.step(`two-${++calls}`, () => 2);
    await flow.step("three", () => 3);
    await flow.receive("never");
  });
  const flows = await system.start(flowHost({ store: memory(), flows: [hidden], verify: true }));
  const run = await flows.start(hidden, undefined, { id: "h" });
  await expect.poll(async () => (await run.info()).status).toBe("hospitalized");
});

test("warnings of the store are reports of the system", async () => {
  const texts: string[] = [];
  await using system = new System({ report: (text) => void texts.push(text) });
  const inner = memory();
  const store: StoreSource = {
    label: inner.label,
    open: (schemas, context) => {
      context.warn({ code: "TEST", message: "the log grows" });
      return inner.open(schemas, context);
    },
  };
  await system.start(flowHost({ store, flows: [child] }));
  expect(texts.join()).toContain("the log grows");
});
