// Ten of the planted bugs, each of a classic kind: every strategy finds each of them, and none finds anything once it is mended.
// The second table of bugs in docs/testing.md is what these tests measure.

import {
  type Exploration,
  type ExploreOptions,
  explore,
  ScheduleFailedError,
  type SearchStrategy,
  simulate,
} from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { delayBounded } from "../../../lib/testing/strategies/delay-bounded.js";
import { exhaustive } from "../../../lib/testing/strategies/exhaustive.js";
import { pct } from "../../../lib/testing/strategies/pct.js";
import { portfolio } from "../../../lib/testing/strategies/portfolio.js";
import { pos } from "../../../lib/testing/strategies/pos.js";
import { randomWalk } from "../../../lib/testing/strategies/random-walk.js";
import { proving, sized } from "../../support/proof.js";
import { cancelledTimer } from "../planted/cancelled-timer.js";
import { doubleSettle } from "../planted/double-settle.js";
import { droppedAck } from "../planted/dropped-ack.js";
import { lateReply } from "../planted/late-reply.js";
import { leakedMonitor } from "../planted/leaked-monitor.js";
import { lostWakeup } from "../planted/lost-wakeup.js";
import { optionsOf, type Planted } from "../planted/planted.js";
import { registerExit } from "../planted/register-exit.js";
import { restartIntensity } from "../planted/restart-intensity.js";
import { staleSnapshot } from "../planted/stale-snapshot.js";
import { unlinkRace } from "../planted/unlink-race.js";
import { medianOf, shownTables, tableText } from "../support/table.js";

interface Case {
  readonly planted: Planted;
  /** Schedules within which each strategy finds it, from each seed. */
  readonly within: number;
  /** The mended service has about a thousand schedules: `npm test` runs those that leave the usual order once at most. */
  readonly many?: boolean;
}

const CASES: readonly Case[] = [
  { planted: lostWakeup, within: 30 },
  { planted: registerExit, within: 150 },
  { planted: droppedAck, within: 500 },
  { planted: doubleSettle, within: 150 },
  { planted: cancelledTimer, within: 500, many: true },
  { planted: staleSnapshot, within: 20 },
  { planted: unlinkRace, within: 200 },
  { planted: restartIntensity, within: 150, many: true },
  { planted: lateReply, within: 100 },
  { planted: leakedMonitor, within: 30 },
];

const SEEDS = proving ? [1, 2, 3, 4, 5] : [1];

interface Way {
  readonly name: string;
  readonly make: () => SearchStrategy;
  readonly seeds: readonly number[];
}

const WAYS: readonly Way[] = [
  { name: "portfolio", make: portfolio, seeds: SEEDS },
  { name: "random walk", make: randomWalk, seeds: SEEDS },
  { name: "PCT", make: pct, seeds: SEEDS },
  { name: "POS", make: pos, seeds: SEEDS },
  { name: "delay-bounded", make: delayBounded, seeds: SEEDS },
  // Leaves nothing to chance: all seeds are one.
  { name: "exhaustive", make: exhaustive, seeds: [1] },
];

const MOST_STEPS = 15;
const MENDED_SCHEDULES = sized(100, 1, 100);
/** Far more than any of the scenarios has: a search that stops here is not complete. */
const MOST_SCHEDULES = 20_000;

/** How the wrong service failed: by each strategy, from each of its seeds. */
type Failures = ReadonlyMap<Way, readonly ScheduleFailedError[]>;

const known = new Map<Planted, Promise<Failures>>();

function failuresOf(one: Case): Promise<Failures> {
  const failures = known.get(one.planted) ?? searchAll(one);
  known.set(one.planted, failures);
  return failures;
}

async function searchAll({ planted, within }: Case): Promise<Failures> {
  const failures = new Map<Way, ScheduleFailedError[]>();
  for (const way of WAYS) {
    const found: ScheduleFailedError[] = [];
    for (const seed of way.seeds)
      found.push(await search(planted, { strategy: way.make(), seed, schedules: within }));
    failures.set(way, found);
  }
  return failures;
}

/** Explores the wrong service, which has to fail. */
async function search(planted: Planted, options: ExploreOptions): Promise<ScheduleFailedError> {
  const failure = await exploration(planted, true, options).then(
    ({ schedules, strategy }) => `nothing in ${schedules} schedules by ${strategy}, seed ${options.seed}`,
    (error: unknown) => error,
  );
  if (failure instanceof ScheduleFailedError) return failure;
  throw new Error(`${planted.bug}: ${failure}`, { cause: failure });
}

function exploration(planted: Planted, wrong: boolean, options: ExploreOptions): Promise<Exploration> {
  return explore(planted.scenario(wrong), { ...optionsOf(planted), name: planted.bug, ...options });
}

/** Runs every schedule that the mended service has, or those within a bound. */
function allOf({ planted, many = false }: Case): Promise<Exploration> {
  const strategy = exhaustive(many && !proving ? { preemptions: 1 } : {});
  // A schedule that was given up as redundant has no end with which a second run could be compared.
  return exploration(planted, false, { strategy, schedules: MOST_SCHEDULES, recheck: 0 });
}

describe.each(CASES)("by any strategy, the planted bug: $planted.bug", (one) => {
  const { planted, within } = one;

  it("does not show in the ordinary schedule", async () => {
    expect(await simulate(planted.scenario(true), optionsOf(planted))).toMatchObject({ schedules: 1 });
  });

  it(`is found by every strategy within ${within} schedules, and told in at most ${MOST_STEPS} steps`, async () => {
    const failures = await failuresOf(one);
    expect([...failures.keys()]).toEqual(WAYS);
    for (const [{ seeds }, found] of failures) {
      expect(found.map((error) => error.found.seed)).toEqual(seeds);
      for (const error of found) {
        expect(error.cause).toMatchObject({
          code: planted.code,
          message: expect.stringContaining(planted.says),
        });
        expect(error.found.schedule).toBeGreaterThan(1);
        expect(error.found.schedule).toBeLessThanOrEqual(within);
        expect(error.trace.steps.length).toBeLessThanOrEqual(MOST_STEPS);
      }
    }
  });

  it("fails in the same way when a token is replayed", async () => {
    for (const [error] of (await failuresOf(one)).values()) {
      if (error === undefined) throw new Error("no seed");
      const again = await search(planted, { replay: error.token });
      expect(again.cause).toMatchObject({ code: planted.code, message: (error.cause as Error).message });
      expect(again.trace).toEqual(error.trace);
      expect(again.token).toBe(error.token);
      expect(again.found.schedule).toBe(1);
    }
  });

  it("is gone when it is mended: in the schedules that failed, in those of the same exploration, in all that there are", async () => {
    for (const { choices } of [...(await failuresOf(one)).values()].flat())
      await simulate(planted.scenario(false), { ...optionsOf(planted), choices });
    const explored = await exploration(planted, false, { seed: 1, schedules: MENDED_SCHEDULES });
    expect(explored).toMatchObject({ schedules: MENDED_SCHEDULES, bounded: 0 });
    expect(explored.distinctSchedules).toBeGreaterThan(5);
    expect(await allOf(one)).toMatchObject({ complete: true, bounded: 0 });
  });
});

describe("docs/testing.md", () => {
  it.runIf(proving)("shows how the strategies compare", async () => {
    const [, shown = []] = shownTables();
    const rows = await Promise.all(CASES.map(rowOf));
    const titles = ["bug", "bound", "steps", ...WAYS.map(({ name }) => name), "all when mended"];
    const right = [titles, titles.map((_, column) => (column < 1 ? "---" : "--:")), ...rows];
    expect(shown, `the second table has to be:\n\n${tableText(right)}\n`).toEqual(right);
  });
});

async function rowOf(one: Case): Promise<string[]> {
  const { planted, within } = one;
  const failures = [...(await failuresOf(one)).values()];
  const steps = Math.max(...failures.flat().map(({ trace }) => trace.steps.length));
  const needed = failures.map((found) => medianOf(found.map((error) => error.found.schedule)));
  const { schedules } = await allOf(one);
  return [planted.bug, ...[within, steps, ...needed, schedules].map(String)];
}
