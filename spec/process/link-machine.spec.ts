// All orders in which two ends of a link may act and hear of each other, against the rule that both agree in the end.

import { describe, expect, test } from "vitest";
import { decide, type LinkEffect, type LinkEnd, type LinkEvent } from "../../lib/process/link-machine.js";
import { KILLED } from "../../lib/process/reason.js";

type Signal = Exclude<LinkEffect, { readonly type: "exit" }>;

interface Side {
  readonly end: LinkEnd;
  /** Operations that it may still do. */
  readonly left: number;
  /** Its last operation that changed something: `+` for link, `-` for unlink. To unlink what is not linked changes nothing. */
  readonly last: "" | "+" | "-";
  /** Signals on the way to the other side, oldest first. */
  readonly sent: readonly Signal[];
}

type Pair = readonly [Side, Side];

function act(pair: Pair, side: 0 | 1, event: LinkEvent, operation: "" | "+" | "-" = ""): Pair {
  const own = pair[side];
  const [end, effects] = decide(own.end, event);
  const signals = effects.filter((effect): effect is Signal => effect.type !== "exit");
  const next: Side = {
    end,
    left: own.left - operation.length,
    last: operation !== "" && end !== own.end ? operation : own.last,
    sent: [...own.sent, ...signals],
  };
  return side === 0 ? [next, pair[1]] : [pair[0], next];
}

const HEARD = { link: "linked", unlink: "unlinked", acknowledge: "acknowledged" } as const;

/** The oldest signal for this side arrives. */
function hear(pair: Pair, side: 0 | 1): Pair {
  const other = pair[side === 0 ? 1 : 0];
  const [signal, ...rest] = other.sent as [Signal, ...Signal[]];
  const type = HEARD[signal.type];
  const left: Side = { ...other, sent: rest };
  const id = "id" in signal ? signal.id : 0;
  const event: LinkEvent = type === "linked" ? { type } : { type, id };
  return act(side === 0 ? [pair[0], left] : [left, pair[1]], side, event);
}

/** Every state that these two may come to, each with at most so many operations. */
function everyState(most: number, seen: (pair: Pair) => void): number {
  const known = new Set<string>();
  const idle: Side = { end: "none", left: most, last: "", sent: [] };
  const open: Pair[] = [[idle, idle]];
  for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
    const key = JSON.stringify(pair);
    if (known.has(key)) continue;
    known.add(key);
    seen(pair);
    for (const side of [0, 1] as const) {
      const id = pair[side].left;
      if (id > 0) {
        open.push(act(pair, side, { type: "link" }, "+"), act(pair, side, { type: "unlink", id }, "-"));
      }
      if (pair[side === 0 ? 1 : 0].sent.length > 0) open.push(hear(pair, side));
    }
  }
  return known.size;
}

describe("the two ends of a link", () => {
  test("agree once no signal is under way, whatever they did and in whatever order they heard of it [C941]", () => {
    const ends = new Set<string>();
    const states = everyState(4, ([one, other]) => {
      if (one.sent.length + other.sent.length > 0) return;
      ends.add(String(one.end));
      expect(one.end).toBe(other.end);
      const last = one.last + other.last;
      if (last === "++") expect(one.end).toBe("active");
      if (last === "--" || last === "") expect(one.end).toBe("none");
    });
    expect(states).toBeGreaterThan(5_000);
    expect([...ends].sort()).toEqual(["active", "none"]);
  });

  test("take an exit signal once, and only while their own end is active [C941]", () => {
    const exited = { type: "exited", reason: KILLED } as const;
    expect(decide("active", exited)).toEqual(["none", [{ type: "exit", reason: KILLED }]]);
    for (const end of ["none", 7] as const) expect(decide(end, exited)).toEqual(["none", []]);
  });
});
