// What the compiler knows of jobs, and of the steps that run them elsewhere.

import type { Job, JobHost } from "signalbox";
import { defineFlow, type FlowDefinition } from "signalbox/flow";
import { type JobContext, job } from "signalbox/nodes";
import { queue, type Route, route } from "signalbox/pipeline";
import { describe, expectTypeOf, it } from "vitest";

interface Order {
  readonly item: string;
}

const nowhere: JobHost = { run: async () => undefined };
const price = job((order: Order, factor: number) => Promise.resolve(order.item.length * factor));
const length = job((order: Order, { signal }: JobContext) =>
  signal.aborted ? undefined : order.item.length,
);
const ping = job(() => "pong");

describe("the types of jobs", () => {
  it("take the arguments of the function, without its context, and what it gives", () => {
    expectTypeOf(price).toEqualTypeOf<Job<[order: Order, factor: number], number>>();
    expectTypeOf(length).toEqualTypeOf<Job<[order: Order], number | undefined>>();
    expectTypeOf(ping).toEqualTypeOf<Job<[], string>>();
    // biome-ignore lint/suspicious/noExplicitAny: an argument of any type is no context
    expectTypeOf(job((given: any) => given as string)).toEqualTypeOf<Job<[given: any], string>>();
  });

  it("are those of steps of a flow", () => {
    const flow = defineFlow("types", async (ctx, order: Order) => {
      const cost = await ctx.step("price", price, { on: nowhere, args: [order, 2], timeout: 1_000 });
      expectTypeOf(cost).toEqualTypeOf<number>();
      expectTypeOf(await ctx.step("ping", ping, { on: nowhere })).toEqualTypeOf<string>();
      // @ts-expect-error an argument is missing
      void (() => ctx.step("price", price, { on: nowhere, args: [order] }));
      // @ts-expect-error its arguments are missing
      void (() => ctx.step("price", price, { on: nowhere }));
      // @ts-expect-error where it runs is missing
      void (() => ctx.step("ping", ping));
      // @ts-expect-error a function cannot travel
      void (() => ctx.step("ping", () => "pong", { on: nowhere }));
      return cost;
    });
    expectTypeOf(flow).toExtend<FlowDefinition<Order, number>>();
  });

  it("are those of adapters of a pipeline", () => {
    const begun = route("orders", { from: queue<Order>("orders") });
    expectTypeOf(begun.via("length", length, { on: nowhere })).toEqualTypeOf<Route<number>>();
    expectTypeOf(
      begun.via("length", length, { on: nowhere, when: (order) => order.item !== "" }),
    ).toEqualTypeOf<Route<number | Order>>();
    // @ts-expect-error a job of an adapter has one argument
    void (() => begun.via("price", price, { on: nowhere }));
  });
});
