// Schedules as a pure machine, under clocks that stand, run and jump.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { timeText } from "../../../lib/flow/schedules/calendar.js";
import { loadCron } from "../../../lib/flow/schedules/cron.js";
import { atTimes, every } from "../../../lib/flow/schedules/recurrence.js";
import {
  AT_ONCE,
  decide,
  initial,
  jitterOf,
  type ScheduleConfig,
  type ScheduleEffect,
  type ScheduleEvent,
  type ScheduleState,
} from "../../../lib/flow/schedules/schedule-machine.js";
import { MOST_SPANS } from "../../../lib/flow/schedules/settled.js";
import { sized } from "../../support/proof.js";

const parse = await loadCron();
const MINUTE = 60_000;
const minutely: ScheduleConfig = {
  ...{ name: "report", recurrence: every(MINUTE), missed: "last", overlap: "allow" },
  ...{ graceMs: 10_000, jitterMs: 0, backfill: 100 },
};

/** Runs events from a start at time 0, and gives the last state and the effects of all. */
function run(config: ScheduleConfig, ...events: ScheduleEvent[]): [ScheduleState, ScheduleEffect[]] {
  let state = initial(config, 0);
  const effects: ScheduleEffect[] = [];
  for (const event of events) {
    const [next, more] = decide(config, state, event);
    state = next;
    effects.push(...more);
  }
  return [state, effects];
}

const tick = (now: number, busy = false): ScheduleEvent => ({ type: "tick", now, busy });
const starts = (effects: readonly ScheduleEffect[]): number[] =>
  effects.flatMap((effect) => (effect.type === "start" ? [effect.due / MINUTE] : []));

describe("a schedule", () => {
  it("starts a flow at each due time, whose id names the schedule and the due time", () => {
    const [state, effects] = run(
      minutely,
      tick(MINUTE - 1),
      tick(MINUTE),
      tick(MINUTE),
      tick(2 * MINUTE + 5),
    );
    expect(effects).toEqual([
      { type: "start", id: "report/1970-01-01T00:01:00.000Z", due: MINUTE },
      { type: "start", id: "report/1970-01-01T00:02:00.000Z", due: 2 * MINUTE },
    ]);
    expect(state).toMatchObject({
      fired: 2 * MINUTE,
      due: 3 * MINUTE,
      last: "report/1970-01-01T00:02:00.000Z",
    });
  });

  it("of single times ends with the last of them", () => {
    const [state, effects] = run({ ...minutely, recurrence: atTimes([5, 9]) }, tick(5), tick(9), tick(100));
    expect(effects.map((effect) => effect.type)).toEqual(["start", "start"]);
    expect(state).toMatchObject({ due: null, wake: null });
  });

  it("starts nothing while it is paused, and skips what was due then", () => {
    const resume = { type: "resume", now: 5 * MINUTE + 1 } as const;
    const [state, effects] = run(
      minutely,
      tick(MINUTE),
      { type: "pause" },
      tick(4 * MINUTE),
      resume,
      tick(6 * MINUTE),
    );
    expect(starts(effects)).toEqual([1, 6]);
    expect(decide(minutely, state, resume)).toEqual([state, []]);
  });

  it("starts a flow on demand, and is due as before", () => {
    const [state, effects] = run(minutely, { type: "trigger", id: "by-hand", due: 10 });
    expect(effects).toEqual([{ type: "start", id: "report/by-hand", due: 10 }]);
    expect(state).toMatchObject({ due: MINUTE, fired: null, last: "report/by-hand" });
  });

  it("that is defined anew goes on from now, and stays paused if it is paused [U17]", () => {
    const [state] = run(minutely, tick(MINUTE));
    const hourly = { ...minutely, recurrence: every(60 * MINUTE) };
    const redefined = { type: "redefined", now: 5 * MINUTE } as const;
    expect(decide(hourly, state, redefined)[0]).toMatchObject({ due: 60 * MINUTE, fired: MINUTE });
    const [paused] = decide(minutely, state, { type: "pause" });
    expect(decide(hourly, paused, redefined)[0]).toMatchObject({ due: null, paused: true });
  });
});

describe("missed due times", () => {
  const late = 5 * MINUTE + 20_000;

  it.each([
    ["skip", []],
    ["last", [5]],
    ["all", [1, 2, 3, 4, 5]],
  ] as const)("by the rule %s start %j [U11]", (missed, expected) => {
    const [state, effects] = run({ ...minutely, missed }, tick(late));
    expect(starts(effects)).toEqual(expected);
    expect(state.due).toBe(6 * MINUTE);
    const skipped = effects.flatMap((effect) => (effect.type === "skipped" ? effect.times : []));
    expect([...skipped.map((due) => due / MINUTE), ...expected].sort()).toEqual([1, 2, 3, 4, 5]);
  });

  it.each(["skip", "last", "all"] as const)(
    "are not missed within the grace, by the rule %s [U10]",
    (missed) => {
      const often = { ...minutely, recurrence: every(1_000), missed } as const;
      const [, effects] = run(often, tick(5_000), tick(13_000));
      const dues = effects.flatMap((effect) => (effect.type === "start" ? [effect.due / 1_000] : []));
      expect(dues).toEqual(Array.from({ length: 13 }, (_, i) => i + 1));
    },
  );

  it("of a grace that holds very many start in several ticks, none twice [U10]", () => {
    const often = { ...minutely, recurrence: every(1_000), graceMs: 5_000_000 };
    const now = (2 * AT_ONCE + 1) * 1_000;
    const counts = [tick(now), tick(now), tick(now), tick(now)].map(
      (_, i, all) => run(often, ...all.slice(0, i + 1))[1].length,
    );
    expect(counts).toEqual([AT_ONCE, 2 * AT_ONCE, 2 * AT_ONCE + 1, 2 * AT_ONCE + 1]);
    expect(run(often, tick(now))[0].wake).toBeLessThan(now);
  });

  it("are not missed within the grace", () => {
    expect(starts(run({ ...minutely, missed: "skip" }, tick(5 * MINUTE + 10_000))[1])).toEqual([5]);
  });

  it("start as many flows as the bound allows, the latest [U11]", () => {
    const [, effects] = run({ ...minutely, missed: "all", backfill: 3 }, tick(1_000 * MINUTE + 20_000));
    expect(starts(effects)).toEqual([998, 999, 1_000]);
    expect(effects[0]).toEqual({ type: "skipped", why: "missed", times: [997 * MINUTE], more: true });
  });
});

describe("a due time while the flow before runs", () => {
  const second = (overlap: ScheduleConfig["overlap"]): ScheduleEffect[] =>
    run({ ...minutely, overlap }, tick(MINUTE), tick(2 * MINUTE, true))[1].slice(1);

  it("follows the rule: starts beside it, is skipped, or cancels it [U12]", () => {
    const start = { type: "start", id: `report/${timeText(2 * MINUTE)}`, due: 2 * MINUTE };
    expect(second("allow")).toEqual([start]);
    expect(second("skip")).toEqual([{ type: "skipped", why: "overlap", times: [2 * MINUTE], more: false }]);
    expect(second("cancel")).toEqual([{ type: "cancel", id: `report/${timeText(MINUTE)}` }, start]);
  });

  it("starts nothing beside the first of several missed ones, by the rule skip [U12]", () => {
    const [, effects] = run({ ...minutely, overlap: "skip", missed: "all" }, tick(3 * MINUTE));
    expect(effects.map(({ type }) => type)).toEqual(["start", "skipped", "skipped"]);
  });
});

describe("jitter", () => {
  it("delays each due time by the same amount on every host, within its bound, and keeps their order", () => {
    const config = { ...minutely, jitterMs: 30_000, missed: "all" } as const;
    const amounts = Array.from({ length: 100 }, (_, i) => jitterOf(config, i * MINUTE));
    expect(new Set(amounts).size).toBeGreaterThan(50);
    expect(Math.max(...amounts)).toBeLessThanOrEqual(30_000);
    const wake = initial(config, 0).wake as number;
    expect(wake).toBe(MINUTE + jitterOf(config, MINUTE));
    expect(starts(run(config, tick(wake - 1))[1])).toEqual([]);
    expect(starts(run(config, tick(wake - 1), tick(wake))[1])).toEqual([1]);
  });

  it.each(["skip", "last", "all"] as const)(
    "that is longer than the period drops no due time on a running host, by the rule %s [U10]",
    (missed) => {
      const config = { ...minutely, recurrence: every(1_000), jitterMs: 30_000, missed } as const;
      let state = initial(config, 0);
      const dues: number[] = [];
      for (let now = state.wake as number; now <= 200_000; now = state.wake as number) {
        const [next, effects] = decide(config, state, tick(now));
        for (const effect of effects) dues.push(effect.type === "start" ? effect.due / 1_000 : Number.NaN);
        state = next;
      }
      expect(dues.length).toBeGreaterThanOrEqual(170);
      expect(dues).toEqual(dues.map((_, i) => i + 1));
    },
  );
});

const YEAR = 400 * 24 * 60 * MINUTE;

/** The due times that start a flow while the clock takes these steps from 0, with a look after each. */
function walk(
  config: ScheduleConfig,
  steps: readonly number[],
  check: (fired: ReadonlySet<number>, now: number) => void = () => undefined,
): Set<number> {
  const fired = new Set<number>();
  let state = initial(config, 0);
  let now = 0;
  for (const step of steps) {
    now += step;
    const [next, effects] = decide(config, state, tick(now));
    for (const effect of effects) if (effect.type === "start") fired.add(effect.due);
    state = next;
    check(fired, now);
  }
  return fired;
}

/** The due times after the first time, up to the second. */
function duesOf(recurrence: ScheduleConfig["recurrence"], after: number, upTo: number): number[] {
  const dues: number[] = [];
  for (let at = recurrence.next(after); at !== undefined && at <= upTo; at = recurrence.next(at))
    dues.push(at);
  return dues;
}

describe("whatever the clock does", () => {
  const recurrence = fc.oneof(
    fc.integer({ min: 1_000, max: 100_000 }).map(every),
    fc.array(fc.integer({ min: 0, max: 1_000_000 }), { maxLength: 20 }).map(atTimes),
    fc
      .constantFrom("* * * * *", "*/20 * * * * *", "30 2 * * *")
      .map((text) => parse("report", text, "Europe/Berlin")),
  );
  const configs: fc.Arbitrary<ScheduleConfig> = fc.record({
    name: fc.constant("report"),
    recurrence,
    missed: fc.constantFrom("skip", "last", "all"),
    overlap: fc.constantFrom("allow", "skip", "cancel"),
    graceMs: fc.constantFrom(0, 10_000),
    jitterMs: fc.constantFrom(0, 500, 50_000, 500_000),
    backfill: fc.integer({ min: 1, max: 5 }),
  });
  const jumps = fc.array(
    fc.oneof(
      fc.integer({ min: 0, max: 20_000 }),
      fc.integer({ min: -1_000_000, max: 1_000_000 }),
      fc.constantFrom(-86_400_000, 86_400_000),
    ),
    { maxLength: 40 },
  );

  it("a due time starts one flow at most, never early, and the next due time lies ahead [U10]", () => {
    fc.assert(
      fc.property(configs, jumps, fc.infiniteStream(fc.boolean()), (config, steps, busy) => {
        let now = 0;
        let state = initial(config, now);
        const fired = new Set<number>();
        for (const step of steps) {
          now += step;
          const [next, effects] = decide(config, state, tick(now, busy.next().value));
          for (const effect of effects) {
            if (effect.type !== "start") continue;
            expect(fired).not.toContain(effect.due);
            expect(effect.due + jitterOf(config, effect.due)).toBeLessThanOrEqual(now);
            expect(config.recurrence.next(effect.due - 1)).toBe(effect.due);
            fired.add(effect.due);
          }
          expect(next.due ?? Number.POSITIVE_INFINITY).toBeGreaterThan(next.judged);
          expect(next.judged).toBeLessThanOrEqual(now);
          expect(next.settled.length).toBeLessThanOrEqual(MOST_SPANS);
          // The same moment again decides nothing new, on this host or on another.
          expect(decide(config, next, tick(now, false))).toEqual([next, []]);
          state = next;
        }
      }),
      { numRuns: sized(70, 0.25, 200) },
    );
  });

  it("no due time is lost while it runs forward, and a jump that started nothing loses none [U10]", () => {
    const forward = fc.array(fc.integer({ min: 0, max: 50_000 }), { maxLength: 40 });
    fc.assert(
      fc.property(configs, forward, (given, steps) => {
        const config: ScheduleConfig = {
          ...given,
          missed: "all",
          overlap: "allow",
          jitterMs: 0,
          backfill: 60,
        };
        let now = 0;
        let state = initial(config, now);
        const found: number[] = [];
        for (const step of steps) {
          now += step;
          const [next, effects] = decide(config, state, tick(now));
          for (const effect of effects) if (effect.type === "start") found.push(effect.due);
          // Somebody sets the clock ahead and back, with a rule that skips what it seems to have missed.
          const [ahead, none] = decide(
            { ...config, missed: "skip", graceMs: -1, backfill: 1 },
            next,
            tick(now + 600_000),
          );
          expect(none.filter(({ type }) => type === "start")).toEqual([]);
          state = decide(config, ahead, tick(now))[0];
        }
        const expected: number[] = [];
        for (
          let at = config.recurrence.next(0);
          at !== undefined && at <= now;
          at = config.recurrence.next(at)
        )
          expected.push(at);
        expect(found).toEqual(expected);
      }),
      { numRuns: sized(20, 0.25) },
    );
  });

  it("by the rule all, each due time that it has passed has started its flow [U10]", () => {
    fc.assert(
      fc.property(configs, jumps, (given, steps) => {
        const config: ScheduleConfig = { ...given, missed: "all", overlap: "allow", backfill: 1e6 };
        const recurrence = given.recurrence.next(0) === 1_000 ? every(7_000) : given.recurrence;
        walk({ ...config, recurrence }, steps, (fired, now) =>
          expect(duesOf(recurrence, 0, now - config.jitterMs).filter((due) => !fired.has(due))).toEqual([]),
        );
      }),
      { numRuns: sized(8, 0.05) },
    );
  });

  it("a due time that waits for its jitter is not lost by one wrong reading, by the rule skip [U10]", () => {
    const rules = {
      recurrence: atTimes([MINUTE]),
      jitterMs: 50_000,
      graceMs: 10_000,
      missed: "skip",
    } as const;
    const config: ScheduleConfig = { ...minutely, ...rules };
    const startsAt = MINUTE + jitterOf(config, MINUTE);
    expect(startsAt).toBeGreaterThan(MINUTE + 1);
    expect([...walk(config, [MINUTE + 1, YEAR, -YEAR, startsAt - MINUTE])]).toContain(MINUTE);
  });

  it("and whatever it did: once it runs, each due time from then on has a flow, by every rule [U10]", () => {
    const far = fc.array(
      fc.oneof(
        jumps.map(([first = 0]) => first),
        fc.constantFrom(-YEAR, YEAR, 5_000),
      ),
      {
        maxLength: 15,
      },
    );
    const running = fc.array(fc.integer({ min: 0, max: 10_000 }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(configs, far, running, (given, past, steps) => {
        const config: ScheduleConfig = { ...given, overlap: "allow", graceMs: 10_000 };
        const from = past.reduce((sum, step) => sum + step, 0);
        const upTo = steps.reduce((sum, step) => sum + step, from) - config.jitterMs;
        const fired = walk(config, [...past, ...steps]);
        expect(duesOf(config.recurrence, from, upTo).filter((due) => !fired.has(due))).toEqual([]);
      }),
      { numRuns: sized(70, 0.25) },
    );
  });

  it("one wrong reading changes nothing for the due times of the right ones [U10]", () => {
    const running = fc.array(fc.integer({ min: 0, max: 10_000 }), { minLength: 2, maxLength: 60 });
    const wrong = fc.constantFrom(-YEAR, -100_000, 100_000, YEAR);
    fc.assert(
      fc.property(configs, running, fc.nat({ max: 59 }), wrong, (given, steps, at, by) => {
        const config: ScheduleConfig = { ...given, overlap: "allow", graceMs: 10_000 };
        const i = at % steps.length;
        const end = steps.reduce((sum, step) => sum + step, 0);
        const right = walk(config, steps);
        const other = walk(config, [...steps.slice(0, i), by, -by, ...steps.slice(i)]);
        // Before it was put, at 0, the schedule owes nothing. What lies ahead may have started at the wrong reading.
        const owed = (due: number) => due > 0 && due <= end - config.jitterMs;
        expect([...other].filter(owed).sort((a, b) => a - b)).toEqual([...right].filter(owed));
      }),
      { numRuns: sized(70, 0.25) },
    );
  });
});
