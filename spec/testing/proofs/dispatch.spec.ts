// Dispatch under any schedule: whichever consumers crash when, no envelope is lost, none is settled twice, and each
// outcome lists the crashes that happened.

import {
  type Callbacks,
  ConsumerGroup,
  type Delivery,
  leastLoaded,
  type RoutingFunction,
  roundRobin,
  supervisor,
  weighted,
} from "signalbox";
import type { FaultOptions, Simulation } from "signalbox/testing";
import { describe, it } from "vitest";
import { explored } from "../../support/proof.js";
import { type Manner, Witness } from "./dispatch-support.js";

const FOREVER = Number.POSITIVE_INFINITY;

const first: RoutingFunction<string> = (_envelope, [one]) => one;

const WELL: readonly [Manner, ...Manner[]] = ["at once", "at once", "after a while"];

interface Floor {
  /** Whether a supervisor restarts consumers that ended. */
  readonly supervised: boolean;
  readonly manners: readonly [Manner, ...Manner[]];
  readonly maxAttempts: number;
}

/** Five pickers, and ten orders for them. */
async function floor(sim: Simulation, { supervised, manners, maxAttempts }: Floor): Promise<void> {
  const system = sim.system({ name: "s" });
  const witness = new Witness(sim, system, { maxAttempts, onCrash: "reroute" });
  const route = sim.oneOf([leastLoaded(), roundRobin(), first, weighted()], "route");
  const group = new ConsumerGroup<string>({
    name: "pickers",
    deadlineMs: FOREVER,
    patienceMs: supervised ? FOREVER : 0,
    maxAttempts,
    route: witness.watched(route),
  });
  witness.guard(group);
  witness.audit();
  const maxInFlight = sim.oneOf([1, 2, FOREVER], "most in flight");
  const picker = (id: string, most = maxInFlight): Callbacks<Delivery<string>> => ({
    init: (ctx) => witness.join(group, ctx.self, { id, maxInFlight: most }),
    handle: (ctx, delivery) =>
      witness.work(ctx, delivery, id === "newcomer" ? "at once" : sim.oneOf(manners, "manner")),
  });
  const ids = ["picker0", "picker1", "picker2", "picker3", "picker4"];
  sim.calm();
  if (supervised) {
    sim.finally("every dispatch is delivered", () =>
      witness.deeds.every((deed) => deed.what !== "end" || deed.end.type === "delivered"),
    );
    const children = ids.map((id) => ({ id, start: picker(id) }));
    await system.start(supervisor({ intensity: 100, children }));
  } else {
    for (const id of ids) system.spawn(picker(id), { label: id });
    await sim.quiet();
  }
  sim.storm();
  for (let i = 0; i < 10; i++) {
    void witness.dispatch(`order${i}`, group);
    if (i === 5) await sim.sleep(sim.oneOf([0, 5], "later"));
  }
  await sim.sleep(sim.oneOf([3, 8], "later"));
  if (!supervised && sim.choose(2, "leave") === 1) witness.leave(group, "picker0");
  await witness.noneWaitsInVain(group, route === first);
  await sim.sleep(1_000);
  sim.calm();
  // What all of them have rejected waits for one that has not.
  if (supervised) system.spawn(picker("newcomer", FOREVER), { label: "newcomer" });
  await sim.sleep(1_000);
}

const UNREST: FaultOptions = {
  pause: { of: "s/**", forMs: [1, 5, 100] },
  delay: { of: "s/**", atMost: 3 },
  rush: { atMost: 1 },
};

describe("dispatch, under any schedule", () => {
  it("loses no envelope when consumers crash and are replaced, and settles none twice [D8]", async () => {
    const manners = [...WELL, ...WELL, "acknowledge and crash", "crash", "reject"] as const;
    await explored((sim) => floor(sim, { supervised: true, manners, maxAttempts: FOREVER }), {
      quick: 60,
      name: "supervised pickers",
      faults: {
        ...UNREST,
        crash: [
          { of: "s/supervisor/*", atMost: 4 },
          { of: "s/supervisor/*", reason: "kill" },
        ],
      },
      sometimes: [
        "delivered after two crashes",
        "returned by one that had not come to it",
        "acknowledged by one that ends at once",
        "waited",
      ],
    });
  });

  it("delivers each envelope or fails with its history when crashed consumers are not replaced [D5]", async () => {
    const manners = [...WELL, "after a while", "crash", "reject"] as const;
    await explored(
      (sim) => floor(sim, { supervised: false, manners, maxAttempts: sim.oneOf([3, 2, 1], "attempts") }),
      {
        quick: 100,
        name: "pickers",
        faults: {
          ...UNREST,
          crash: [
            { of: "s/picker*", atMost: 4 },
            { of: ["s/dispatch*", "s/group *"], atMost: 2, reason: "kill" },
          ],
        },
        sometimes: ["out of attempts", "nobody left", "its conversation died at work"],
      },
    );
  });
});
