// Defects of replay: the code, run again over its journal, takes another way.

import { defineFlow } from "signalbox/flow";
import { flowKit } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { type Gate, gate } from "../../support/gate.js";

/** Steps that end when the test says so. */
function gates(...names: readonly string[]): Readonly<Record<string, Gate<string>>> {
  return Object.fromEntries(names.map((name) => [name, gate<string>()]));
}

describe("replay", () => {
  it.each(["race", "any"] as const)(
    "1: the same branch wins Promise.%s when the code runs again",
    async (way) => {
      const open = gates("a", "b");
      const flow = defineFlow("racing", async (ctx) => {
        const step = (name: string) => ctx.step(name, () => open[name]?.promise as Promise<string>);
        const first = await Promise[way]([step("a"), step("b")]);
        await ctx.receive("go");
        const [, second] = await Promise.all([ctx.step(`won by ${first}`, () => 0), step("c")]);
        return `${first}, ${second ?? ""}`;
      });
      await using kit = await flowKit({ flows: [flow] });
      const run = await kit.start(flow, undefined, { id: "f" });
      open.b?.open("b");
      await kit.settle();
      await kit.crash();
      // The other branch is open now, and comes first in the code.
      open.a?.open("a");
      await kit.settle();
      await kit.crash();
      await run.send("go", 1);
      expect(await run.result()).toBe("b, ");
      expect((await run.history()).lines).toContain("step won by b");
    },
  );

  it("1: a loop over completions takes them in the same order when the code runs again", async () => {
    const names = ["a", "b", "c", "d"];
    const open = gates(...names);
    const flow = defineFlow("loop", async (ctx) => {
      const left = new Map(
        names.map((name) => [name, ctx.step(name, () => open[name]?.promise as Promise<string>)]),
      );
      const order: string[] = [];
      while (left.size > 0) {
        const first = await Promise.race(left.values());
        left.delete(first);
        order.push(await ctx.step(`after ${first}`, () => first));
      }
      return order.join("");
    });
    await using kit = await flowKit({ flows: [flow] });
    const run = await kit.start(flow, undefined, { id: "f" });
    for (const name of ["c", "a", "d", "b"]) {
      open[name]?.open(name);
      await kit.settle();
      await kit.crash();
    }
    expect(await run.result()).toBe("cadb");
  });

  it("2: parallel steps keep their results, whatever the order in which they end", async () => {
    const names = ["a", "b", "c", "d", "e"];
    const open = gates(...names);
    const ran: string[] = [];
    const flow = defineFlow("parallel", (ctx) =>
      Promise.all(
        names.map(async (name) => {
          const first = await ctx.step("first", () => open[name]?.promise as Promise<string>);
          return ctx.step("second", () => {
            ran.push(name);
            return `${first}${first}`;
          });
        }),
      ),
    );
    await using kit = await flowKit({ flows: [flow] });
    const run = await kit.start(flow, undefined, { id: "f" });
    for (const name of ["e", "b", "d", "a", "c"]) {
      open[name]?.open(name);
      await kit.settle();
      await kit.crash();
    }
    expect(await run.result()).toEqual(["aa", "bb", "cc", "dd", "ee"]);
    expect(ran.sort()).toEqual(names);
  });

  it("17: code that asks for something else stops with a clear error, and is not run for ever", async () => {
    let way = "left";
    let runs = 0;
    const flow = defineFlow("changing", async (ctx) => {
      runs++;
      await ctx.step(`go ${way}`, () => 0);
      await ctx.receive("go");
    });
    await using kit = await flowKit({ flows: [flow] });
    const run = await kit.start(flow, undefined, { id: "f" });
    const before = (await run.history()).lines;
    way = "right";
    await kit.crash();
    await kit.advance("1 day");
    expect(await run.status()).toBe("hospitalized");
    expect(runs).toBeLessThan(20);
    expect((await run.history()).lines).toEqual(before);
    way = "left";
  });

  it("31: the error of a step that the flow caught is the same when the code runs again", async () => {
    let ran = 0;
    const flow = defineFlow("catching", async (ctx) => {
      const caught = await ctx
        .step("breaks", () => {
          ran++;
          throw new RangeError("too far");
        })
        .then(
          () => "none",
          (error: Error) => `${error.name}: ${error.message}`,
        );
      await ctx.receive("go");
      return ctx.step(`caught ${caught}`, () => caught);
    });
    await using kit = await flowKit({ flows: [flow] });
    const run = await kit.start(flow, undefined, { id: "f" });
    await kit.crash();
    await run.send("go", 1);
    await kit.crash();
    expect(await run.result()).toBe("RangeError: too far");
    expect(ran).toBe(1);
  });

  it("36: a version marker in a loop answers anew in each round, and a query changes nothing", async () => {
    let isNew = false;
    const flow = defineFlow("versions", async (ctx) => {
      const seen: number[] = [];
      ctx.query("seen", () => seen.length);
      for (let i = 0; i < 4; i++) {
        if (isNew) seen.push(ctx.version("change", 1, 2));
        await ctx.step(`round ${i}`, () => i);
        await ctx.receive("go");
      }
      return seen;
    });
    await using kit = await flowKit({ flows: [flow] });
    const run = await kit.start(flow, undefined, { id: "f" });
    await run.send("go", 1);
    isNew = true;
    await kit.crash();
    expect(await kit.clock.until(kit.host.get("f").query("seen"))).toBe(2);
    await run.send("go", 2);
    expect(await kit.clock.until(kit.host.get("f").query("seen"))).toBe(3);
    await kit.crash();
    await run.send("go", 3);
    await run.send("go", 4);
    // The rounds that began before the change keep the old way; those after it take the new one, also when the code runs again.
    expect(await run.result()).toEqual([1, 1, 2, 2]);
  });
});
