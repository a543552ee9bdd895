// What the subscriptions say about the flow: where tuples come to, and who waits for whom.

import { test as check, fc } from "@fast-check/vitest";
import { grouping } from "signalbox/topology";
import { describe, expect, test } from "vitest";
import type { Blueprint, Subscription } from "../../../lib/topology/definition/blueprint.js";
import { outflowsOf, reachedFrom, targetsOf } from "../../../lib/topology/definition/downstream.js";

function subscription(from: string, to: string, keyed = false): Subscription {
  const chosen = keyed ? grouping.fields("n") : grouping.shuffle();
  return { from, stream: "numbers", to, fields: {}, grouping: chosen, anchored: true };
}

const blueprint = (...subscriptions: readonly Subscription[]): Blueprint =>
  ({ subscriptions }) as unknown as Blueprint;

const NAMES = ["a", "b", "c", "d", "e", "f"];
const generated = fc
  .array(fc.tuple(fc.constantFrom(...NAMES), fc.constantFrom(...NAMES), fc.boolean()), { maxLength: 14 })
  .map((all) => all.map(([from, to, keyed]) => subscription(from, to, keyed)));

describe("the bolts that a spout's tuples come to", () => {
  test("need any task with room where all ways there are a shuffle, and else the one that is meant", () => {
    const all = blueprint(
      subscription("s", "a"),
      subscription("a", "b"),
      subscription("x", "b", true),
      subscription("a", "c", true),
      subscription("c", "b"),
    );
    expect([...outflowsOf("s", all)].sort((one, other) => (one.to < other.to ? -1 : 1))).toEqual([
      { to: "a", anyTask: true },
      { to: "b", anyTask: true },
      { to: "c", anyTask: false },
    ]);
    expect(outflowsOf("x", all)).toEqual([{ to: "b", anyTask: false }]);
  });
});

describe("bolts that wait for the room of others", () => {
  test("do so for those that they emit to, but for those from which tuples come back", () => {
    const all = blueprint(
      subscription("a", "b"),
      subscription("b", "c"),
      subscription("c", "b"),
      subscription("c", "d", true),
      subscription("d", "d"),
    );
    expect(targetsOf("a", all)).toEqual([{ to: "b", anyTask: true }]);
    expect(targetsOf("b", all)).toEqual([]);
    expect(targetsOf("c", all)).toEqual([{ to: "d", anyTask: false }]);
    expect(targetsOf("d", all)).toEqual([]);
  });

  check.prop([generated])(
    "never wait for each other in a circle, and for nobody less than that needs",
    (all) => {
      const waits = (from: string): readonly string[] =>
        targetsOf(from, blueprint(...all)).map(({ to }) => to);
      for (const name of NAMES) {
        const met = new Set<string>();
        const open = [...waits(name)];
        for (let one = open.pop(); one !== undefined; one = open.pop())
          if (!met.has(one)) {
            met.add(one);
            open.push(...waits(one));
          }
        expect(met.has(name)).toBe(false);
        for (const { from, to } of all)
          if (from === name && !reachedFrom(to, all).has(name)) expect(waits(name)).toContain(to);
      }
    },
  );
});
