// Defects of steps and their side effects.

import { defineFlow, FlowCancelledError } from "signalbox/flow";
import { memory } from "signalbox/store";
import { flowKit } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { gate } from "../../support/gate.js";
import { watched } from "./support.js";

describe("a step", () => {
  it("3: that still runs when the flow returns writes nothing into the finished flow", async () => {
    const late = gate<string>();
    let writes = 0;
    const store = watched(memory(), (method) => {
      if (method === "submit" || method === "commit") writes++;
    });
    const flow = defineFlow("hasty", (ctx) =>
      Promise.race([ctx.step("late", () => late.promise), ctx.step("soon", () => "soon")]),
    );
    await using kit = await flowKit({ flows: [flow], store });
    const run = await kit.start(flow, undefined, { id: "f" });
    expect(await run.result()).toBe("soon");
    const before = { writes, history: (await run.history()).lines };
    late.open("late");
    await kit.advance("1 hour");
    expect({ writes, history: (await run.history()).lines }).toEqual(before);
    expect(await run.result()).toBe("soon");
  });

  it("4: runs once, whatever messages and timers wake its flow meanwhile", async () => {
    const slow = gate<string>();
    let ran = 0;
    const flow = defineFlow("busy", async (ctx) => {
      const step = ctx.step("slow", () => {
        ran++;
        return slow.promise;
      });
      await Promise.all([ctx.receive("one"), ctx.sleep(1_000), ctx.receive("other", { timeout: 500 })]);
      return step;
    });
    await using kit = await flowKit({ flows: [flow] });
    const run = await kit.start(flow, undefined, { id: "f" });
    for (const topic of ["one", "two", "one", "three"]) await run.send(topic, 1);
    await kit.advance("1 hour");
    slow.open("done");
    expect(await run.result()).toBe("done");
    expect(ran).toBe(1);
  });

  it("32: keeps its flow in memory while it runs, and is taken up again after a crash", async () => {
    const effects: string[] = [];
    let open = gate<string>();
    const flow = defineFlow("open", async (ctx) => {
      const [effect] = await Promise.all([
        ctx.step("effect", ({ attempt }) => {
          effects.push(`begun ${attempt}`);
          return open.promise;
        }),
        ctx.sleep("1 hour"),
      ]);
      return effect;
    });
    await using kit = await flowKit({ flows: [flow] });
    const run = await kit.start(flow, undefined, { id: "f" });
    await kit.advance("2 hours");
    expect(await run.status()).toBe("running");
    open = gate<string>();
    await kit.crash();
    expect(effects).toEqual(["begun 1", "begun 1"]);
    open.open("done");
    expect(await run.result()).toBe("done");
  });

  it("33: a cancellation comes at once, is no step's result, and is the same when the code runs again", async () => {
    const undone: string[] = [];
    const flow = defineFlow("cancelled", async (ctx) => {
      const seen: string[] = [];
      const step = ctx.step("step", () => "kept");
      seen.push(await step);
      try {
        await Promise.all([ctx.sleep("30 days"), ctx.receive("never")]);
      } catch (error) {
        seen.push((error as Error).name);
        await ctx.step("undo", () => undone.push("undone"));
        await ctx.receive("go");
        return [...seen, await step];
      }
      return seen;
    });
    await using kit = await flowKit({ flows: [flow] });
    const run = await kit.start(flow, undefined, { id: "f" });
    const before = kit.clock.now;
    await run.cancel();
    expect([kit.clock.now, undone]).toEqual([before, ["undone"]]);
    await kit.crash();
    await run.send("go", 1);
    await kit.crash();
    expect(await run.result()).toEqual(["kept", FlowCancelledError.name, "kept"]);
    expect(undone).toEqual(["undone"]);
  });
});
