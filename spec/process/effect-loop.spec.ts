// The loop that carries out the effects of a machine.

import { describe, expect, test } from "vitest";
import { EffectLoop } from "../../lib/process/effect-loop.js";

/** A machine that counts events, and names two effects for each. */
const decide = (count: number, event: string): readonly [number, readonly string[]] => [
  count + 1,
  [`${event}1`, `${event}2`],
];

describe("an effect loop", () => {
  test("carries out the effects of an event in order, and holds the state", () => {
    const done: string[] = [];
    const loop = new EffectLoop(0, decide, (effect) => done.push(effect));
    loop.dispatch("a");
    loop.dispatch("b");
    expect([loop.state, done]).toEqual([2, ["a1", "a2", "b1", "b2"]]);
  });

  test("puts an event that an effect leads to behind everything before it", () => {
    const done: string[] = [];
    const loop = new EffectLoop(0, decide, (effect) => {
      done.push(effect);
      if (effect === "a1") {
        loop.dispatch("b");
        loop.dispatch("c");
      }
      if (effect === "b1") loop.dispatch("d");
    });
    loop.dispatch("a");
    expect(done).toEqual(["a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2"]);
  });

  test("throws the error of an effect, and discards the effects that remain", () => {
    const done: string[] = [];
    const loop = new EffectLoop(0, decide, (effect) => {
      if (effect === "a1") {
        loop.dispatch("b");
        throw new Error("no");
      }
      done.push(effect);
    });
    expect(() => loop.dispatch("a")).toThrow("no");
    expect([loop.state, done]).toEqual([1, []]);
    loop.dispatch("c");
    expect([loop.state, done]).toEqual([2, ["c1", "c2"]]);
  });
});
