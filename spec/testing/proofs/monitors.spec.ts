// Monitors under any schedule: each fires once, with the reason of the end or with `noproc`, and never after a demonitor
// with flush.

import type { Monitor } from "signalbox";
import type { FaultOptions } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { exhausted, explored } from "../../support/proof.js";
import { Cast, type Plan, play, verdictOn } from "./support-cast.js";
import type { Deed } from "./support-history.js";
import { judgeSignals, type SignalState } from "./support-signals.js";

const WATCH: Plan = {
  first: 4,
  bond: "monitor",
  orders: 7,
  kinds: ["monitor", "demonitor", "signal", "stop", "note", "demonitor", "spawn"],
};

const DEATHS: FaultOptions = {
  crash: [{ of: "**" }, { of: "**", reason: "kill" }],
  start: { of: "**" },
  pause: { of: "**" },
};

const STATES: readonly SignalState[] = [
  "a monitor of the dead",
  "a DOWN outlives its monitor",
  "two monitors of one process fire",
  "an end is heard after notes",
];

/** Here several monitors of one process are what it is about. */
const NO_WATCH = { monitors: false } as const;

describe("monitors, under any schedule", () => {
  it("fire once each, and never after a demonitor with flush [S5]", async () => {
    await explored((sim) => play(sim, WATCH), {
      quick: 100,
      name: "monitors",
      checks: NO_WATCH,
      faults: DEATHS,
      sometimes: [...STATES, "a DOWN is flushed"],
    });
  });

  it("fire after every message that the ended process had sent, however long those were on their way [S2]", async () => {
    await explored((sim) => play(sim, WATCH), {
      quick: 100,
      name: "delayed monitors",
      checks: NO_WATCH,
      faults: { ...DEATHS, delay: { of: "**", atMost: 3 } },
      sometimes: [...STATES, "a DOWN is flushed"],
    });
  });

  // The simulator once delivered a DOWN that it had held on its way after the flush that was to remove it.
  it("do not fire after a flush, also when their DOWN is still on its way", async () => {
    await exhausted(
      async (sim) => {
        const system = sim.system({ name: "s" });
        let ended = false;
        let ref: Monitor | undefined;
        const target = system.spawn<"stop">(async (ctx) => void (await ctx.receive()), { label: "target" });
        const watcher = system.spawn<"watch" | "end">(
          {
            handle: (ctx, message) => {
              if (message === "watch") ref = ctx.monitor(target);
              else ctx.demonitor(ref as Monitor, { flush: true });
              ended = message === "end";
            },
            signal: () => expect(ended).toBe(false),
          },
          { label: "watcher" },
        );
        for (const message of ["watch", "end"] as const) system.send(watcher, message);
        system.send(target, "stop");
        await sim.quiet();
        expect(system.isAlive(watcher)).toBe(true);
      },
      { name: "flush on the way", faults: { delay: { of: "s/watcher" } } },
    );
  });
});

describe("in every schedule", () => {
  it("two monitors of one process, one ended with flush, follow the rules, whatever crashes when [S5]", async () => {
    await exhausted(
      async (sim) => {
        const cast = new Cast(sim, sim.system({ name: "pair" }));
        sim.finally("the history agrees with the model", () => verdictOn(sim, cast));
        cast.enter("callbacks", false);
        cast.enter("callbacks", false);
        cast.order(0, [{ do: "monitor", to: 1 }]);
        cast.order(1, [{ do: "note", to: 0 }]);
        cast.order(0, [{ do: "monitor", to: 1 }]);
        cast.order(1, [{ do: "stop", reason: "own" }]);
        cast.order(0, [{ do: "demonitor", nth: 0, flush: true }]);
        cast.order(0, [{ do: "demonitor", nth: 1, flush: false }]);
        await sim.quiet();
      },
      {
        name: "pair",
        checks: NO_WATCH,
        faults: { crash: { of: "pair/*" } },
        sometimes: [...STATES, "a DOWN is flushed"],
      },
    );
  });
});

const PAIR: readonly Deed[] = [
  { deed: "spawn", who: 0, traps: false },
  { deed: "spawn", who: 1, traps: false },
  { deed: "monitor", who: 0, of: 1, ref: 0 },
];
const GONE: readonly Deed[] = [
  { deed: "stop", who: 1, reason: "own 1" },
  { deed: "end", who: 1, reason: "own 1" },
  { deed: "line" },
];

function down(ref: number, reason = "own 1"): Deed {
  return { deed: "heard", who: 0, signal: { kind: "down", from: 1, reason, ref } };
}

function demonitor(flush: boolean): Deed {
  return { deed: "demonitor", who: 0, ref: 0, flush };
}

const AGAIN: Deed = { deed: "monitor", who: 0, of: 1, ref: 1 };

describe("the model of monitors", () => {
  it.each<[string, readonly Deed[]]>([
    ["one DOWN", [...GONE, down(0)]],
    ["a DOWN for each of two", [AGAIN, ...GONE, down(1), down(0)]],
    ["a DOWN for one that was not there", [...GONE, AGAIN, down(0), down(1, "noproc")]],
    ["a DOWN that was queued when its monitor was ended", [...GONE, demonitor(false), down(0)]],
    ["silence after a flush", [...GONE, demonitor(true)]],
    ["silence after an end of the monitor in time", [demonitor(false), ...GONE]],
  ])("accepts %s", (_name, deeds) => {
    expect(judgeSignals([...PAIR, ...deeds], true).complaint).toBeUndefined();
  });

  it.each<[string, readonly Deed[], RegExp]>([
    ["silence", GONE, /0 never hears DOWN of 1: own 1/],
    ["a DOWN that comes twice", [...GONE, down(0), down(0)], /hear nothing/],
    ["a DOWN for one of two", [AGAIN, ...GONE, down(1)], /ref 0/],
    ["another reason", [...GONE, down(0, "normal")], /DOWN of 1: own 1/],
    ["a DOWN after a flush", [...GONE, demonitor(true), down(0)], /hear nothing/],
    ["a DOWN of a monitor that was ended in time", [demonitor(false), ...GONE, down(0)], /hear nothing/],
    ["a DOWN before the end", [down(0)], /hear nothing/],
    ["silence about one that was not there", [...GONE, down(0), AGAIN], /never hears DOWN of 1: noproc/],
    ["the reason of an end that was before the monitor", [...GONE, down(0), AGAIN, down(1)], /noproc/],
    [
      "a DOWN before what was sent before it",
      [{ deed: "send", who: 1, to: 0, note: 1 }, ...GONE, down(0)],
      /comes later/,
    ],
    ["an end by a monitor", [...GONE, down(0), { deed: "end", who: 0, reason: "own 1" }], /kills nobody/],
  ])("rejects %s", (_name, deeds, complaint) => {
    expect(judgeSignals([...PAIR, ...deeds], true).complaint).toMatch(complaint);
  });
});
