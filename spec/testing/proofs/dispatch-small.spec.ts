// Small dispatches in every schedule, the two largest in every one of at most four preemptions: a property that holds here holds for
// certain.

import {
  type Callbacks,
  ConsumerGroup,
  type Delivery,
  leastLoaded,
  type RoutingFunction,
  supervisor,
} from "signalbox";
import type { FaultOptions, Simulation } from "signalbox/testing";
import { describe, it } from "vitest";
import type { ExhaustiveOptions } from "../../../lib/testing/strategies/exhaustive.js";
import { exhausted } from "../../support/proof.js";
import { type Manner, type Rules, Witness } from "./dispatch-support.js";

const first: RoutingFunction<string> = (_envelope, [one]) => one;

interface Small {
  readonly consumers: readonly string[];
  readonly orders: readonly string[];
  readonly manners: readonly [Manner, ...Manner[]];
  readonly route: RoutingFunction<string>;
  readonly maxInFlight: number;
  readonly deadline: number;
  /** Whether a supervisor restarts consumers that ended. */
  readonly supervised?: boolean;
  /** Nobody follows spawns and exits: a dispatch has no process until it needs one. */
  readonly unseen?: boolean;
}

async function small(sim: Simulation, plan: Small): Promise<void> {
  const system = sim.system({ name: "s" });
  const rules: Rules = { maxAttempts: 2, onCrash: "reroute" };
  const witness = new Witness(sim, system, rules, plan.unseen === true);
  const route = witness.watched(plan.route);
  const patience = plan.supervised === true ? Number.POSITIVE_INFINITY : 0;
  const group = new ConsumerGroup<string>({ ...rules, name: "pickers", patienceMs: patience, route });
  witness.guard(group);
  witness.audit();
  const picker = (id: string): Callbacks<Delivery<string>> => ({
    init: (ctx) => witness.join(group, ctx.self, { id, maxInFlight: plan.maxInFlight }),
    handle: (ctx, delivery) => witness.work(ctx, delivery, sim.oneOf(plan.manners, "manner")),
  });
  sim.calm();
  if (plan.supervised === true) {
    const children = plan.consumers.map((id) => ({ id, start: picker(id) }));
    await system.start(supervisor({ intensity: 100, children }));
  } else for (const id of plan.consumers) system.spawn(picker(id), { label: id });
  await sim.quiet();
  sim.storm();
  for (const name of plan.orders) void witness.dispatch(name, group, { deadlineMs: plan.deadline });
  await sim.sleep(100);
  sim.calm();
  await sim.sleep(100);
}

const PATIENCE_MS = 8;

async function patient(sim: Simulation): Promise<void> {
  const system = sim.system({ name: "s" });
  const rules: Rules = { maxAttempts: 2, onCrash: "reroute" };
  const witness = new Witness(sim, system, rules, false);
  const route = witness.watched(first);
  const group = new ConsumerGroup<string>({ ...rules, name: "pickers", patienceMs: PATIENCE_MS, route });
  witness.guard(group);
  witness.audit();
  let told = 0;
  const dispatched = witness.dispatch("tea", group, { deadlineMs: Number.POSITIVE_INFINITY }).then(() => {
    told = sim.now;
  });
  sim.finally("it waits no longer than its patience, which starts again when the only member ends", () => {
    const ends = witness.deeds.filter((deed) => deed.what === "exit" && deed.who === "s/newcomer");
    return told <= Math.max(0, ...ends.map(({ at }) => at).filter((at) => at <= told)) + PATIENCE_MS;
  });
  await sim.sleep(sim.oneOf([4, PATIENCE_MS, 12], "newcomer"));
  const newcomer: Callbacks<Delivery<string>> = {
    init: (ctx) => witness.join(group, ctx.self, { id: "newcomer" }),
    handle: (ctx, delivery) => witness.work(ctx, delivery, sim.oneOf(["at once", "crash"], "manner")),
  };
  system.spawn(newcomer, { label: "newcomer" });
  await dispatched;
}

async function all(
  name: string,
  plan: Small,
  faults: FaultOptions,
  search: ExhaustiveOptions = {},
): Promise<void> {
  await exhausted((sim) => small(sim, plan), { name, faults, search, quick: { preemptions: 0 }, long: true });
}

describe("every schedule", () => {
  it("with at most four preemptions, of one envelope and two consumers that may crash at any moment", async () => {
    await all(
      "one envelope",
      {
        consumers: ["ann", "bob"],
        orders: ["tea"],
        // Consumers that acknowledge at once are in the cases below.
        manners: ["after a while", "acknowledge and crash"],
        route: first,
        maxInFlight: 1,
        deadline: Number.POSITIVE_INFINITY,
      },
      { crash: { of: ["s/ann", "s/bob"], atMost: 2 } },
      // 44,126 schedules. All that there are take as long as ten other proofs together.
      { preemptions: 4 },
    );
  });

  it("of two envelopes, and consumers that take one at a time", async () => {
    await all(
      "two envelopes",
      {
        consumers: ["ann", "bob"],
        orders: ["tea", "jam"],
        manners: ["at once"],
        route: first,
        maxInFlight: 1,
        deadline: Number.POSITIVE_INFINITY,
      },
      { crash: { of: ["s/ann", "s/bob"] } },
    );
  });

  it("of two envelopes that have no process until they need one", async () => {
    await all(
      "unseen",
      {
        consumers: ["ann", "bob"],
        orders: ["tea", "jam"],
        manners: ["at once"],
        route: first,
        maxInFlight: 1,
        deadline: Number.POSITIVE_INFINITY,
        unseen: true,
      },
      { crash: { of: ["s/ann", "s/bob"] } },
    );
  });

  it("of one envelope that has no process until its deadline passes or its watcher is killed", async () => {
    await all(
      "unseen deadline",
      {
        consumers: ["ann"],
        orders: ["tea"],
        manners: ["at once", "after a while"],
        route: leastLoaded(),
        maxInFlight: 1,
        deadline: 5,
        unseen: true,
      },
      { crash: [{ of: "s/ann" }, { of: "s/group *", reason: "kill" }], rush: { atMost: 1 } },
    );
  });

  it("with at most four preemptions, of one envelope and a consumer that crashes and is restarted", async () => {
    await all(
      "supervised",
      {
        consumers: ["ann"],
        orders: ["tea"],
        manners: ["at once", "after a while"],
        route: first,
        maxInFlight: 1,
        deadline: Number.POSITIVE_INFINITY,
        supervised: true,
      },
      { crash: { of: "s/supervisor/*" } },
      { preemptions: 4 },
    );
  });

  it("of one envelope that may pass its deadline or lose its conversation", async () => {
    await all(
      "deadline",
      {
        consumers: ["ann"],
        orders: ["tea"],
        manners: ["at once", "after a while"],
        route: leastLoaded(),
        maxInFlight: 1,
        deadline: 5,
      },
      { crash: [{ of: "s/ann" }, { of: "s/dispatch", reason: "kill" }], rush: { atMost: 1 } },
    );
  });

  it("of one envelope for an empty group: it waits for a member until its patience ends", async () => {
    await exhausted(patient, {
      name: "patience",
      quick: { preemptions: 0 },
      faults: { crash: { of: "s/newcomer" } },
      sometimes: ["nobody left", "delivered at the first attempt", "waited"],
    });
  });
});
