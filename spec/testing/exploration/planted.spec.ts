// Planted bugs: the default strategy finds each of them and reports it in few steps, and finds nothing once the bug is mended.
// The first table of bugs in docs/testing.md is what these tests measure.

import {
  type Exploration,
  type ExploreOptions,
  explore,
  ScheduleFailedError,
  simulate,
} from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { proving, sized } from "../../support/proof.js";
import { allPlanted, optionsOf, type Planted } from "../planted/planted.js";
import { medianOf, shownTables, tableText } from "../support/table.js";

const ALL = await allPlanted();

/** The median of the seeds is at most this many schedules. */
const WITHIN = 500;
/** One seed may be unlucky: a search that is longer has failed. */
const MOST_SCHEDULES = 5 * WITHIN;
const MOST_STEPS = 40;
const SEEDS = proving ? [1, 2, 3, 4, 5] : [1];
const MENDED_SCHEDULES = sized(60, 0.2, 60);

const known = new Map<Planted, Promise<readonly ScheduleFailedError[]>>();

/** How the wrong service failed, from each seed. */
function failuresOf(planted: Planted): Promise<readonly ScheduleFailedError[]> {
  const failures = known.get(planted) ?? searchAll(planted);
  known.set(planted, failures);
  return failures;
}

async function searchAll(planted: Planted): Promise<readonly ScheduleFailedError[]> {
  const found: ScheduleFailedError[] = [];
  for (const seed of SEEDS) found.push(await search(planted, { seed, schedules: MOST_SCHEDULES }));
  return found;
}

/** Explores the wrong service, which has to fail. */
async function search(planted: Planted, options: ExploreOptions): Promise<ScheduleFailedError> {
  const failure = await exploration(planted, true, options).then(
    ({ schedules }) => `nothing in ${schedules} schedules, seed ${options.seed}`,
    (error: unknown) => error,
  );
  if (failure instanceof ScheduleFailedError) return failure;
  throw new Error(`${planted.bug}: ${failure}`, { cause: failure });
}

function exploration(planted: Planted, wrong: boolean, options: ExploreOptions): Promise<Exploration> {
  return explore(planted.scenario(wrong), { ...optionsOf(planted), name: planted.bug, ...options });
}

describe.each(ALL)("the planted bug: $bug", (planted) => {
  it("does not show in the ordinary schedule, unless it says so", async () => {
    const ordinary = await simulate(planted.scenario(true), optionsOf(planted)).then(
      () => "passes",
      (error: unknown) => error,
    );
    if (planted.plain === true) expect(ordinary).toBeInstanceOf(ScheduleFailedError);
    else expect(ordinary).toBe("passes");
  });

  it(`is found within ${WITHIN} schedules, and reported in at most ${MOST_STEPS} steps`, async () => {
    const failures = await failuresOf(planted);
    expect(failures.map((error) => error.found.seed)).toEqual(SEEDS);
    for (const error of failures) {
      expect(error.cause).toMatchObject({
        code: planted.code,
        message: expect.stringContaining(planted.says),
      });
      expect(error.trace.steps.length, error.message).toBeLessThanOrEqual(MOST_STEPS);
    }
    if (proving) expect(medianOf(failures.map((error) => error.found.schedule))).toBeLessThanOrEqual(WITHIN);
  });

  it("fails in the same way when a token is replayed", async () => {
    for (const error of await failuresOf(planted)) {
      const again = await search(planted, { replay: error.token });
      expect(again.cause).toMatchObject({ code: planted.code, message: (error.cause as Error).message });
      expect(again.trace).toEqual(error.trace);
      expect(again.token).toBe(error.token);
    }
  });

  it("is gone when it is mended: in the schedules that failed, and in all others", async () => {
    for (const { choices } of await failuresOf(planted))
      await simulate(planted.scenario(false), { ...optionsOf(planted), choices });
    const explored = await exploration(planted, false, { seed: 1, schedules: MENDED_SCHEDULES });
    expect(explored).toMatchObject({ schedules: MENDED_SCHEDULES, bounded: 0 });
    expect(explored.distinctSchedules).toBeGreaterThan(1);
  });
});

describe("the planted bugs", () => {
  it("have a name and an error each", () => {
    expect(new Set(ALL.map(({ bug }) => bug)).size).toBe(ALL.length);
    for (const { bug, wrong, code, says } of ALL) expect([bug, wrong, code, says]).not.toContain("");
  });

  it.skipIf(proving)("are all in the table of docs/testing.md, which `npm run prove` measures", () => {
    const [shown = []] = shownTables();
    expect(shown.slice(2).map((cells) => cells.slice(0, 2))).toEqual(
      ALL.map(({ bug, wrong }) => [bug, wrong]),
    );
  });

  it.runIf(proving)("are in docs/testing.md as measured", async () => {
    const [shown = []] = shownTables();
    const titles = ["bug", "what is wrong", "schedules", "most", "steps"];
    const rows: string[][] = [];
    for (const planted of ALL) rows.push(await rowOf(planted));
    const right = [titles, titles.map((_, column) => (column < 2 ? "---" : "--:")), ...rows];
    expect(shown, `the first table has to be:\n\n${tableText(right)}\n`).toEqual(right);
  });
});

async function rowOf(planted: Planted): Promise<string[]> {
  const failures = await failuresOf(planted);
  const needed = failures.map((error) => error.found.schedule);
  const steps = Math.max(...failures.map(({ trace }) => trace.steps.length));
  return [planted.bug, planted.wrong, ...[medianOf(needed), Math.max(...needed), steps].map(String)];
}
