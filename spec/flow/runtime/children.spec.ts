// What becomes of the children of a flow that is cancelled or killed: option `onCancel`.

import { defineFlow, type FlowContext, type FlowHost, FlowNotFoundError, flowHost } from "signalbox/flow";
import { flowKit } from "signalbox/testing";
import { describe, expect, it, test } from "vitest";
import { explored } from "../../support/proof.js";

const HOUR = 3_600_000;

const grandchild = defineFlow("grandchild", (flow, _: undefined) => flow.sleep("1 hour"));
const child = defineFlow("child", async (flow, _: undefined) => {
  await flow.call(grandchild, undefined, { id: `${flow.flowId}/grandchild` });
  return "ran on";
});
const undo = defineFlow("undo", async (flow, _: undefined) => {
  await flow.sleep("1 minute");
  return "undone";
});
const other = defineFlow("other", (flow, _: undefined) => flow.sleep("1 hour"));

type Body = (flow: FlowContext) => Promise<unknown>;

/** Kinds of parents: what they do beside their child. */
const PARENTS: Readonly<Record<string, Body>> = {
  "that calls it": (flow) => flow.call(child, undefined, { id: "child" }),
  "that waits for its result": async (flow) =>
    (await flow.start(child, undefined, { id: "child" })).result({ timeout: "1 day" }),
  "that does something else": async (flow) => {
    await flow.start(child, undefined, { id: "child" });
    await flow.receive("never");
  },
  "that calls others, too": (flow) =>
    Promise.all([flow.call(other, undefined), flow.call(child, undefined, { id: "child" })]),
  "that has begun anew since": async (flow) => {
    await flow.start(child, undefined, { id: "child" });
    flow.continueAsNew("again");
  },
};

/** The parent begins anew once. */
const bodyOf =
  (body: Body): ((flow: FlowContext, input: string) => Promise<unknown>) =>
  (flow, input) =>
    input === "again" ? flow.receive("never") : body(flow);

describe.each(Object.entries(PARENTS))("the child of a flow %s", (_, body) => {
  const parent = defineFlow("parent", bodyOf(body));
  const flows = [parent, child, grandchild, other];

  test.each(["cancelled", "killed"] as const)(
    "is cancelled when that one is %s, with its own children, also over a crash [J280]",
    async (status) => {
      for (const crashes of [0, 1, 2]) {
        await using kit = await flowKit({ flows });
        await kit.start(parent, "first", { id: "parent" });
        const run = kit.host.get("parent");
        await kit.clock.until(status === "cancelled" ? run.cancel() : run.kill());
        for (let i = 0; i < crashes; i++) await kit.crash();
        await kit.settle();
        const ends = ["parent", "child", "child/grandchild"].map((id) => kit.get(id).status());
        expect(await Promise.all(ends)).toEqual([status, "cancelled", "cancelled"]);
      }
    },
  );
});

it('leaves a child alone that was started with `onCancel: "leave"` [J281]', async () => {
  const parent = defineFlow("parent", (flow, _: undefined) =>
    flow.call(child, undefined, { id: "child", onCancel: "leave" }),
  );
  for (const wish of ["cancel", "kill"] as const) {
    await using kit = await flowKit({ flows: [parent, child, grandchild] });
    await kit.start(parent, undefined, { id: "parent" });
    await kit.clock.until(kit.host.get("parent")[wish]());
    await kit.crash();
    expect(await kit.get("child").result()).toBe("ran on");
  }
});

it("spares the children that a cancelled flow starts to clean up, over any crash [J282]", async () => {
  const parent = defineFlow("parent", async (flow, _: undefined) => {
    try {
      await flow.call(child, undefined, { id: "child" });
    } catch {
      return flow.call(undo, undefined, { id: "undo" });
    }
    return "not cancelled";
  });
  await using kit = await flowKit({ flows: [parent, child, grandchild, undo] });
  const run = await kit.start(parent, undefined, { id: "parent" });
  await run.cancel();
  await kit.crash();
  await kit.advance("30 seconds");
  await kit.crash();
  expect(await run.result()).toBe("undone");
  expect(await kit.get("child").status()).toBe("cancelled");
});

it("ends a flow that rests in the store, paused or not, when it is cancelled or killed [J283]", async () => {
  const rests = defineFlow("rests", (flow, _: undefined) => flow.receive("never"));
  for (const wish of ["cancel", "kill"] as const) {
    await using kit = await flowKit({ flows: [rests] });
    const run = await kit.start(rests, undefined, { id: "rests" });
    await kit.clock.until(kit.host.get("rests").pause());
    await kit.settle();
    expect(await run.status()).toBe("paused");
    await kit.clock.until(kit.host.get("rests")[wish]());
    await kit.settle();
    expect(await run.status()).toBe(wish === "cancel" ? "cancelled" : "killed");
  }
});

it("reaches every child, whenever the cancellation comes and whatever power is lost [J280]", async () => {
  await explored(
    async (sim) => {
      const parent = defineFlow("parent", async (flow, _: undefined) => {
        const first = await flow.start(child, undefined, { id: "a" });
        await flow.step("between", () => 1);
        await flow.start(child, undefined, { id: "b" });
        try {
          return await first.result();
        } finally {
          await flow.call(undo, undefined, { id: "undo" });
        }
      });
      const boot = async (node: Parameters<Parameters<typeof sim.node>[1]>[0]): Promise<FlowHost> =>
        node.system().start(
          flowHost({
            ...{ store: node.store, flows: [parent, child, grandchild, undo], limits: { idleMs: 5 } },
            hospital: { maxCrashes: Number.MAX_SAFE_INTEGER },
          }),
        );
      const shop = sim.node("shop", boot);
      const insisted = async <T>(request: (host: FlowHost) => Promise<T>): Promise<T> => {
        for (;;) {
          try {
            return await request(await shop.ready());
          } catch {
            await sim.sleep(50);
          }
        }
      };
      await insisted((host) => host.start(parent, undefined, { id: "parent" }));
      await sim.sleep(sim.oneOf([0, 1, 3], "until the wish"));
      const wish = sim.oneOf(["cancel", "kill"] as const, "wish");
      await insisted((host) => host.get("parent")[wish]());
      const statusOf = (id: string): Promise<string> =>
        insisted(async (host) => {
          try {
            return (await host.get(id).info()).status;
          } catch (error) {
            if (error instanceof FlowNotFoundError) return "never started";
            throw error;
          }
        });
      const endOf = async (id: string): Promise<string> => {
        for (let waited = 0; waited < HOUR / 2; waited += 20_000) {
          const status = await statusOf(id);
          if (!["pending", "running", "waiting"].includes(status)) return status;
          await sim.sleep(20_000);
        }
        return "still there";
      };
      const ended = await endOf("parent");
      const children = await Promise.all(["a", "b"].map(endOf));
      expect(["cancelled", "killed", "failed"]).toContain(ended);
      for (const status of children) expect(["cancelled", "never started"]).toContain(status);
      const cleanup = await endOf("undo");
      // A start that the cancellation rejects may have taken place: then the code has nothing to clean up.
      if (wish === "cancel") expect(["completed", "never started"]).toContain(cleanup);
      sim.sometimes("it cleaned up", cleanup === "completed");
      sim.sometimes(
        "both had started",
        children.every((status) => status === "cancelled"),
      );
      sim.sometimes("it was cancelled", ended === "cancelled");
      sim.sometimes("it was killed", ended === "killed");
    },
    {
      quick: 12,
      seed: 7,
      sometimes: ["both had started", "it was cancelled", "it was killed", "it cleaned up"],
      faults: { nodeCrash: { of: "shop", downMs: [0, 100], atMost: 3 } },
    },
  );
});
