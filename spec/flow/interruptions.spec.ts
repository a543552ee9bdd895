// Random programs on a host that is killed at every point at which it does something with its store or the world. However it goes,
// the flow ends as an uninterrupted one does.

import fc from "fast-check";
import { System } from "signalbox";
import { flowHost } from "signalbox/flow";
import { memory } from "signalbox/store";
import { testClock } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { MortalSource } from "../../lib/testing/flows/mortal-store.js";
import { withPoints } from "../chaos/points.js";
import { proving, sized } from "../support/proof.js";
import { endOf, programFlow, type World } from "./programs/interpret.js";
import { mailFor, mailOf, type Node, programs } from "./programs/program.js";
import { type Deed, findingsOf } from "./programs/record.js";

interface Interrupted {
  readonly deeds: readonly Deed[];
  /** Points that were passed in all lives. */
  readonly points: number;
}

/** Runs a program to its end. The host dies at these points, counted in each life from its begin. */
async function interrupted(program: Node, kills: readonly number[]): Promise<Interrupted> {
  const clock = testClock();
  const store = new MortalSource(memory());
  const deeds: Deed[] = [];
  let points = 0;
  for (let life = 0; ; life++) {
    const killAt = kills[life];
    let isDead = false;
    let die!: () => void;
    const death = new Promise<"dead">((resolve) => {
      die = () => resolve("dead");
    });
    let passed = 0;
    const point = (): void => {
      points++;
      if (++passed !== killAt || isDead) return;
      isDead = true;
      store.kill();
      die();
    };
    const add = (deed: Deed): void => {
      if (isDead) return;
      deeds.push(deed);
      point();
    };
    const world: World = {
      ran: (flow, step, attempt, token) => {
        point();
        add({ type: "ran", flow, step, attempt, token });
      },
      seen: (flow, step, booked) => add({ type: "seen", flow, step, booked }),
    };
    const system = new System({ environment: clock.environment, report: false });
    const whole = async (): Promise<"ended"> => {
      const flow = programFlow(world);
      const host = await system.start(flowHost({ store: withPoints(store, point), flows: [flow] }));
      const run = await host.start(flow, program, { id: "f" });
      for (const topic of mailOf(program)) await run.send(topic, mailFor(topic), { messageId: topic });
      add({ type: "ended", flow: "f", outcome: await endOf(run.result()) });
      return "ended";
    };
    const end = await clock.until(Promise.race([whole(), death]), { limit: 100_000 });
    await clock.until(system.stop({ timeoutMs: 0 }));
    if (end === "ended") return { deeds, points };
    await clock.until(store.bury());
  }
}

const CLEAN = { ended: 1, lost: [], repeated: [], bookings: [], wrong: [] };

async function endsWell(program: Node, kills: readonly number[]): Promise<number> {
  const { deeds, points } = await interrupted(program, kills);
  expect(findingsOf(new Map([["f", program]]), deeds), `killed at ${kills.join(", then ")}`).toEqual(CLEAN);
  return points;
}

/** How many points of a program `npm test` kills its host at: they lie apart, and begin anywhere. */
const FEW_POINTS = 12;

const ANY = programs({ sleepMs: 100_000, mail: true });

describe("a random program of flows", () => {
  it("ends as its model says when nothing interrupts it", async () => {
    await fc.assert(
      fc.asyncProperty(ANY, async (program) => {
        await endsWell(program, []);
      }),
      { numRuns: sized(15, 0.5) },
    );
  });

  it("ends so when its host is killed at any point, and repeats no completed step [J50]", async () => {
    await fc.assert(
      fc.asyncProperty(ANY, fc.nat(), async (program, first) => {
        const points = await endsWell(program, []);
        const apart = proving ? 1 : Math.ceil(points / FEW_POINTS);
        for (let point = 1 + (first % apart); point <= points; point += apart)
          await endsWell(program, [point]);
      }),
      { numRuns: sized(3, 0.01) },
    );
  });

  it("ends so when host after host is killed", async () => {
    const kills = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(ANY, kills, async (program, points) => {
        await endsWell(program, points);
      }),
      { numRuns: sized(12, 0.2) },
    );
  });
});
