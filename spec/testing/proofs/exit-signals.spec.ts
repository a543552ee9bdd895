// Exit signals under any schedule, in random graphs of links with random crashes: each linked process gets one exit signal
// with the right reason, and exactly the processes end that the rules name.

import type { FaultOptions } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { exhausted, explored } from "../../support/proof.js";
import { Cast, type Plan, play, verdictOn } from "./support-cast.js";
import type { Deed } from "./support-history.js";
import { judgeSignals, type SignalState } from "./support-signals.js";

const GRAPH: Plan = {
  first: 4,
  bond: "link",
  orders: 7,
  kinds: ["link", "unlink", "signal", "stop", "note", "link", "unlink", "trap", "spawn"],
};

const DEATHS: FaultOptions = {
  crash: [{ of: "**" }, { of: "**", reason: "kill" }],
  start: { of: "**" },
  pause: { of: "**" },
};

const STATES: readonly SignalState[] = [
  "three die together",
  "a normal end leaves a linked one alive",
  "one that traps stops the spread",
  "killed spreads along a link",
  "kill without a kill signal spreads as it is",
  "a link to the dead",
  "a link to the dead kills",
  "an EXIT outlives its link",
  "two EXITs wait in one mailbox",
  "a fault strikes a linked process",
  "an end is heard after notes",
];

describe("exit signals, under any schedule", () => {
  it("reach each linked process once, with the reason, and spread until a process traps them [S1]", async () => {
    await explored((sim) => play(sim, GRAPH), {
      quick: 160,
      name: "exit signals",
      faults: DEATHS,
      sometimes: [...STATES, "an EXIT is flushed"],
    });
  });

  it("arrive after every message that the ended process had sent, however long those were on their way [S2]", async () => {
    await explored((sim) => play(sim, GRAPH), {
      quick: 160,
      name: "delayed exit signals",
      faults: { ...DEATHS, delay: { of: "**", atMost: 3 } },
      sometimes: [...STATES, "an EXIT is flushed"],
    });
  });
});

describe("in every schedule", () => {
  it("a chain of three whose middle process traps exits ends as the rules say, whatever crashes when [S3]", async () => {
    await exhausted(
      async (sim) => {
        const cast = new Cast(sim, sim.system({ name: "chain" }));
        sim.finally("the history agrees with the model", () => verdictOn(sim, cast));
        cast.enter("callbacks", false);
        cast.enter("callbacks", true);
        cast.enter("callbacks", false);
        cast.order(0, [{ do: "link", to: 1 }]);
        cast.order(2, [{ do: "link", to: 1 }]);
        cast.order(1, [{ do: "unlink", to: 0, flush: true }]);
        cast.order(0, [{ do: "stop", reason: "own" }]);
        await sim.quiet();
      },
      {
        name: "chain",
        faults: { crash: { of: "chain/*" } },
        sometimes: ["an EXIT is flushed", "a link to the dead kills", "a fault strikes a linked process"],
      },
    );
  });

  it("a kill, an end and a link to the same process follow the rules in any order [S1]", async () => {
    await exhausted(
      async (sim) => {
        const cast = new Cast(sim, sim.system({ name: "victim" }));
        sim.finally("the history agrees with the model", () => verdictOn(sim, cast));
        for (let i = 0; i < 3; i++) cast.enter("callbacks", i === 0);
        cast.order(0, [{ do: "signal", to: 1, reason: "kill" }]);
        cast.order(1, [{ do: "link", to: 2 }]);
        cast.order(1, [{ do: "stop", reason: "kill" }]);
        cast.order(2, [{ do: "link", to: 1 }]);
        cast.order(0, [{ do: "link", to: 1 }]);
        await sim.quiet();
      },
      {
        name: "victim",
        sometimes: [
          "killed spreads along a link",
          "kill without a kill signal spreads as it is",
          "a link to the dead",
        ],
        search: { reduction: false },
      },
    );
  });
});

/** Three processes, the last one trapping, in a chain. */
const CHAIN: readonly Deed[] = [
  { deed: "spawn", who: 0, traps: false },
  { deed: "spawn", who: 1, traps: false },
  { deed: "spawn", who: 2, traps: true },
  { deed: "link", who: 0, to: 1 },
  { deed: "link", who: 1, to: 2 },
];
const STOP: Deed = { deed: "stop", who: 0, reason: "own 1" };
const END0: Deed = { deed: "end", who: 0, reason: "own 1" };
const END1: Deed = { deed: "end", who: 1, reason: "own 1" };
const LINE: Deed = { deed: "line" };

function exit(from: number, reason: string, who = 2): Deed {
  return { deed: "heard", who, signal: { kind: "exit", from, reason } };
}

describe("the model of exit signals", () => {
  it.each<[string, readonly Deed[]]>([
    ["a failure that spreads until it is trapped", [STOP, END0, END1, LINE, exit(1, "own 1")]],
    ["the ends of one moment in any order", [STOP, END1, END0, LINE, exit(1, "own 1")]],
    ["a fault that strikes in the middle", [LINE, ...faults(1, 0), exit(1, "fault 1")]],
    [
      "a kill that becomes killed",
      [{ deed: "signal", who: 2, to: 1, reason: "kill" }, ...killed(0, 1), exit(1, "killed")],
    ],
    [
      "a kill of one's own, which stays one",
      [{ deed: "stop", who: 1, reason: "kill" }, ...all("kill", 1, 0), exit(1, "kill")],
    ],
    [
      "a normal end, which kills nobody",
      [{ deed: "stop", who: 1, reason: "normal" }, ...all("normal", 1), exit(1, "normal")],
    ],
    [
      "an EXIT that outlives its link",
      [STOP, END0, END1, { deed: "unlink", who: 2, from: 1, flush: false }, exit(1, "own 1")],
    ],
    ["an EXIT that is flushed", [STOP, END0, END1, { deed: "unlink", who: 2, from: 1, flush: true }]],
    [
      "a link to the dead, trapped",
      [STOP, END0, END1, { deed: "link", who: 2, to: 0 }, exit(1, "own 1"), exit(0, "noproc")],
    ],
  ])("accepts %s", (_name, deeds) => {
    expect(judgeSignals([...CHAIN, ...deeds], true).complaint).toBeUndefined();
  });

  it.each<[string, readonly Deed[], RegExp]>([
    ["one that should have died of it", [STOP, END0, LINE], /0, 1 should have ended/],
    [
      "one that should not have died",
      [STOP, END0, END1, { deed: "end", who: 2, reason: "own 1" }],
      /should have ended/,
    ],
    ["another reason on the way", [STOP, END0, { ...END1, reason: "shutdown" }], /should have ended/],
    [
      "killed as kill",
      [{ deed: "signal", who: 2, to: 1, reason: "kill" }, ...all("kill", 1, 0)],
      /killed; there ended/,
    ],
    [
      "kill along a link as killed",
      [{ deed: "stop", who: 1, reason: "kill" }, ...all("kill", 1), ...all("killed", 0)],
      /0/,
    ],
    [
      "a normal end that kills",
      [{ deed: "stop", who: 1, reason: "normal" }, ...all("normal", 1, 0)],
      /should have ended/,
    ],
    ["an end without a cause", [{ deed: "trap", who: 2, on: true }, ...all("own 9", 1, 0)], /kills nobody/],
    ["a fault that explains half of it", [LINE, ...faults(0)], /nobody's end explains/],
    ["a second end", [STOP, END0, END1, LINE, END1], /a second time/],
    ["an end nobody is told of", [STOP, END0, END1, LINE], /2 never hears EXIT of 1/],
    [
      "an end that is told twice",
      [STOP, END0, END1, LINE, exit(1, "own 1"), exit(1, "own 1")],
      /hear nothing/,
    ],
    [
      "an end that is told to one who is not linked",
      [STOP, END0, END1, LINE, exit(0, "own 1")],
      /hear nothing/,
    ],
    ["another reason for one who traps", [STOP, END0, END1, LINE, exit(1, "shutdown")], /EXIT of 1: own 1/],
    [
      "an EXIT after a flush",
      [STOP, END0, END1, { deed: "unlink", who: 2, from: 1, flush: true }, exit(1, "own 1")],
      /nothing/,
    ],
    [
      "an EXIT after an unlink",
      [{ deed: "unlink", who: 2, from: 1, flush: false }, STOP, END0, END1, exit(1, "own 1")],
      /nothing/,
    ],
    [
      "an end before what was sent before it",
      [{ deed: "send", who: 1, to: 2, note: 1 }, STOP, END0, END1, exit(1, "own 1")],
      /comes later/,
    ],
    ["the dead hearing something", [STOP, END0, END1, exit(0, "own 1", 1)], /though it has ended/],
    [
      "silence after a link to the dead",
      [STOP, END0, END1, { deed: "link", who: 2, to: 0 }, exit(1, "own 1")],
      /never hears EXIT of 0: noproc/,
    ],
    [
      "survival of a link to the dead",
      [STOP, END0, END1, { deed: "spawn", who: 3, traps: false }, { deed: "link", who: 3, to: 0 }],
      /3 should have ended, noproc/,
    ],
  ])("rejects %s", (_name, deeds, complaint) => {
    expect(judgeSignals([...CHAIN, ...deeds], true).complaint).toMatch(complaint);
  });
});

function all(reason: string, ...who: number[]): Deed[] {
  return who.map((one) => ({ deed: "end", who: one, reason }));
}

function faults(...who: number[]): Deed[] {
  return all("fault 1", ...who);
}

function killed(...who: number[]): Deed[] {
  return all("killed", ...who);
}
