// One connection to an admin socket, event by event.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decide, type Effect, type Event, initial, type State } from "../../lib/admin/connection-machine.js";

const limits = { idleMs: 60, requestMs: 30, readMs: 10, waiting: 2 };
const received = (...lines: string[]): Event => ({ type: "received", lines });
const tooLong: Event = { type: "received", lines: undefined };
const answered = (turn: number, line = `answer ${turn}`): Event => ({ type: "answered", turn, line });
const [written, expired, halfClosed, gone]: Event[] = [
  { type: "written" },
  { type: "expired" },
  { type: "half-closed" },
  { type: "gone" },
] as Event[];

/** Each effect as a short text. */
const text = (effect: Effect): string => {
  switch (effect.type) {
    case "perform":
      return `perform ${effect.turn} ${effect.line}`;
    case "write":
      return `write ${effect.line}`;
    case "refuse":
      return `refuse ${effect.problem}`;
    case "expire":
      return `expire ${effect.afterMs}`;
    default:
      return effect.type;
  }
};

/** The effects of each event. */
function run(...events: (Event | undefined)[]): string[][] {
  let [state] = initial(limits);
  return events.map((event) => {
    const [next, effects] = decide(state, event as Event);
    state = next;
    return effects.map(text);
  });
}

describe("a connection", () => {
  test("carries out one request after another", () => {
    expect(run(received("a", "b"), answered(1), written, answered(2), written)).toEqual([
      ["perform 1 a", "expire 30"],
      ["write answer 1", "expire 10"],
      ["perform 2 b", "expire 30"],
      ["write answer 2", "expire 10"],
      ["resume", "expire 60"],
    ]);
  });

  test("stops reading while more than its limit wait", () => {
    expect(run(received("a"), received("b", "c"), received("d"))).toEqual([
      ["perform 1 a", "expire 30"],
      [],
      ["pause"],
    ]);
  });

  test("ignores empty lines", () => {
    expect(run(received("", "  "))).toEqual([["resume", "expire 60"]]);
  });

  test("gives up a request that takes too long, and drops its late answer", () => {
    expect(run(received("a"), expired, answered(1), written, received("b"))).toEqual([
      ["perform 1 a", "expire 30"],
      ["abandon", "refuse too-slow", "expire 10"],
      [],
      ["resume", "expire 60"],
      ["perform 2 b", "expire 30"],
    ]);
  });

  test("is cut off when its client does not read an answer", () => {
    expect(run(received("a"), answered(1), expired, received("b"))).toEqual([
      ["perform 1 a", "expire 30"],
      ["write answer 1", "expire 10"],
      ["destroy"],
      [],
    ]);
  });

  test("ends when it is idle for too long, and waits for its client no longer than for an answer", () => {
    expect(run(expired, expired)).toEqual([["end", "expire 10"], ["destroy"]]);
    expect(run(expired, gone)).toEqual([["end", "expire 10"], ["destroy"]]);
  });

  test("answers what was asked before its client stopped sending", () => {
    expect(run(received("a", "b"), halfClosed, answered(1), written, answered(2), written)).toEqual([
      ["perform 1 a", "expire 30"],
      [],
      ["write answer 1", "expire 10"],
      ["perform 2 b", "expire 30"],
      ["write answer 2", "expire 10"],
      ["end", "expire 10"],
    ]);
    expect(run(halfClosed)).toEqual([["end", "expire 10"]]);
  });

  test("gives up its request when its client is gone", () => {
    expect(run(received("a"), gone, answered(1))).toEqual([
      ["perform 1 a", "expire 30"],
      ["abandon", "destroy"],
      [],
    ]);
  });

  test("refuses a request that is too long, and ends", () => {
    expect(run(tooLong, written)).toEqual([
      ["pause", "refuse too-long", "expire 10"],
      ["end", "expire 10"],
    ]);
    expect(run(received("a"), tooLong, gone)).toEqual([
      ["perform 1 a", "expire 30"],
      ["pause", "refuse too-long", "abandon", "end", "expire 10"],
      ["destroy"],
    ]);
  });
});

test("whatever happens: one request at a time, every phase has a limit, and the end comes once", () => {
  const events = fc.oneof(
    fc.array(fc.constantFrom("x", "y", ""), { maxLength: 4 }).map((lines) => received(...lines)),
    fc.nat(6).map((turn) => answered(turn)),
    fc.constantFrom(tooLong, written as Event, expired as Event, halfClosed as Event, gone as Event),
  );
  fc.assert(
    fc.property(fc.array(events, { maxLength: 40 }), (all) => {
      let [state, effects]: readonly [State, readonly Effect[]] = initial(limits);
      let timed = effects.some(({ type }) => type === "expire");
      let [working, destroyed] = [false, 0];
      for (const event of all) {
        const before = state;
        if (event.type === "expired") timed = false;
        [state, effects] = decide(state, event);
        for (const effect of effects) {
          if (effect.type === "expire") timed = true;
          if (effect.type === "destroy") destroyed++;
          if (effect.type === "abandon") working = false;
          if (effect.type === "perform") {
            expect(working).toBe(false);
            working = true;
          }
        }
        if (before.phase === "working" && event.type === "answered" && event.turn === before.turn)
          working = false;
        if (state.phase === "closed") timed = true;
        expect(timed).toBe(true);
        expect(state.waiting.length).toBeLessThanOrEqual(limits.waiting + all.length * 4);
      }
      expect(destroyed).toBe(state.phase === "closed" ? 1 : 0);
    }),
  );
});
