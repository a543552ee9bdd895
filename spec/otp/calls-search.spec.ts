// Two processes on two nodes: every order in which they call each other, answer, give up and exit, signals arrive, and the connection is lost
// and made anew, up to a length. The library does what OTP's `gen_server:call` does, which is a monitor, a message and a demonitor.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { graded } from "../support/proof.js";
import type { Rules } from "./rules.js";
import { BOTH_TRAP, type Event, Library, NAMES, ONE_TRAPS, onTheWay, search } from "./search.js";

/** What may happen next. Each process has one call open at a time, and each may exit once. */
function possible(rules: Rules, length: number): Event[] {
  const events = onTheWay(rules);
  for (const name of NAMES) {
    if (!rules.isAlive(name)) continue;
    const [call] = rules.callsOf(name);
    events.push(["exit_signal", name, name, "kill"]);
    events.push(call === undefined ? ["call", name, `${name}${length}`] : ["give_up", name, call]);
    if (rules.requestsOf(name).length > 0) events.push(["reply", name]);
  }
  return events;
}

const CALLED: readonly Event[] = [
  ["call", "p1", "c1"],
  ["arrive", "n2"],
];
const BOTH_CALLED: readonly Event[] = [...CALLED, ["call", "p2", "c2"], ["arrive", "n1"]];
const LINKED: readonly Event[] = [
  ["link", "p1", "p2"],
  ["arrive", "n2"],
];

let library: Library;
beforeAll(() => {
  library = new Library();
});
afterAll(() => library.stop());

describe("two processes on two nodes that call each other", () => {
  test.each([
    ["with no call", [], BOTH_TRAP, { quick: 4, short: 6, full: 7 }],
    ["with one call", CALLED, BOTH_TRAP, { quick: 3, short: 6, full: 7 }],
    ["with a call of each", BOTH_CALLED, BOTH_TRAP, { quick: 3, short: 6, full: 7 }],
    [
      "with a call and a link, of which one does not trap exits",
      [...LINKED, ...CALLED],
      ONE_TRAPS,
      { quick: 3, short: 5, full: 6 },
    ],
  ] as const)(
    "at first %s do what the rules say, in every order of events [N1371]",
    async (_what, start, traps, lengths) => {
      const many = await search(library, { start, traps, length: graded<number>(lengths), possible });
      expect(many).toBeGreaterThan(100);
    },
  );
});
