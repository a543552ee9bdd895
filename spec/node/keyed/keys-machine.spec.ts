// The processes of the keys of one shard, as they start, end and fail in any order. The model is what runs.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decide, initial, type KeysEffect, type KeysEvent } from "../../../lib/node/keyed/keys-machine.js";
import { sized } from "../../support/proof.js";

const KEYS = ["a", "b", "c"];
const MOST_WAITING = 3;

class World {
  readonly #state = initial(MOST_WAITING);
  /** By life: its key, and whether its process runs. */
  readonly lives = new Map<number, { readonly key: string; is: "loading" | "starting" | "running" }>();
  readonly open = new Set<number>();
  readonly saw = new Set<string>();
  isDraining = false;
  isDrained = false;
  #asks = 0;

  happen(event: KeysEvent): void {
    if (event.type === "drain") this.isDraining = true;
    for (const effect of decide(this.#state, event)[1]) this.#carryOut(effect);
    expect(this.#state.waiting).toBeLessThanOrEqual(MOST_WAITING);
    expect(this.#state.waiting).toBe(this.open.size);
  }

  #carryOut(effect: KeysEffect): void {
    this.saw.add(effect.type);
    switch (effect.type) {
      case "load":
        expect(this.isDraining).toBe(false);
        // No life of a key begins before the one before has ended.
        expect([...this.lives.values()].map(({ key }) => key)).not.toContain(effect.key);
        this.lives.set(effect.life, { key: effect.key, is: "loading" });
        return;
      case "launch":
        expect(this.isDraining).toBe(false);
        expect(this.lives.get(effect.life)?.is).toBe("loading");
        this.lives.set(effect.life, { key: effect.key, is: "starting" });
        return;
      case "finish":
        expect(this.lives.has(effect.life)).toBe(true);
        return;
      case "here":
        expect(this.lives.get(effect.life)?.is).toBe("running");
        for (const ask of effect.asks) expect(this.open.delete(ask)).toBe(true);
        return;
      case "failed":
      case "moved":
      case "busy":
        for (const ask of effect.asks) expect(this.open.delete(ask)).toBe(true);
        return;
      case "drained":
        expect(this.isDrained).toBe(false);
        expect([...this.lives.values()].filter(({ is }) => is !== "loading")).toEqual([]);
        this.isDrained = true;
        return;
      default:
        effect satisfies never;
    }
  }

  ask(key: string, hasRoom: boolean): void {
    const ask = ++this.#asks;
    this.open.add(ask);
    this.happen({ type: "ask", ask, key, hasRoom });
  }

  lifeOf(key: string): number | undefined {
    return [...this.lives].find(([, life]) => life.key === key)?.[0];
  }

  /** The next thing happens to the life of a key. */
  go(key: string, how: "well" | "fails" | "ends"): void {
    const life = this.lifeOf(key);
    const one = life === undefined ? undefined : this.lives.get(life);
    if (life === undefined || one === undefined) return;
    const error = new Error("it fails");
    if (one.is === "loading") {
      if (how === "well") this.happen({ type: "loaded", life });
      else {
        this.lives.delete(life);
        this.happen({ type: "failed", life, error, isGone: true });
      }
      if (this.isDraining) this.lives.delete(life);
    } else if (how === "well" && one.is === "starting") {
      one.is = "running";
      this.happen({ type: "started", life });
    } else if (how !== "well") {
      if (how === "fails" && one.is === "starting")
        this.happen({ type: "failed", life, error, isGone: false });
      this.lives.delete(life);
      this.happen({ type: "ended", life, error });
    }
  }
}

const key = fc.constantFrom(...KEYS);
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("ask" as const),
      key,
      hasRoom: fc.constantFrom(true, true, true, false),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("go" as const),
      key,
      how: fc.constantFrom("well", "well", "fails", "ends" as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("drain" as const) }) },
);

describe("the keys of a shard", () => {
  test("have one life at a time, answer each ask once, and are drained once, when the last process has ended [N1362]", () => {
    const saw = new Set<string>();
    fc.assert(
      fc.property(fc.array(step, { maxLength: 50, size: "max" }), (steps) => {
        const world = new World();
        for (const one of steps)
          if (one.do === "ask") world.ask(one.key, one.hasRoom);
          else if (one.do === "go") world.go(one.key, one.how);
          else world.happen({ type: "drain" });
        for (const one of KEYS) for (let i = 0; i < 2; i++) world.go(one, "well");
        expect(world.open.size).toBe(0);
        world.happen({ type: "drain" });
        for (const one of KEYS) world.go(one, "ends");
        expect(world.isDrained).toBe(true);
        world.ask("a", true);
        expect(world.open.size).toBe(0);
        for (const one of world.saw) saw.add(one);
      }),
      { numRuns: sized(800, 1, 300), seed: 1 },
    );
    expect([...saw].sort()).toEqual([
      "busy",
      "drained",
      "failed",
      "finish",
      "here",
      "launch",
      "load",
      "moved",
    ]);
  });
});
