// The machine of a task with windows. The model knows no events: from the order of the items and the outcomes of the tries
// it works out which windows there are, and how often each is tried.

import { test as check, fc } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import { CountWindows } from "../../../lib/topology/components/window-count.js";
import {
  decide,
  type Effect,
  type Event,
  initial,
  type State,
} from "../../../lib/topology/components/window-machine.js";
import { TimeWindows } from "../../../lib/topology/components/window-time.js";
import { sized } from "../../support/proof.js";

/** Carries out the effects of a machine, in one flat loop. Hand-overs end as `outcomes` says, one after the other. */
class Driver {
  state: State<number>;
  /** Every effect but `check-due`, as a text. */
  readonly seen: string[] = [];
  limit = Number.POSITIVE_INFINITY;
  readonly #outcomes: boolean[];

  constructor(state: State<number>, outcomes: readonly boolean[] = []) {
    this.state = state;
    this.#outcomes = [...outcomes];
  }

  dispatch(event: Event<number>): void {
    const queue: Effect<number>[] = [];
    const on = (next: Event<number>): void => {
      const [state, effects] = decide(this.state, next);
      this.state = state;
      queue.push(...effects);
    };
    on(event);
    for (let effect = queue.shift(); effect !== undefined; effect = queue.shift()) {
      if (effect.type === "check-due") {
        on({ type: "due", limit: this.limit });
        continue;
      }
      this.seen.push(shown(effect));
      if (effect.type === "hand-over")
        on({ type: (this.#outcomes.shift() ?? true) ? "done" : "threw", settled: new Set() });
    }
  }

  /** Ends the waits for retries, as long as there are any. */
  retryAll(): void {
    while (this.state.phase === "waiting") this.dispatch({ type: "retry" });
  }

  arrive(item: number, time = 0, isExpected = false, now = Number.NEGATIVE_INFINITY): void {
    this.dispatch({ type: "arrive", arrival: { item, time, isExpected }, now });
  }
}

function shown(effect: Effect<number>): string {
  if (effect.type === "hand-over") return `hand-over ${effect.window.tuples.join(" ")}`;
  if ("items" in effect) return `${effect.type} ${effect.items.join(" ")}`.trim();
  if ("item" in effect) return `${effect.type} ${effect.item}`;
  return "attempt" in effect ? `${effect.type} ${effect.attempt}` : effect.type;
}

/** The windows of tumbling counts, each tried until it is done or out of retries. */
function model(items: number, size: number, retries: number, outcomes: readonly boolean[]): string[] {
  const seen: string[] = [];
  let tries = 0;
  for (let first = 0; first < items; first += size) {
    const window = Array.from({ length: Math.min(size, items - first) }, (_, at) => first + at).join(" ");
    for (let attempt = 1; ; attempt++) {
      seen.push(`hand-over ${window}`);
      const isDone = outcomes[tries++] ?? true;
      if (isDone || attempt > retries) {
        seen.push(`${isDone ? "release" : "fail"} ${window}`);
        break;
      }
      seen.push(`schedule-retry ${attempt}`);
    }
  }
  return seen;
}

const retries = fc.nat({ max: 3 });
const outcomes = fc.array(fc.boolean(), { maxLength: 20 });

describe("the machine of a task with windows", () => {
  check.prop(
    [fc.nat({ max: 20 }), fc.integer({ min: 1, max: 5 }), retries, outcomes, fc.array(fc.boolean())],
    { numRuns: sized(300, 1 / 10, 1_000) },
  )(
    "hands each window over in order, until it is done or out of retries",
    (items, size, most, ends, early) => {
      const table = new CountWindows<number>({ count: size, every: size });
      const driver = new Driver(initial(table, most), ends);
      for (let item = 0; item < items; item++) {
        driver.arrive(item);
        // Some retries come before the next item, the others after later items.
        if (driver.state.phase === "waiting" && early[item]) driver.dispatch({ type: "retry" });
      }
      driver.retryAll();
      driver.dispatch({ type: "flush" });
      driver.retryAll();
      const quiet = ["cancel-timers", "ack"];
      expect(driver.seen.filter((text) => !quiet.includes(text))).toEqual(model(items, size, most, ends));
      expect([table.held, driver.state.phase, driver.state.isFlushing]).toEqual([0, "idle", false]);
    },
  );

  test("admits items while a window waits for its retry, and hands no window over", () => {
    const driver = new Driver(initial(new CountWindows<number>({ count: 1, every: 1 }), 1), [false]);
    driver.arrive(1);
    driver.arrive(2);
    expect(driver.seen).toEqual(["hand-over 1", "schedule-retry 1"]);
    expect(driver.state.table.held).toBe(2);
    driver.dispatch({ type: "retry" });
    expect(driver.seen.slice(2)).toEqual(["hand-over 1", "release 1", "hand-over 2", "release 2"]);
  });

  test("hands windows over before an item, which may need their room; an expected item goes first", () => {
    const make = () => new Driver(initial(new TimeWindows<number>({ ms: 10, everyMs: 10, maxHeld: 1 }), 0));
    const usual = make();
    usual.arrive(1, 5);
    usual.arrive(2, 15, false, 10);
    expect(usual.seen).toEqual(["hand-over 1", "release 1"]);
    expect(usual.state.table.held).toBe(1);
    const expected = make();
    expected.arrive(1, 5);
    expected.arrive(2, 6, true, 10);
    expect(expected.seen).toEqual(["hand-over 1 2", "release 1 2"]);
  });

  test("reports an item without room, and one whose windows are over", () => {
    const driver = new Driver(initial(new TimeWindows<number>({ ms: 10, everyMs: 10, maxHeld: 1 }), 0));
    driver.arrive(1, 5);
    driver.arrive(2, 6);
    driver.dispatch({ type: "tick", now: 10 });
    driver.arrive(3, 7);
    expect(driver.seen).toEqual(["full 2", "hand-over 1", "release 1", "late 3"]);
  });

  test("looks again, one look at a time, while windows wait for a limit", () => {
    const driver = new Driver(initial(new TimeWindows<number>({ ms: 10, everyMs: 10, maxHeld: 9 }), 0));
    driver.limit = 5;
    driver.arrive(1, 5, false, 10);
    driver.dispatch({ type: "tick", now: 20 });
    expect(driver.seen).toEqual(["schedule-look"]);
    driver.dispatch({ type: "look" });
    expect(driver.seen).toEqual(["schedule-look", "schedule-look"]);
    driver.dispatch({ type: "flush" });
    expect(driver.state.isFlushing).toBe(true);
    driver.limit = Number.POSITIVE_INFINITY;
    driver.dispatch({ type: "look" });
    expect(driver.seen.slice(2)).toEqual([
      "cancel-timers",
      "schedule-look",
      "hand-over 1",
      "release 1",
      "ack",
    ]);
    expect(driver.state.isFlushing).toBe(false);
  });
});
