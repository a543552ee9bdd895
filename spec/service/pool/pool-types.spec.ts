// What TypeScript knows of a pool: the worker file's functions, with their arguments and results.

import type { System } from "signalbox";
import { type PoolDefinition, type PoolRef, pool } from "signalbox/service";
import { describe, expectTypeOf, it } from "vitest";

type Labels = typeof import("./labels.js");
declare const labels: PoolRef<Labels>;

describe("the types of a pool", () => {
  it("are those of the worker file: arguments as they are, results awaited", () => {
    expectTypeOf<typeof labels.run.add>().toEqualTypeOf<(a: number, b?: number) => Promise<number>>();
    expectTypeOf<ReturnType<typeof labels.run.refuse>>().toEqualTypeOf<Promise<never>>();
  });

  it("do not show the job that a function sees as `this`", () => {
    expectTypeOf<typeof labels.run.wait>().toEqualTypeOf<() => Promise<string>>();
  });

  it("make `run` itself the default function, if there is one", () => {
    expectTypeOf<Parameters<typeof labels.run>>().toEqualTypeOf<[order: { readonly id: number }]>();
    expectTypeOf<typeof labels.run.default>().returns.toEqualTypeOf<Promise<string>>();
    expectTypeOf<PoolRef<{ add(n: number): number }>["run"]>().not.toBeFunction();
  });

  it("leave out what is no function, and classes", () => {
    expectTypeOf<keyof typeof labels.run>().toEqualTypeOf<"add" | "default" | "refuse" | "wait">();
  });

  it("are the same with options, by name, and from a start", () => {
    expectTypeOf<ReturnType<typeof labels.with>["run"]>().toEqualTypeOf<PoolRef<Labels>["run"]>();
    expectTypeOf<ReturnType<PoolDefinition<Labels>["at"]>>().toEqualTypeOf<PoolRef<Labels>>();
    const start = (system: System) => system.start(pool<Labels>("file:///labels.js"));
    expectTypeOf(start).returns.resolves.toEqualTypeOf<PoolRef<Labels>>();
  });

  it("refuse wrong arguments and names", () => {
    const wrong = (): unknown => [
      // @ts-expect-error -- a text is no number
      labels.run.add("1"),
      // @ts-expect-error -- there is no such function
      labels.run.subtract(1),
      // @ts-expect-error -- there is no such option
      labels.with({ deadline: 1 }),
    ];
    expectTypeOf(wrong).toBeFunction();
  });

  it("are unknown, never any, without the type of a file", () => {
    const any = (system: System) => system.start(pool("file:///labels.js"));
    type Untyped = Awaited<ReturnType<typeof any>>["run"][string];
    expectTypeOf<Parameters<Untyped>[number]>().toBeUnknown();
    expectTypeOf<Awaited<ReturnType<Untyped>>>().toBeUnknown();
  });
});
