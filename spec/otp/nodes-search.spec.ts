// Two processes on two nodes: every order in which they link, unlink, monitor, demonitor and exit, signals arrive, and the
// connection is lost and made anew, up to a length. The library does what the rules of OTP say.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { graded } from "../support/proof.js";
import type { Rules } from "./rules.js";
import { BOTH_TRAP, type Event, facing, Library, NAMES, ONE_TRAPS, onTheWay, search } from "./search.js";

/** What may happen next. Each process has one monitor at a time, and each may exit once. */
function possible(rules: Rules, length: number): Event[] {
  const events = onTheWay(rules);
  for (const name of NAMES) {
    if (!rules.isAlive(name)) continue;
    const other = facing(name);
    const isLinked = rules.linksOf(name).length > 0;
    const [monitor] = rules.monitorsOf(name);
    events.push(["exit_signal", name, name, "kill"], [isLinked ? "unlink" : "link", name, other]);
    if (monitor === undefined) events.push(["monitor", name, other, `${name}${length}`]);
    else events.push(["demonitor", name, monitor, true]);
  }
  return events;
}

const LINKED: readonly Event[] = [
  ["link", "p1", "p2"],
  ["arrive", "n2"],
];
const MONITORED: readonly Event[] = [
  ["monitor", "p1", "p2", "r1"],
  ["monitor", "p2", "p1", "r2"],
  ["arrive", "n1"],
  ["arrive", "n2"],
];

let library: Library;
beforeAll(() => {
  library = new Library();
});
afterAll(() => library.stop());

describe("two processes on two nodes", () => {
  test.each([
    ["apart", [], BOTH_TRAP, { quick: 4, short: 6, full: 7 }],
    ["linked", LINKED, BOTH_TRAP, { quick: 5, short: 6, full: 7 }],
    ["linked, of which one does not trap exits", LINKED, ONE_TRAPS, { quick: 4, short: 6, full: 7 }],
    [
      "linked, and each monitors the other",
      [...LINKED, ...MONITORED],
      BOTH_TRAP,
      { quick: 4, short: 5, full: 6 },
    ],
  ] as const)(
    "at first %s do what the rules say, in every order of events [N1021]",
    async (_what, start, traps, lengths) => {
      const many = await search(library, { start, traps, length: graded<number>(lengths), possible });
      expect(many).toBeGreaterThan(1_000);
    },
  );
});
