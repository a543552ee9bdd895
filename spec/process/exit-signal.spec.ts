// The exit-signal table, against the same table written as data: every combination of its inputs.

import { crash, custom, type ExitReason, shutdown } from "signalbox";
import { describe, expect, it } from "vitest";
import { type ExitAction, type ExitSource, exitAction } from "../../lib/process/exit-signal.js";

const reasons: readonly ExitReason[] = [
  { type: "normal" },
  { type: "shutdown" },
  shutdown("moving house"),
  { type: "kill" },
  { type: "killed" },
  { type: "noproc" },
  { type: "noconnection" },
  crash(new Error("boom")),
  custom({ code: 7 }),
  custom("normal"),
];

type Only<T> = readonly T[] | "any";

interface Row {
  readonly rule: string;
  readonly source: ExitSource;
  readonly linked: Only<boolean>;
  readonly reason: Only<ExitReason["type"]>;
  readonly trapping: Only<boolean>;
  readonly fromSelf: Only<boolean>;
  readonly verdict: ExitAction;
}

const notNormal = ["shutdown", "kill", "killed", "noproc", "noconnection", "crash", "custom"] as const;
const ordinary = ["shutdown", "killed", "noproc", "noconnection", "crash", "custom"] as const;

// Each row stands for itself: no row relies on an earlier one having caught a case.
const table: readonly Row[] = [
  {
    rule: "a link that is no longer active carries nothing",
    source: "link",
    linked: [false],
    reason: "any",
    trapping: "any",
    fromSelf: "any",
    verdict: "drop",
  },
  {
    rule: "the normal end of a linked process is no news to one that does not trap",
    source: "link",
    linked: [true],
    reason: ["normal"],
    trapping: [false],
    fromSelf: "any",
    verdict: "drop",
  },
  {
    rule: "any other end of a linked process is its own end, with that same reason, `kill` included",
    source: "link",
    linked: [true],
    reason: notNormal,
    trapping: [false],
    fromSelf: "any",
    verdict: "die",
  },
  {
    rule: "who traps meets the end of a linked process as an EXIT, whatever the reason",
    source: "link",
    linked: [true],
    reason: "any",
    trapping: [true],
    fromSelf: "any",
    verdict: "message",
  },
  {
    rule: "exit(pid, kill) cannot be trapped",
    source: "exit",
    linked: "any",
    reason: ["kill"],
    trapping: "any",
    fromSelf: "any",
    verdict: "killed",
  },
  {
    rule: "exit(pid, normal) from another is dropped",
    source: "exit",
    linked: "any",
    reason: ["normal"],
    trapping: [false],
    fromSelf: [false],
    verdict: "drop",
  },
  {
    rule: "exit(self, normal) ends the process",
    source: "exit",
    linked: "any",
    reason: ["normal"],
    trapping: [false],
    fromSelf: [true],
    verdict: "die",
  },
  {
    rule: "exit(pid, anything else) ends the process",
    source: "exit",
    linked: "any",
    reason: ordinary,
    trapping: [false],
    fromSelf: "any",
    verdict: "die",
  },
  {
    rule: "exit(pid, anything but kill) is an EXIT for one that traps",
    source: "exit",
    linked: "any",
    reason: ["normal", ...ordinary],
    trapping: [true],
    fromSelf: "any",
    verdict: "message",
  },
];

interface Case {
  readonly source: ExitSource;
  readonly linked: boolean;
  readonly reason: ExitReason;
  readonly trapping: boolean;
  readonly fromSelf: boolean;
}

const cases: Case[] = [];
for (const source of ["link", "exit"] as const) {
  for (const linked of [true, false]) {
    for (const reason of reasons) {
      for (const trapping of [true, false]) {
        for (const fromSelf of [true, false]) cases.push({ source, linked, reason, trapping, fromSelf });
      }
    }
  }
}

function holds<T>(only: Only<T>, value: T): boolean {
  return only === "any" || only.includes(value);
}

function applies(row: Row, one: Case): boolean {
  return (
    row.source === one.source &&
    holds(row.linked, one.linked) &&
    holds(row.reason, one.reason.type) &&
    holds(row.trapping, one.trapping) &&
    holds(row.fromSelf, one.fromSelf)
  );
}

describe("the exit-signal table", () => {
  it("is complete and without contradiction: exactly one row applies to each case [S1]", () => {
    expect(cases).toHaveLength(160);
    for (const one of cases) expect(table.filter((row) => applies(row, one))).toHaveLength(1);
  });

  it.each(table)("$rule", (row) => {
    const covered = cases.filter((one) => applies(row, one));
    expect(covered.length).toBeGreaterThan(0);
    for (const { source, linked, reason, trapping, fromSelf } of covered) {
      expect(exitAction(source, linked, reason, trapping, fromSelf)).toBe(row.verdict);
    }
  });
});
