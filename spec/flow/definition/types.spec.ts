// What the compiler knows of a flow: input, output, messages, progress and children, from its definition.

import { type Child, defineFlow, type FlowContext, type FlowDefinition, flowHost } from "signalbox/flow";
import { memory } from "signalbox/store";
import { flowKit, type KitRun } from "signalbox/testing";
import { describe, expect, expectTypeOf, it } from "vitest";
import type { StandardSchema } from "../../../lib/process/standard-schema.js";

/** A schema that lets everything pass, with the type that the test gives it. */
function schema<T>(): StandardSchema<T> {
  return {
    "~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value: value as T }) },
  } as StandardSchema<T>;
}

interface Order {
  readonly id: string;
}

describe("the types of a definition", () => {
  it("take the input of the code, and the output that it returns", async () => {
    const order = defineFlow("order", async (_flow, input: Order) => input.id.length);
    expectTypeOf(order).toExtend<FlowDefinition<Order, number>>();
    await using kit = await flowKit({ flows: [order] });
    const run = await kit.start(order, { id: "abc" });
    expectTypeOf(run).toEqualTypeOf<KitRun<number>>();
    expect(await run.result()).toBe(3);
    // @ts-expect-error the input is an order
    await expect(kit.start(order, undefined).then((one) => one.result())).rejects.toThrow();
    expectTypeOf(flowHost({ store: memory(), flows: [order] }).at).returns.toHaveProperty("start");
  });

  it("take the input and the progress of their schemas", () => {
    const order = defineFlow(
      "order",
      { input: schema<Order>(), progress: schema<{ readonly percent: number }>() },
      async (flow, input) => {
        expectTypeOf(input).toEqualTypeOf<Order>();
        expectTypeOf(flow.progress).parameter(0).toEqualTypeOf<{ readonly percent: number }>();
        return flow.step("ship", () => Promise.resolve(input));
      },
    );
    expectTypeOf(order).toExtend<FlowDefinition<Order, Order>>();
    expect(order.name).toBe("order");
  });

  it("give a message the type of its topic, or the one that the receiver states [J58]", () => {
    const messages = { approval: schema<{ readonly by: string }>() };
    const declared = defineFlow("declared", { messages }, async (flow, _: undefined) => {
      expectTypeOf(await flow.receive("approval")).toEqualTypeOf<{ readonly by: string }>();
      expectTypeOf(await flow.receive("approval", { timeout: "1 day" })).toEqualTypeOf<
        { readonly by: string } | undefined
      >();
      expectTypeOf(await flow.receive("other")).toEqualTypeOf<unknown>();
      expectTypeOf(await flow.receive<number>("other")).toEqualTypeOf<number>();
      // @ts-expect-error what the caller wants it to be is not what the topic has
      const wrong: number = await flow.receive("approval");
      return wrong;
    });
    const open = defineFlow("open", async (flow, _: undefined) => {
      expectTypeOf(await flow.receive("any")).toEqualTypeOf<unknown>();
      expectTypeOf(await flow.receive<string>("any")).toEqualTypeOf<string>();
      expectTypeOf(await flow.receive<Order>("any", { timeout: 5 })).toEqualTypeOf<Order | undefined>();
      return flow.receive<string>("any");
    });
    expectTypeOf(open).toExtend<FlowDefinition<undefined, string>>();
    expect([declared.name, open.name]).toEqual(["declared", "open"]);
  });

  it("give a child's result the output of its definition", () => {
    const child = defineFlow("child", async (_flow, n: number) => [n]);
    const parent = defineFlow("parent", async (flow, _: undefined) => {
      const started = await flow.start(child, 1);
      expectTypeOf(started).toEqualTypeOf<Child<number[]>>();
      // @ts-expect-error the child takes a number
      const never = () => flow.call(child, "one");
      expectTypeOf(never).toBeFunction();
      return flow.call(child, 1);
    });
    expectTypeOf(parent).toExtend<FlowDefinition<undefined, number[]>>();
    // A helper may take any flow's context.
    const helper = (flow: FlowContext) => flow.step("one", () => 1);
    const user = defineFlow("user", async (flow, _: undefined) => helper(flow));
    expectTypeOf(user).toExtend<FlowDefinition<undefined, number>>();
    expect(parent.name).toBe("parent");
  });
});
