// Fan-out and fan-in: the deadline is that of the whole, whoever crashes is missing, replicas stand in for each other, and nothing runs on.

import { type Context, System } from "signalbox";
import { testClock } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { askAll } from "../../../examples/cookbook/fan-out-fan-in/ask-all.js";
import { part, searchAll } from "../../../examples/cookbook/fan-out-fan-in/search.js";
import { explored } from "../../support/proof.js";

const NAMES = ["a", "b", "c", "d", "e", "f"];
const sleep = (ctx: Context<never>, ms: number): Promise<void> =>
  new Promise((resolve) => ctx.runAfter(ms, resolve));

describe("a question asked by tasks", () => {
  const clock = testClock();
  const system = new System({ environment: clock.environment, report: false });

  it("resolves at its deadline with what came, and ends what still runs", async () => {
    const aborted: string[] = [];
    const begin = clock.now;
    const gathered = await clock.until(
      askAll(
        system,
        ["quick", "bad", "slow"],
        async (name, ctx) => {
          ctx.signal.addEventListener("abort", () => aborted.push(name));
          if (name === "bad") throw new RangeError("not mine");
          await sleep(ctx, name === "slow" ? 301 : 299);
          return name.length;
        },
        { withinMs: 300 },
      ),
    );
    expect(gathered).toEqual({
      answers: [{ from: "quick", answer: 5 }],
      missing: [
        { from: "bad", why: "RangeError: not mine" },
        { from: "slow", why: "no answer within 300 ms" },
      ],
    });
    expect([clock.now - begin, aborted.includes("slow"), system.population]).toEqual([300, true, 0]);
  });

  it("waits no longer than the last answer takes", async () => {
    const begin = clock.now;
    await clock.until(askAll(system, NAMES, (_name, ctx) => sleep(ctx, 40), { withinMs: 300, atOnce: 2 }));
    expect(clock.now - begin).toBe(120);
    expect(await clock.until(askAll(system, [], async () => 1, { withinMs: 300 }))).toEqual({
      answers: [],
      missing: [],
    });
  });

  it("counts the deadline for the whole, though only some are asked at once", async () => {
    const ask = askAll(system, NAMES, (_name, ctx) => sleep(ctx, 200), { withinMs: 300, atOnce: 3 });
    const { answers, missing } = await clock.until(ask);
    expect([answers.length, missing.map(({ from }) => from)]).toEqual([3, ["d", "e", "f"]]);
  });

  it("ends with its owner", async () => {
    const owner = system.spawn((ctx) =>
      askAll(ctx, NAMES, (_name, inner) => sleep(inner, 200), { withinMs: 300 }),
    );
    await clock.advance(100);
    expect(system.population).toBeGreaterThan(NAMES.length);
    system.exit(owner, "kill");
    await clock.advance(0);
    expect(system.population).toBe(0);
  });
});

describe("a question to replicas", () => {
  it("is answered by each part, whichever replica crashes at whichever step", async () => {
    await explored(
      async (sim) => {
        const system = sim.system({ name: "index" });
        const parts = ["early", "late"].map((name) =>
          part<number, string>(name, 2, async (n, _delivery, ctx) => {
            await sleep(ctx, 10);
            return `${name} ${n}`;
          }),
        );
        sim.calm();
        for (const { tree } of parts) await system.start(tree);
        sim.storm();
        const { answers, missing } = await searchAll(system, parts, 7, 1_000);
        expect([answers.map(({ answer }) => answer).sort(), missing]).toEqual([["early 7", "late 7"], []]);
      },
      { quick: 40, share: 0.05, seed: 1, faults: { crash: { of: "index/*/*", atMost: 1 } } },
    );
  });

  it("gives a part of the answers when a part is broken or late", async () => {
    const clock = testClock();
    const system = new System({ environment: clock.environment, report: false });
    const good = part<number, number>("good", 1, (n) => n + 1);
    const broken = part<number, number>("broken", 2, () => {
      throw new Error("the index is damaged");
    });
    const late = part<number, number>("late", 1, () => new Promise(() => undefined));
    const parts = [good, broken, late];
    for (const { tree } of parts) await clock.until(system.start(tree));
    const begin = clock.now;
    const { answers, missing } = await clock.until(searchAll(system, parts, 1, 500));
    expect([answers, clock.now - begin]).toEqual([[{ from: "good", answer: 2 }], 500]);
    expect(missing.map(({ from }) => from)).toEqual(["broken", "late"]);
  });
});
