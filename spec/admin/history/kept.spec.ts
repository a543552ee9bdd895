// What a system keeps while somebody looks: the switch as a machine against a model by intervals, and on the clock of a real system.

import fc from "fast-check";
import { System } from "signalbox";
import { CLOCK_DEFAULTS, testClock } from "signalbox/testing";
import { expect, onTestFinished, test } from "vitest";
import { keptFor } from "../../../lib/admin/history/kept.js";
import { decide, type Event, INITIAL, KEPT_MS, type State } from "../../../lib/admin/history/kept-machine.js";

type Move = { readonly do: "hold" | "release" | "touch"; readonly afterMs: number };

const moves = fc.array(
  fc.record({
    do: fc.constantFrom<Move["do"]>("hold", "release", "touch"),
    afterMs: fc.constantFrom(0, 1, 10_000, 29_999, 30_000, 40_000),
  }),
  { maxLength: 40 },
);

/** The machine with the clock that its `wake` asks for. Gives the times at which it starts and stops. */
function driven(all: readonly Move[]): readonly string[] {
  let state: State = INITIAL;
  let now = 0;
  let wake: number | undefined;
  const log: string[] = [];
  const step = (event: Event): void => {
    const [next, effects] = decide(state, event);
    state = next;
    for (const effect of effects) {
      if (effect.type === "wake") {
        expect(wake).toBeUndefined();
        wake = effect.at;
      } else log.push(`${effect.type} ${now}`);
    }
  };
  const until = (at: number): void => {
    while (wake !== undefined && wake <= at) {
      now = wake;
      wake = undefined;
      step({ type: "due", at: now });
    }
    now = at;
  };
  for (const move of all) {
    until(now + move.afterMs);
    if (move.do === "hold") step({ type: "hold" });
    else if (move.do === "touch") step({ type: "touch", at: now });
    else if (state.holds > 0) step({ type: "release", at: now });
  }
  until(now + 10 * KEPT_MS);
  return log;
}

/** Another way to the same: whether it is on at a time, asked at each time at which that may change. */
function modelled(all: readonly Move[]): readonly string[] {
  const holds: { from: number; to: number }[] = [];
  const open: { from: number; to: number }[] = [];
  const looks: { from: number; to: number }[] = [];
  let now = 0;
  for (const move of all) {
    now += move.afterMs;
    if (move.do === "touch") looks.push({ from: now, to: now + KEPT_MS });
    else if (move.do === "hold") {
      const one = { from: now, to: Number.POSITIVE_INFINITY };
      holds.push(one);
      open.push(one);
    } else {
      const one = open.shift();
      if (one !== undefined) one.to = now;
    }
  }
  const spans = [...holds, ...looks].sort((a, b) => a.from - b.from);
  const log: string[] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const { from, to } of spans) {
    if (from >= end) {
      if (end !== Number.NEGATIVE_INFINITY) log.push(`stop ${end}`);
      log.push(`start ${from}`);
      end = to;
    } else end = Math.max(end, to);
  }
  if (end !== Number.NEGATIVE_INFINITY && end !== Number.POSITIVE_INFINITY) log.push(`stop ${end}`);
  return log;
}

/** A stop and a start at the same moment are none to somebody who looks at times alone. */
const merged = (log: readonly string[]): readonly string[] =>
  log.filter((line, i) => {
    const [, at] = line.split(" ");
    const [before, after] = [log[i - 1], log[i + 1]];
    if (line.startsWith("stop")) return after !== `start ${at}`;
    return before !== `stop ${at}`;
  });

test("things are kept exactly while somebody holds them, and for 30 seconds after the last look [N1520]", () => {
  fc.assert(
    fc.property(moves, (all) => {
      expect(merged(driven(all))).toEqual(merged(modelled(all)));
    }),
    { numRuns: 500 },
  );
});

function shop() {
  const clock = testClock();
  const system = new System({ name: "shop", environment: clock.environment, report: false });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  const log: string[] = [];
  const kept = keptFor(system.kernel);
  const remove = kept.add(() => {
    log.push("begins");
    return () => log.push("ends");
  });
  return { clock, system, kept, log, remove };
}

test("a look keeps what there is for 30 seconds, and the next look for 30 more [N1520]", async () => {
  const { clock, system, kept, log } = shop();
  expect(keptFor(system.kernel)).toBe(kept);
  expect([kept.isOn, kept.since]).toEqual([false, undefined]);
  kept.touch();
  expect(kept.since).toBe(CLOCK_DEFAULTS.wallTime);
  await clock.advance(20_000);
  kept.touch();
  await clock.advance(29_999);
  expect(log).toEqual(["begins"]);
  await clock.advance(1);
  expect(log).toEqual(["begins", "ends"]);
  expect([kept.isOn, kept.since]).toEqual([false, undefined]);
  expect(system.kernel.pendingTimers).toBe(0);
});

test("what is added while things are kept begins at once, and ends when it is taken away [N1520]", () => {
  const { kept, log, remove } = shop();
  const release = kept.hold();
  const late = kept.add(() => {
    log.push("late begins");
    return () => log.push("late ends");
  });
  late();
  late();
  const again = kept.hold();
  release();
  release();
  expect(log).toEqual(["begins", "late begins", "late ends"]);
  again();
  remove();
  kept.hold();
  expect(log).toEqual(["begins", "late begins", "late ends", "ends"]);
});

test("a system that has stopped keeps nothing [N1520]", async () => {
  const { system, kept, log } = shop();
  await system.stop({ timeoutMs: 0 });
  kept.touch();
  expect(log).toEqual([]);
});
