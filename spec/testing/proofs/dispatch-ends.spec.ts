// The other ends of a dispatch, under any schedule: deadline, withdrawal, the end of its caller or its conversation, crash
// policies and late answers. A dispatch that ends releases every slot that it held.

import {
  type Callbacks,
  ConsumerGroup,
  type Context,
  type Delivery,
  leastLoaded,
  ProcessExitedError,
  type RoutingFunction,
  roundRobin,
} from "signalbox";
import type { FaultOptions, Simulation } from "signalbox/testing";
import { describe, it } from "vitest";
import { explored } from "../../support/proof.js";
import { type Manner, type Rules, Witness } from "./dispatch-support.js";

const first: RoutingFunction<string> = (_envelope, [one]) => one;

/** Everything that may be going on has come to its end. */
async function settled(sim: Simulation): Promise<void> {
  await sim.sleep(500);
  sim.calm();
  await sim.sleep(500);
}

/** Dispatches that are given up: by deadline, by AbortSignal, with their caller, with their conversation. */
async function givenUp(sim: Simulation): Promise<void> {
  const system = sim.system({ name: "s" });
  const rules = {
    maxAttempts: 3,
    onCrash: "reroute",
    maxWaiting: sim.oneOf([10, 1], "most waiting"),
  } as const;
  const witness = new Witness(sim, system, rules);
  const group = new ConsumerGroup<string>({
    ...rules,
    name: "pickers",
    patienceMs: sim.oneOf([0, 8], "patience"),
    route: witness.watched(sim.oneOf([leastLoaded(), roundRobin(), first], "route")),
  });
  witness.guard(group);
  witness.audit();
  // The faults kill conversations; what they do to consumers has another name.
  sim.finally("no consumer dies with a conversation", () => !witness.ended("s/picker", "killed"));
  const manners = ["after a while", "at once", "crash after a while", "twice", "reject for good"] as const;
  const picker = (id: string): Callbacks<Delivery<string>> => ({
    init: (ctx) => witness.join(group, ctx.self, { id, maxInFlight: 1 }),
    handle: (ctx, delivery) => witness.work(ctx, delivery, sim.oneOf<Manner>(manners, "manner")),
  });
  sim.calm();
  for (const id of ["picker0", "picker1"]) system.spawn(picker(id), { label: id });
  await sim.quiet();
  sim.storm();
  const controller = new AbortController();
  const deadline = (): number => sim.oneOf([50, 10, 5, 0], "deadline");
  system.spawn<never>(
    async (ctx) => {
      for (const name of ["ann0", "ann1"])
        await witness.dispatch(name, group, { deadlineMs: deadline() }, ctx);
    },
    { label: "ann" },
  );
  for (const name of ["bob0", "bob1"])
    void witness.dispatch(name, group, { deadlineMs: deadline(), signal: controller.signal });
  await sim.sleep(sim.oneOf([5, 1, 20], "abort"));
  for (const dispatch of ["bob0", "bob1"]) witness.note({ what: "withdraw", dispatch });
  controller.abort(new Error("enough"));
  await settled(sim);
}

/** Dispatches of which a crash is the end, after it has been undone or not. */
async function policies(sim: Simulation, onCrash: "fail" | "compensate"): Promise<void> {
  const system = sim.system({ name: "s" });
  const rules: Rules = { maxAttempts: 2, onCrash };
  // The end of a compensation has to be seen.
  const unseen = onCrash === "fail" && sim.choose(2, "unseen") === 1;
  const witness = new Witness(sim, system, rules, unseen);
  const group = new ConsumerGroup<string>({
    ...rules,
    name: "pickers",
    compensationTimeoutMs: 10,
    compensate: async ({ payload }, { consumer, attempt }) => {
      witness.note({ what: "compensate", dispatch: payload, consumer, attempt });
      const how = sim.oneOf(["at once", "later", "too late", "not"], "compensation");
      if (how === "later") await sim.sleep(5);
      if (how === "too late") await sim.sleep(20);
      if (how === "not") throw new Error("broken");
      witness.note({ what: "undone", dispatch: payload });
    },
    route: witness.watched(sim.oneOf([leastLoaded(), first], "route")),
  });
  witness.guard(group);
  witness.audit();
  const manners = ["after a while", "crash after a while", "at once", "crash", "reject"] as const;
  const picker = (id: string): Callbacks<Delivery<string>> => ({
    init: (ctx) => witness.join(group, ctx.self, { id, maxInFlight: sim.oneOf([2, 1], "most in flight") }),
    handle: (ctx, delivery) => witness.work(ctx, delivery, sim.oneOf<Manner>(manners, "manner")),
  });
  sim.calm();
  for (const id of ["picker0", "picker1", "picker2"]) system.spawn(picker(id), { label: id });
  await sim.quiet();
  sim.storm();
  const controller = new AbortController();
  for (const name of ["ann", "bob", "cid", "dan"])
    void witness.dispatch(name, group, {
      deadlineMs: sim.oneOf([50, 12], "deadline"),
      ...(name === "ann" ? { signal: controller.signal } : {}),
    });
  await sim.sleep(sim.oneOf([100, 7], "abort"));
  witness.note({ what: "withdraw", dispatch: "ann" });
  controller.abort(new Error("enough"));
  await settled(sim);
}

/** Consumers that get bare payloads: a consumer has the payload when it survives the hand-off window. */
async function handedOff(sim: Simulation): Promise<void> {
  const system = sim.system({ name: "s" });
  const rules: Rules = { maxAttempts: 3, onCrash: "reroute" };
  const witness = new Witness(sim, system, rules);
  const handoff = 10;
  const group = new ConsumerGroup<string>({
    ...rules,
    name: "pickers",
    handoffMs: handoff,
    deadlineMs: sim.oneOf([1_000, 15], "deadline"),
    route: witness.watched(leastLoaded(), handoff),
  });
  witness.guard(group);
  const picker = (id: string): Callbacks<string> => ({
    init: (ctx) => witness.join(group, ctx.self, { id, maxInFlight: 1, acknowledges: false }),
    handle: async () => {
      const life = sim.oneOf([0, 5, 10, 20], "life");
      if (life === 0) return;
      await sim.sleep(life);
      throw new Error("broken");
    },
  });
  sim.calm();
  for (const id of ["picker0", "picker1", "picker2"]) system.spawn(picker(id), { label: id });
  await sim.quiet();
  sim.storm();
  for (const name of ["ann", "bob", "cid", "dan"])
    void witness.dispatch(name, group, { deadlineMs: sim.oneOf([1_000, 15], "deadline") });
  await settled(sim);
}

/** Consumers that have another process settle for them: in any order with their own end. */
async function settledByAnother(sim: Simulation): Promise<void> {
  const system = sim.system({ name: "s" });
  const rules: Rules = { maxAttempts: 3, onCrash: "reroute" };
  const witness = new Witness(sim, system, rules);
  const group = new ConsumerGroup<string>({
    ...rules,
    name: "pickers",
    route: witness.watched(sim.oneOf([leastLoaded(), first], "route")),
  });
  witness.guard(group);
  witness.audit();
  interface Given {
    readonly by: Context<Delivery<string>>;
    readonly delivery: Delivery<string>;
  }
  const clerk = system.spawn<Given>(
    {
      handle: async (_ctx, { by, delivery }) => {
        if (sim.choose(2, "haste") === 1) await sim.sleep(5);
        const how = sim.oneOf<"ack" | "reject">(["ack", "reject"], "how");
        const refusal = ((): unknown => {
          try {
            witness.settle(by, delivery, how);
            return undefined;
          } catch (error) {
            return error;
          }
        })();
        sim.sometimes("settling for one that has exited is refused", refusal instanceof ProcessExitedError);
        if (by.alive !== (refusal === undefined)) throw new Error(`settling was ${refusal ?? "not refused"}`);
      },
    },
    { label: "clerk" },
  );
  const picker = (id: string): Callbacks<Delivery<string>> => ({
    init: (ctx) => witness.join(group, ctx.self, { id }),
    handle: (ctx, delivery) => {
      const { attempt, payload } = delivery;
      witness.note({ what: "take", dispatch: payload, life: sim.path(ctx.self), attempt });
      ctx.send(clerk, { by: ctx, delivery });
    },
  });
  sim.calm();
  for (const id of ["picker0", "picker1", "picker2"]) system.spawn(picker(id), { label: id });
  await sim.quiet();
  sim.storm();
  for (const name of ["ann", "bob", "cid", "dan"])
    void witness.dispatch(name, group, { deadlineMs: sim.oneOf([1_000, 5], "deadline") });
  await settled(sim);
}

const UNREST: FaultOptions = {
  pause: { of: "s/**", forMs: [1, 5, 100] },
  delay: { of: "s/**", atMost: 2 },
  rush: { atMost: 2 },
};

describe("a dispatch that is given up, under any schedule", () => {
  it("tells its caller why, and releases all slots that it held [D15]", async () => {
    await explored(givenUp, {
      quick: 100,
      name: "given up",
      faults: {
        ...UNREST,
        crash: [{ of: ["s/picker*", "s/ann"] }, { of: ["s/dispatch*", "s/group pickers"], reason: "kill" }],
      },
    });
  });
});

describe("a crash policy, under any schedule,", () => {
  it("fails at once the envelope on which a consumer crashes, and no envelope that the consumer had not begun [D3]", async () => {
    await explored((sim) => policies(sim, "fail"), {
      quick: 100,
      name: "fail",
      faults: { ...UNREST, crash: { of: "s/picker*", atMost: 2 } },
      sometimes: ["failed by policy", "returned by one that had not come to it"],
    });
  });

  it("compensates that envelope once, and says whether the compensation succeeded [D3]", async () => {
    await explored((sim) => policies(sim, "compensate"), {
      quick: 100,
      name: "compensate",
      faults: {
        ...UNREST,
        crash: [{ of: "s/picker*", atMost: 2 }, { of: (path) => path.includes("compensation") }],
      },
      sometimes: ["compensated", "compensation failed", "returned by one that had not come to it"],
    });
  });
});

describe("a consumer, under any schedule,", () => {
  it("that cannot acknowledge counts as delivered to when it survives the hand-off window", async () => {
    await explored(handedOff, {
      quick: 100,
      name: "hand-off",
      // An EXIT that is on its way when the window ends has come too late.
      faults: { ...UNREST, delay: { of: "s/picker*" }, crash: { of: "s/picker*", atMost: 2 } },
      sometimes: ["handed off", "handed off to one that ends at once", "delivered after a crash"],
    });
  });

  it("may let another process settle for it while it is alive [D9]", async () => {
    await explored(settledByAnother, {
      quick: 100,
      name: "settled by another",
      faults: { ...UNREST, delay: { of: "s/clerk" }, crash: { of: "s/picker*", atMost: 2 } },
      sometimes: ["settling for one that has exited is refused"],
    });
  });
});
