// What a report says about state machines, and about the start of many processes.

import { defineStateMachine, startIn, supervisor, to } from "signalbox";
import { renderTrace, type Scenario } from "signalbox/testing";
import { grouping, topology } from "signalbox/topology";
import { expect, test } from "vitest";
import { Sink, Source } from "../../topology/support.js";
import { stepsOf } from "../support/trace.js";

type State = { name: "idle" } | { name: "charging" } | { name: "done" };
type Event = { type: "pay"; card: string } | { type: "charged" } | { type: "check" };

const Till = defineStateMachine<State, Event>({
  label: "till",
  init: startIn("idle", () => ({ name: "idle" })),
  states: {
    idle: {
      on: {
        pay: to("charging", (_state, _event, m) => m.next({ name: "charging" }, m.insert({ type: "check" }))),
        charged: "ignore",
        check: "ignore",
      },
    },
    charging: {
      on: {
        pay: "postpone",
        charged: to("done", (_state, _event, m) => m.next({ name: "done" })),
        check: (_state, _event, m) => m.keep(),
      },
    },
    done: { on: { pay: "ignore", charged: "ignore", check: "ignore" } },
  },
});

/** The lines of a report, without the first columns. */
async function reportOf(scenario: Scenario): Promise<string[]> {
  const steps = await stepsOf(scenario);
  return renderTrace({ steps, failure: undefined }).split("\n");
}

test("the events of a state machine are named, its own too, and so is each new state [T36]", async () => {
  const lines = await reportOf(async (sim) => {
    const till = await sim.system({ name: "shop" }).start(Till);
    till.cast.pay({ card: "visa" });
    till.cast.pay({ card: "amex" });
    till.cast.charged();
    await sim.quiet();
  });
  const told = lines
    .filter((line) => /shop\/till {2}took|state:/.test(line))
    .map((line) => line.replace(/^ +\d* */, ""));
  expect(told).toEqual([
    "· state: idle",
    'shop/till  took event pay {card: "visa"} from scenario',
    "· state: idle → charging",
    "shop/till  took its own event check",
    'shop/till  took event pay {card: "amex"} from scenario',
    "shop/till  took event charged from scenario",
    "· state: charging → done",
    'shop/till  took its own event pay {card: "amex"}',
  ]);
});

test("the start of a topology is one line, and the start of a small tree is shown [T36]", async () => {
  const large = await reportOf(async (sim) => {
    const words = topology("words")
      .spout("source", new Source([]).spout)
      .bolt("sink", new Sink().bolt, { from: { "source.numbers": grouping.shuffle() } });
    await sim.system({ name: "mill" }).start(words.build());
  });
  expect(large.filter((line) => line.startsWith("…"))).toEqual([
    expect.stringMatching(/^… steps 2 to \d+: mill\/topology words starts, \d+ processes are spawned …$/),
  ]);
  expect(large.filter((line) => / {2}starts/.test(line))).toHaveLength(1);
  const small = await reportOf(async (sim) => {
    const children = ["one", "two"].map((id) => ({ id, start: Till }));
    await sim.system({ name: "shop" }).start(supervisor({ children }));
  });
  expect(small.filter((line) => line.startsWith("…"))).toEqual([]);
});
