// The limit of reports as a machine: whatever comes when, each report is either printed or counted.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decide,
  type Effect,
  type Event,
  initial,
  PLACES,
  type ReportSource,
  type State,
} from "../../lib/process/report-limit-machine.js";

/** Tells the machine one event after the other, and fires what it asked to be woken for, as its process does. */
class Told {
  state: State;
  printed: number[] = [];
  counted = 0;
  due: number | undefined = undefined;

  constructor(perSecond: number) {
    this.state = initial(perSecond);
  }

  report(at: number, place: ReportSource = 0): void {
    if (this.due !== undefined && this.due <= at) this.tell({ type: "over", at: this.due });
    this.tell({ type: "report", at, place });
  }

  tell(event: Event): readonly Effect[] {
    const [state, effects] = decide(this.state, event);
    this.state = state;
    if (event.type === "over") this.due = undefined;
    for (const effect of effects) {
      if (effect.type === "print") this.printed.push(event.at);
      else if (effect.type === "wake") this.due = effect.at;
      else {
        this.counted += effect.count;
        this.due = undefined;
      }
    }
    return effects;
  }
}

describe("the limit of reports", () => {
  it("prints up to the limit within a second, counts the rest, and reports the count after the second", () => {
    const told = new Told(2);
    for (const at of [0, 10, 20, 30]) told.report(at);
    expect([told.printed, told.counted, told.due]).toEqual([[0, 10], 0, 1_000]);
    expect(told.tell({ type: "over", at: 1_000 })).toEqual([{ type: "summary", count: 2 }]);
    told.report(1_001);
    expect(told.printed).toEqual([0, 10, 1_001]);
  });

  it("begins a new second with the report that comes exactly a second after the first", () => {
    const told = new Told(1);
    told.tell({ type: "report", at: 0, place: 0 });
    expect(told.tell({ type: "report", at: 999, place: 0 })).toEqual([{ type: "wake", at: 1_000 }]);
    expect(told.tell({ type: "report", at: 1_000, place: 0 })).toEqual([
      { type: "summary", count: 1 },
      { type: "print" },
    ]);
  });

  it("prints no summary of a second in which every report was printed", () => {
    const told = new Told(2);
    told.tell({ type: "report", at: 0, place: 0 });
    told.tell({ type: "report", at: 1, place: 0 });
    expect(told.tell({ type: "report", at: 2_000, place: 0 })).toEqual([{ type: "print" }]);
  });

  it("prints the summary before the next report when the timer is late", () => {
    const told = new Told(1);
    told.tell({ type: "report", at: 0, place: 0 });
    told.tell({ type: "report", at: 1, place: 0 });
    expect(told.tell({ type: "report", at: 5_000, place: 0 })).toEqual([
      { type: "summary", count: 1 },
      { type: "print" },
    ]);
  });

  it("sets a timer once a second, and only if a report was left out", () => {
    const told = new Told(1);
    expect(told.tell({ type: "report", at: 0, place: 0 })).toEqual([{ type: "print" }]);
    expect(told.tell({ type: "report", at: 1, place: 0 })).toEqual([{ type: "wake", at: 1_000 }]);
    expect(told.tell({ type: "report", at: 2, place: 0 })).toEqual([]);
  });

  it("prints the first report of each place beyond the limit, up to so many places [R7]", () => {
    const told = new Told(3);
    for (let i = 0; i < 10; i++) told.report(i);
    for (let place = 1; place <= 100; place++) for (const at of [20, 30]) told.report(at, place);
    const ofOthers = told.printed.filter((at) => at >= 20);
    expect(ofOthers).toEqual(Array(PLACES - 1).fill(20));
    told.tell({ type: "over", at: 1_000 });
    expect(told.counted).toBe(7 + 200 - ofOthers.length);
    told.report(1_001, 7);
    expect(told.printed.at(-1)).toBe(1_001);
  });

  it("loses no report, prints no more than its limit and its places within any second, and hides no place [R7]", () => {
    const waits = fc.array(fc.tuple(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 9 })), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), waits, (perSecond, steps) => {
        const told = new Told(perSecond);
        const all: { readonly at: number; readonly place: number; readonly isPrinted: boolean }[] = [];
        let at = 0;
        for (const [step, place] of steps) {
          at += step;
          const before = told.printed.length;
          told.report(at, place);
          all.push({ at, place, isPrinted: told.printed.length > before });
        }
        told.tell({ type: "over", at });
        expect(told.printed.length + told.counted).toBe(steps.length);
        for (const from of told.printed) {
          const within = told.printed.filter((one) => one >= from && one < from + 1_000);
          // Two seconds under way may meet within one.
          expect(within.length).toBeLessThanOrEqual(2 * (perSecond + 10));
        }
        for (const [i, one] of all.entries()) {
          const isFirst = all
            .slice(0, i)
            .every(({ at, place }) => place !== one.place || at < one.at - 1_000);
          if (isFirst) expect(one.isPrinted).toBe(true);
        }
      }),
    );
  });

  it("may be infinite", () => {
    const told = new Told(Number.POSITIVE_INFINITY);
    for (let i = 0; i < 1_000; i++) told.report(0);
    expect([told.printed.length, told.due]).toEqual([1_000, undefined]);
  });
});
