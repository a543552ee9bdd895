import { describe, expect, expectTypeOf, test } from "vitest";
import { defineFlow, flowHost } from "../../../lib/flow/index.js";
import { ConsumerGroup, consumer } from "../../../lib/index.js";
import { deduplicate } from "../../../lib/pipeline/adapters/deduplicate.js";
import { dispatchTo } from "../../../lib/pipeline/adapters/dispatch.js";
import { startFlow } from "../../../lib/pipeline/adapters/flow.js";
import { throttle } from "../../../lib/pipeline/adapters/throttle.js";
import { aggregate, filter, map, split } from "../../../lib/pipeline/adapters/values.js";
import { DeadLetterError } from "../../../lib/pipeline/definition/errors.js";
import { queue } from "../../../lib/pipeline/definition/queue.js";
import { route } from "../../../lib/pipeline/definition/route.js";
import { memory } from "../../../lib/store/index.js";
import { System } from "../../../lib/system.js";
import { testClock } from "../../../lib/testing/index.js";
import { Bench, cleanup } from "./support.js";

const after = cleanup();
function bench(environment = testClock().environment): Bench {
  const system = new System({ environment, report: false });
  after.add(() => system.stop({ timeoutMs: 0 }));
  return new Bench(system);
}

describe("filter, map and split", () => {
  test("let pass, change and multiply values", async () => {
    const at = bench();
    const costly = filter<{ cost: number }>("costly", { field: "cost", operator: "gt", value: 5 });
    expect(await at.pass(costly, { cost: 9 })).toEqual([{ cost: 9 }]);
    expect(await at.pass(costly, { cost: 1 })).toEqual([]);
    expect(
      await at.pass(
        map("upper", (line: string) => line.toUpperCase()),
        "a",
      ),
    ).toEqual(["A"]);
    expect(
      await at.pass(
        split("words", (line: string) => line.split(" ")),
        "to be",
      ),
    ).toEqual(["to", "be"]);
  });

  test("are typed from the queue to the end of the route", () => {
    route("r", { from: queue<string | number>("in") })
      .via(filter("texts", (value): value is string => typeof value === "string"))
      .via(split("words", (line: string) => line.split(" ")))
      .via(map("length", (word: string) => word.length))
      .via(aggregate("sum", { size: 2 }, (values: readonly number[]) => ({ sum: values.length })))
      .via("see", (sum) => expectTypeOf(sum).toEqualTypeOf<{ sum: number }>());
    // @ts-expect-error The queue has numbers, and the adapter takes texts.
    route("r", { from: queue<number>("in") }).via(map("upper", (line: string) => line.toUpperCase()));
  });
});

describe("an aggregate", () => {
  test("makes one value of a batch", async () => {
    const sum = aggregate("sum", { size: 10, byKey: true }, (values: readonly number[]) =>
      values.length > 1 ? values.reduce((a, b) => a + b, 0) : undefined,
    );
    expect(sum.batch).toEqual({ size: 10, everyMs: 1_000, byKey: true });
    expect(await bench().batch(sum, [1, 2, 3])).toEqual([6]);
    expect(await bench().batch(sum, [1])).toBeUndefined();
  });

  test("checks its limits", () => {
    expect(() => aggregate("sum", { size: 0 }, () => 1)).toThrow("size");
    expect(() => aggregate("sum", { every: 1 } as never, () => 1)).toThrow("every");
    expect(() => aggregate("sum", {}, 1 as never)).toThrow("fn");
  });
});

describe("deduplicate", () => {
  const once = deduplicate<{ id: string }>("once", { key: ({ id }) => id });

  test("lets the first message with a key pass", async () => {
    const at = bench();
    expect(await at.pass(once, { id: "a" })).toEqual([{ id: "a" }]);
    expect(await at.pass(once, { id: "b" })).toEqual([{ id: "b" }]);
    expect(await at.pass(once, { id: "a" })).toEqual([]);
  });

  test("lets one of two pass that are in work together [Y89]", async () => {
    const at = bench();
    const first = at.attempt(once, { id: "a" });
    const second = at.attempt(once, { id: "a" });
    expect(await first.result).toEqual([{ id: "a" }]);
    at.commit(first.attempt);
    first.attempt.release();
    expect(await second.result).toEqual([]);
  });

  test("lets the second pass when the first fails or is lost in a crash [Y89]", async () => {
    const at = bench();
    const first = at.attempt(once, { id: "a" });
    const second = at.attempt(once, { id: "a" });
    await first.result;
    first.attempt.release();
    expect(await second.result).toEqual([{ id: "a" }]);
  });

  test("takes the key of the message, and gives up on a message without one", async () => {
    const at = bench();
    const byKey = deduplicate<number>("once");
    expect(await at.pass(byKey, 1, { key: "k" })).toEqual([1]);
    expect(await at.pass(byKey, 2, { key: "k" })).toEqual([]);
    await expect(at.pass(byKey, 3)).rejects.toBeInstanceOf(DeadLetterError);
  });
});

describe("a throttle", () => {
  test("lets messages pass at its rate, in their order [Y90]", async () => {
    const clock = testClock();
    const at = bench(clock.environment);
    const slow = throttle<number>("slow", { permits: 2, perMs: 100, burst: 2 });
    const passed: number[] = [];
    for (let n = 0; n < 6; n++) void at.pass(slow, n).then(() => passed.push(n));
    await clock.advance(0);
    expect(passed).toEqual([0, 1]);
    await clock.advance(50);
    expect(passed).toEqual([0, 1, 2]);
    await clock.advance(150);
    expect(passed).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test("has a rate for each key, and lets go of a message whose attempt ends", async () => {
    const clock = testClock();
    const at = bench(clock.environment);
    const slow = throttle<string>("slow", { permits: 1, perMs: 1_000, key: (value) => value });
    expect(await at.pass(slow, "a")).toEqual(["a"]);
    expect(await at.pass(slow, "b")).toEqual(["b"]);
    const { result } = at.attempt(slow, "a");
    await clock.advance(10);
    at.abort.abort(new Error("cancelled"));
    await expect(result).rejects.toThrow("cancelled");
  });

  test("checks its rate", () => {
    expect(() => throttle("slow", { permits: 0 })).toThrow("permits");
    expect(() => throttle("slow", { permits: 1, perSecond: 1 } as never)).toThrow("perSecond");
  });
});

describe("dispatch to a group", () => {
  test("goes on with the reply, and delivers a message once that is tried again [Y91]", async () => {
    const at = bench();
    const clerks = new ConsumerGroup<number, number>();
    const seen: number[] = [];
    const work = (n: number) => {
      seen.push(n);
      return n * 2;
    };
    clerks.join(at.system.spawn(consumer(work)));
    const doubled = dispatchTo("double", clerks);
    expect(await at.pass(doubled, 7, { id: "10.15" })).toEqual([14]);
    expect(await at.pass(doubled, 7, { id: "10.15" })).toEqual([14]);
    expect(seen).toEqual([7]);
    const receipt = dispatchTo("who", clerks, { result: ({ attempts }, n) => ({ n, attempts }) });
    expect(await at.pass(receipt, 1)).toEqual([{ n: 1, attempts: 1 }]);
  });
});

describe("a flow for each message", () => {
  const greet = defineFlow("greet", async (_flow, name: string) => {
    if (name === "") throw new Error("nobody");
    return `Hello, ${name}`;
  });

  test("gives its result, and is the same flow in each attempt [Y92]", async () => {
    const system = new System({ report: false });
    after.add(() => system.stop({ timeoutMs: 0 }));
    const flows = await system.start(flowHost({ store: memory(), flows: [greet] }));
    const at = new Bench(system);
    const greeted = startFlow("greet", flows, greet);
    expect(await at.pass(greeted, "Ada", { id: "10.15" })).toEqual(["Hello, Ada"]);
    expect(await at.pass(greeted, "Ada", { id: "10.15" })).toEqual(["Hello, Ada"]);
    expect((await flows.get("e/10.15/greet").info()).status).toBe("completed");
    const started = startFlow("start", () => flows, greet, { wait: false, id: (name) => `greet-${name}` });
    expect(await at.pass(started, "Bo")).toEqual(["Bo"]);
    expect(await flows.get("greet-Bo").result()).toBe("Hello, Bo");
    await expect(at.pass(greeted, "")).rejects.toBeInstanceOf(DeadLetterError);
  });
});
