// Two processes on two nodes that sessions join, with the codec between them: every order in which they link, unlink, monitor,
// demonitor and exit, what was sent arrives, and the connection is lost and made anew, up to a length. They do what the rules of OTP say.

import { describe, expect, test } from "vitest";
import { graded } from "../support/proof.js";
import { NodesRun } from "./nodes.js";
import { replayNodes } from "./replay.js";
import { Rules, RulesRun } from "./rules.js";
import type { NodeName, NodeOp, SignalOp } from "./trace.js";

const HOMES = { p1: "n1", p2: "n2" } as const;
type Name = keyof typeof HOMES;
const NAMES: readonly Name[] = ["p1", "p2"];
const NODES: readonly NodeName[] = ["n1", "n2"];
const facing = (name: Name): Name => (name === "p1" ? "p2" : "p1");

/** What happens while nothing passes between the nodes. Then all that was sent arrives, or the other node learns that it is lost. */
type Period = readonly Exclude<
  NodeOp,
  readonly ["together", ...unknown[]] | readonly ["heal", ...unknown[]]
>[];

/** The two nodes after these periods, by the rules. A connection that a period has lost is made anew after it. */
function after(periods: readonly Period[]): Rules {
  const rules = new Rules(HOMES);
  for (const [index, period] of periods.entries()) {
    if (index > 0) settle(rules);
    for (const op of period) {
      if (op[0] === "cut") rules.lose(op[1]);
      else rules.perform(op as SignalOp);
    }
  }
  return rules;
}

function settle(rules: Rules): void {
  if (NODES.some((node) => !rules.isConnected(node))) {
    for (const node of NODES) if (rules.isConnected(node)) rules.lose(node);
    rules.heal();
  }
  while (NODES.some((node) => rules.underWayTo(node) > 0)) for (const node of NODES) rules.arrive(node);
}

/** What may happen next in a period. What the two nodes do in one period has no order, so n1 is first. */
function possible(rules: Rules, period: Period, count: number): Period {
  const isWhole = NODES.every((node) => rules.isConnected(node));
  return NAMES.flatMap((name): Period => {
    const last = period.at(-1);
    if (name === "p1" && last !== undefined && sideOf(last) === "n2") return [];
    const cut = isWhole ? [["cut", HOMES[name], HOMES[facing(name)]] as const] : [];
    if (!rules.isAlive(name)) return cut;
    const [monitor] = rules.monitorsOf(name);
    const isLinked = rules.linksOf(name).length > 0;
    return [
      ...cut,
      ["die", name, "boom"],
      [isLinked ? "unlink" : "link", name, facing(name)],
      monitor === undefined
        ? ["monitor", name, facing(name), `${name}${count}`]
        : ["demonitor", name, monitor, true],
    ];
  });
}

const sideOf = (op: Period[number]): NodeName =>
  op[0] === "cut" ? op[1] : HOMES[(op as SignalOp)[1] as Name];

/** Every sequence of periods with so many operations. */
function* sequences(start: Period, operations: number): Generator<readonly Period[]> {
  function* from(periods: readonly Period[], left: number): Generator<readonly Period[]> {
    if (left === 0) {
      yield periods;
      return;
    }
    const done = periods.slice(0, -1);
    const last = periods.at(-1) as Period;
    for (const op of possible(after(periods), last, left)) yield* from([...done, [...last, op]], left - 1);
    if (last.length > 0) {
      const next = [...periods, []];
      for (const op of possible(after(next), [], left)) yield* from([...next, [op]], left - 1);
    }
  }
  yield* from([start, []], operations);
}

/** As a scenario. In the end p1 exits, which shows whether p2 is linked to it or monitors it. */
function opsOf(periods: readonly Period[]): NodeOp[] {
  const ops: NodeOp[] = [];
  for (const period of periods) {
    ops.push(["together", period]);
    if (period.some(([kind]) => kind === "cut")) ops.push(["heal", "n1", "n2"]);
  }
  return [...ops, ["die", "p1", "bang"]];
}

const SPAWNED: Period = [
  ["spawn", "p1", true],
  ["spawn", "p2", true],
];

describe("two processes on two nodes that sessions join", () => {
  test.each([
    ["apart", SPAWNED, { quick: 2, short: 3, full: 4 }],
    ["linked", [...SPAWNED, ["link", "p1", "p2"]], { quick: 3, short: 4, full: 5 }],
  ] as const)(
    "at first %s do what the rules say, in every order of operations [N1023]",
    async (_what, start, operations) => {
      let many = 0;
      for (const periods of sequences(start as Period, graded<number>(operations))) {
        const rules = new RulesRun(HOMES);
        const steps = opsOf(periods).map((op) => ({ op, ...rules.step(op) }));
        const scenario = { id: JSON.stringify(steps), nodes: HOMES, steps };
        expect(await replayNodes(scenario, new NodesRun("callbacks", HOMES, "frames"))).toEqual([]);
        many++;
      }
      expect(many).toBeGreaterThan(50);
    },
  );
});
