// The history of the supervision tree, without any process.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PastTree } from "../../../lib/admin/history/past-tree.js";
import { treeAt } from "../../../lib/admin/history/tree-at.js";
import {
  type ChildFacts,
  decide,
  hasRoom,
  initial,
  isListed,
  TREE_LIMITS,
  type TreeEvent,
  type TreeState,
} from "../../../lib/admin/history/tree-machine.js";
import { sized } from "../../support/proof.js";

const facts = (number: number, parent?: number) => ({
  ...{ number, pid: `s.${number}`, strategy: "one_for_one", intensity: 3, periodMs: 5_000 },
  parent: parent === undefined ? undefined : `s.${parent}`,
});

const running = (key: string, pid: number): ChildFacts => ({
  ...{ key, id: key, type: "worker", status: "running", pid: `s.${pid}` },
});
const resting = (key: string, status: "restarting" | "stopped"): ChildFacts => ({
  ...{ key, id: key, type: "worker", status, pid: undefined },
});

function stateAfter(events: readonly TreeEvent[], limits = {}): TreeState {
  let state = initial({ ...TREE_LIMITS, ...limits });
  for (const event of events) [state] = decide(state, event);
  return state;
}

const NOW = 1_000_000;
const at = (state: TreeState, time: number, now = NOW): PastTree =>
  treeAt(state, { at: time, now, limit: 500, children: 2_000 });
/** The children of the first supervisor, such as `till s.3 running`. */
const shown = ({ supervisors }: PastTree): readonly string[] =>
  supervisors[0]?.listed.map(({ id, pid, status }) => `${id} ${pid ?? "-"} ${status}`) ?? [];

const T = NOW - 300_000;
const begin: readonly TreeEvent[] = [
  {
    ...{ type: "found", at: T, supervisor: facts(1), count: 2, isNew: false },
    first: [running("till", 2), running("scale", 3)],
  },
  { type: "whole", at: T + 5 },
];
const change = (
  time: number,
  key: string,
  child: ChildFacts | undefined,
  more: { readonly isNew?: boolean; readonly reason?: string; readonly supervisor?: number } = {},
): TreeEvent => ({ type: "changed", at: T + time, supervisor: 1, key, child, isNew: false, ...more });

describe("the tree at a time", () => {
  const state = stateAfter([
    ...begin,
    change(10, "till", resting("till", "restarting"), { reason: "crash" }),
    change(20, "till", running("till", 4)),
    change(30, "bell", running("bell", 5), { isNew: true }),
    change(40, "scale", undefined, { reason: "normal" }),
    { type: "ended", at: T + 50, supervisor: 1, reason: "shutdown" },
  ]);

  it("has the children of that time, in their order, and none of what came later [N1620]", () => {
    expect(shown(at(state, T + 9))).toEqual(["till s.2 running", "scale s.3 running"]);
    expect(shown(at(state, T + 10))).toEqual(["till - restarting", "scale s.3 running"]);
    expect(shown(at(state, T + 29))).toEqual(["till s.4 running", "scale s.3 running"]);
    expect(shown(at(state, T + 30))).toEqual(["till s.4 running", "scale s.3 running", "bell s.5 running"]);
    expect(shown(at(state, T + 49))).toEqual(["till s.4 running", "bell s.5 running"]);
    expect(at(state, T + 50).supervisors).toEqual([]);
  });

  it("says of what ran when and why it has ended since, and of what rests why [N1621]", () => {
    const [shop] = at(state, T + 9).supervisors;
    expect(shop).toMatchObject({ children: 2, ended: { at: T + 50, reason: "shutdown" } });
    expect(shop?.listed).toMatchObject([
      { id: "till", restarts: 0, ended: { at: T + 10, reason: "crash" } },
      { id: "scale", ended: { at: T + 40, reason: "normal" } },
    ]);
    expect(at(state, T + 10).supervisors[0]?.listed[0]).toMatchObject({ since: T + 10, reason: "crash" });
    expect(at(state, T + 10).supervisors[0]?.listed[0]?.ended).toBeUndefined();
    const [till] = at(state, T + 20).supervisors[0]?.listed ?? [];
    // Its second process ended with its supervisor.
    expect(till).toMatchObject({ restarts: 1, ended: { at: T + 50, reason: "shutdown" } });
  });

  it("is none before it is known, and says where the next changes are [N1622]", () => {
    expect(at(state, T - 99)).toMatchObject({ at: T + 5, since: T + 5, later: T + 10 });
    expect(at(state, T + 20)).toMatchObject({ at: T + 20, earlier: T + 10, later: T + 30 });
    expect(at(state, NOW + 99)).toMatchObject({ at: NOW, earlier: T + 50, later: undefined });
    // Ten minutes later.
    expect(at(state, T, NOW + 600_000)).toMatchObject({ since: NOW, at: NOW });
    expect(at(initial(), 0)).toMatchObject({ at: NOW, since: NOW, supervisors: [] });
  });

  it("does not go back when the clock on the wall does [N1620]", () => {
    const back = stateAfter([
      ...begin,
      change(20, "till", resting("till", "restarting")),
      change(10, "till", running("till", 9)),
    ]);
    expect(shown(at(back, T + 19))[0]).toBe("till s.2 running");
    expect(shown(at(back, T + 20))[0]).toBe("till s.9 running");
  });
});

describe("the bounds of the history", () => {
  it("children beyond the first are counted, to a second [N1623]", () => {
    const events: TreeEvent[] = [...begin];
    for (let n = 0; n < 10; n++)
      events.push(change(10_000 + n, `k${n}`, running(`k${n}`, 10 + n), { isNew: true }));
    for (let n = 5; n < 10; n++) events.push(change(20_000 + 100 * n, `k${n}`, undefined));
    const state = stateAfter(events, { childrenOfOne: 4 });
    const counts = (time: number) => {
      const [one] = at(state, T + time).supervisors;
      return [one?.children, one?.listed.length];
    };
    expect(counts(9_000)).toEqual([2, 2]);
    expect(counts(11_000)).toEqual([12, 4]);
    expect(counts(21_500)).toEqual([7, 4]);
    // Eight and five changes of the count are two.
    expect(state.changes).toBe(4);
    expect(isListed(state, 1, "k9", false)).toBe(false);
    expect(isListed(state, 1, "k0", false)).toBe(true);
    // One that restarts is no other one.
    expect(
      stateAfter([...events, change(30_000, "k4", running("k4", 99))], { childrenOfOne: 4 }).changes,
    ).toBe(4);
  });

  it("a supervisor whose children change all the time hides no other [N1623]", () => {
    const events: TreeEvent[] = [
      ...begin,
      {
        ...{ type: "found", at: T + 6, supervisor: facts(7, 1), count: 0, isNew: true },
        first: [],
      },
      change(10, "till", resting("till", "restarting")),
    ];
    for (let n = 0; n < 1_000; n++) {
      const key = `k${n}`;
      events.push(change(1_000 + 10 * n, key, running(key, 10 + n), { isNew: true, supervisor: 7 }));
      events.push(change(1_005 + 10 * n, key, undefined, { supervisor: 7 }));
    }
    const state = stateAfter(events, { changesOfOne: 64 });
    expect(state.changes).toBeLessThanOrEqual(65);
    expect(shown(at(state, T + 9))[0]).toBe("till s.2 running");
    const [, churn] = at(state, T + 2_000).supervisors;
    expect([churn?.children, churn?.listed]).toEqual([undefined, []]);
    const since = churn?.childrenSince ?? 0;
    expect(at(state, since - 1).supervisors[1]?.children).toBeUndefined();
    expect(at(state, since).supervisors[1]?.children).toBeDefined();
    expect(at(state, since).supervisors[1]?.childrenSince).toBeUndefined();
  });

  it("when there are too many changes, the supervisor with the most forgets its oldest [N1623]", () => {
    const events: TreeEvent[] = [...begin];
    for (let s = 10; s < 14; s++) {
      const supervisor = facts(s, 1);
      events.push({ type: "found", at: T + 6, supervisor, count: 0, first: [], isNew: true });
      for (let n = 0; n < 20 * (s - 9); n++) {
        const child = n % 2 === 0 ? running("a", n) : resting("a", "restarting");
        events.push(change(10 + n, "a", child, { isNew: n === 0, supervisor: s }));
      }
    }
    const state = stateAfter(events, { changes: 100 });
    expect(state.changes).toBeLessThanOrEqual(100);
    const kept = [...state.supervisors.values()].map(({ changes }) => changes.length);
    expect(kept.reduce((sum, one) => sum + one, 0)).toBe(state.changes);
    expect(kept[1]).toBe(20);
  });

  it("of too many supervisors, those go that have ended first, and then no more are kept [N1624]", () => {
    const begun = (number: number, time: number): TreeEvent => ({
      ...{ type: "found", at: T + time, supervisor: facts(number, 1), count: 1, isNew: true },
      first: [running("a", number + 100)],
    });
    const ended = (supervisor: number, time: number): TreeEvent => ({
      ...{ type: "ended", at: T + time, supervisor, reason: "normal" },
    });
    const events = [...begin, begun(10, 10), begun(11, 11), ended(11, 20), ended(10, 30)];
    const full = stateAfter(events, { supervisors: 3 });
    const pids = (state: TreeState, time: number) => at(state, T + time).supervisors.map(({ pid }) => pid);
    expect(hasRoom(full)).toBe(true);
    expect(pids(full, 15)).toEqual(["s.1", "s.10", "s.11"]);
    const later = stateAfter([...events, begun(12, 40)], { supervisors: 3 });
    expect(pids(later, 15)).toEqual(["s.1", "s.10"]);
    expect(pids(later, 40)).toEqual(["s.1", "s.12"]);
    const last = stateAfter([...events, begun(12, 40), begun(13, 50), begun(14, 60)], { supervisors: 3 });
    expect(hasRoom(last)).toBe(false);
    expect(pids(last, 60)).toEqual(["s.1", "s.12", "s.13"]);
    expect(at(last, NOW).isPartial).toBe(true);
    expect([last.children, last.supervisors.size]).toEqual([4, 3]);
    // Those that ended long ago go by themselves.
    expect(stateAfter([...events, begun(15, 700_000)]).supervisors.size).toBe(2);
  });

  it("an answer has so many supervisors and children, from the top down [N1624]", () => {
    const events: TreeEvent[] = [...begin];
    for (let s = 10; s < 15; s++)
      events.push({
        ...{ type: "found", at: T + 6, supervisor: facts(s, 1), count: 3, isNew: true },
        first: ["a", "b", "c"].map((key, n) => running(key, 10 * s + n)),
      });
    const tree = treeAt(stateAfter(events), { at: NOW, now: NOW, limit: 4, children: 6 });
    expect(tree.supervisors.map(({ pid, listed }) => `${pid} ${listed.length}`)).toEqual([
      ...["s.1 2", "s.10 3", "s.11 1", "s.12 0"],
    ]);
    expect(tree.supervisors.map(({ children }) => children)).toEqual([2, 3, 3, 3]);
    expect(tree.more).toBe(2);
  });
});

// ── against a model that remembers every tree ────────────────────────────────────────────────────────────────────

interface Command {
  readonly supervisor: number;
  readonly child: number;
  readonly what: "start" | "crash" | "stop" | "go" | "begin" | "end";
  readonly laterMs: number;
}

const command: fc.Arbitrary<Command> = fc.record({
  supervisor: fc.integer({ min: 1, max: 4 }),
  child: fc.integer({ min: 0, max: 5 }),
  what: fc.constantFrom("start", "start", "crash", "stop", "go", "begin", "end"),
  laterMs: fc.integer({ min: 0, max: 40 }),
});

/** By supervisor, its children as the machine has to show them. */
type Model = ReadonlyMap<number, ReadonlyMap<string, ChildFacts>>;

/** What the supervisors say, and each tree that there was with its time. `found` when the walk came by. */
function told(commands: readonly Command[], walkAt: number) {
  const events: TreeEvent[] = [];
  const trees: (readonly [time: number, Model])[] = [];
  const model = new Map<number, Map<string, ChildFacts>>();
  const known = new Set<number>();
  let [time, pid] = [T, 100];
  const find = (number: number, isNew: boolean): void => {
    const children = [...(model.get(number)?.values() ?? [])];
    events.push({
      ...{ type: "found", at: time, supervisor: facts(number), count: children.length, isNew },
      first: children,
    });
    known.add(number);
  };
  for (const [n, { supervisor, child, what, laterMs }] of commands.entries()) {
    time += laterMs;
    // The walk reaches one supervisor at each command, so others change meanwhile.
    const walked = n - walkAt + 1;
    if (walked >= 1 && walked <= 4 && model.has(walked) && !known.has(walked)) find(walked, false);
    if (walked === 5) events.push({ type: "whole", at: time });
    const children = model.get(supervisor);
    const key = `c${child}`;
    const was = children?.get(key);
    const say = (next: ChildFacts | undefined, reason?: string): void => {
      if (next === undefined) children?.delete(key);
      else children?.set(key, next);
      if (!known.has(supervisor)) return;
      events.push({
        ...{ type: "changed", at: time, supervisor, key, child: next, isNew: was === undefined },
        reason,
      });
    };
    if (what === "begin") {
      // The number of a process is never used again.
      if (children === undefined && !known.has(supervisor)) {
        model.set(supervisor, new Map());
        if (n >= walkAt) find(supervisor, true);
      }
    } else if (children === undefined) continue;
    else if (what === "end") {
      model.delete(supervisor);
      if (known.has(supervisor)) events.push({ type: "ended", at: time, supervisor, reason: "normal" });
      known.add(supervisor);
    } else if (what === "start") {
      if (was?.status !== "running") say(running(key, ++pid));
    } else if (was === undefined) continue;
    else if (what === "crash") {
      if (was.status === "running") say(resting(key, "restarting"), "crash");
    } else if (what === "stop") say(resting(key, "stopped"));
    else say(undefined, "normal");
    if (n - walkAt + 1 >= 5)
      trees.push([time, new Map([...model].map(([number, all]) => [number, new Map(all)]))]);
  }
  return { events, trees, end: time };
}

const ofModel = (model: Model) =>
  [...model]
    .sort(([a], [b]) => a - b)
    .map(([number, children]) => ({
      pid: `s.${number}`,
      children: children.size,
      listed: [...children.values()].map(({ id, pid, status }) => `${id} ${pid} ${status}`).sort(),
    }));
const ofTree = ({ supervisors }: PastTree) =>
  supervisors.map(({ pid, children, listed }) => ({
    pid,
    children,
    listed: listed.map((one) => `${one.id} ${one.pid} ${one.status}`).sort(),
  }));

const inputs = [
  fc.array(command, { minLength: 20, maxLength: 120 }),
  fc.integer({ min: 0, max: 20 }),
] as const;

describe("against a model that remembers every tree", () => {
  it("the tree at any time is the one of the model, whatever changes while the walk is under way [N1620] [N1622]", () => {
    fc.assert(
      fc.property(...inputs, (commands, walkAt) => {
        const { events, trees, end } = told(commands, walkAt);
        const state = stateAfter(events);
        for (const [n, [time, model]] of trees.entries()) {
          // Of several within a millisecond, the last one counts.
          if (trees[n + 1]?.[0] === time) continue;
          expect(ofTree(at(state, time, end))).toEqual(ofModel(model));
        }
      }),
      { numRuns: sized(300) },
    );
  });

  it("with little room it is that one, or says that it is not known, and counts are right to a second [N1623]", () => {
    const limits = { childrenOfOne: 3, children: 7, changesOfOne: 8, changes: 20, countMs: 0 };
    fc.assert(
      fc.property(...inputs, (commands, walkAt) => {
        const { events, trees, end } = told(commands, walkAt);
        let state = initial({ ...TREE_LIMITS, ...limits });
        for (const event of events) {
          [state] = decide(state, event);
          const all = [...state.supervisors.values()];
          const sum = (of: (one: (typeof all)[number]) => number): number =>
            all.reduce((before, one) => before + of(one), 0);
          expect(state.changes).toBe(sum(({ changes }) => changes.length));
          expect(state.children).toBe(sum(({ children }) => children.size));
          expect(state.changes).toBeLessThanOrEqual(limits.changes);
          expect(state.children).toBeLessThanOrEqual(limits.children);
        }
        for (const [n, [time, model]] of trees.entries()) {
          if (trees[n + 1]?.[0] === time) continue;
          const modelled = new Map(ofModel(model).map((one) => [one.pid, one]));
          const past = at(state, time, end).supervisors;
          expect(past.map(({ pid }) => pid)).toEqual([...modelled.keys()]);
          for (const { pid, children, listed, childrenSince } of past) {
            const right = modelled.get(pid);
            if (children === undefined) expect(childrenSince).toBeGreaterThan(time);
            else expect(children).toBe(right?.children);
            for (const one of listed) expect(right?.listed).toContain(`${one.id} ${one.pid} ${one.status}`);
          }
        }
      }),
      { numRuns: sized(300) },
    );
  });
});
