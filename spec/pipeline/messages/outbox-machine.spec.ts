// The rule for messages that a broker carries, with a crash at every point: nothing is acknowledged before the store and the broker have
// all that follows from it, and what is done twice changes nothing.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decide,
  initial,
  type OutboxEffect,
  type OutboxEvent,
  type OutboxState,
} from "../../../lib/pipeline/messages/outbox-machine.js";
import { sized } from "../../support/proof.js";

const AGAIN = { minMs: 10, maxMs: 100, jitter: 0 };
const CHILDREN = ["a", "b"];

/** One message on a store and a broker that survive crashes, and a subscriber that does not. */
class World {
  // The store.
  isSettled = false;
  settlements = 0;
  readonly children = new Map<string, boolean>();
  // The broker.
  readonly published: string[] = [];
  isAcked = false;
  // The subscriber.
  state: OutboxState<string> | undefined;
  effects: OutboxEffect<string>[] = [];

  deliver(): unknown {
    if (this.isAcked || this.state !== undefined) return undefined;
    this.state = initial<string>(AGAIN);
    this.effects = [];
    if (!this.isSettled) return this.take({ type: "taken" });
    const unsent = [...this.children].filter(([, isSent]) => !isSent).map(([id]) => id);
    return this.take({ type: "gone", children: unsent });
  }

  take(event: OutboxEvent<string>): void {
    if (this.state === undefined) return;
    const [state, effects] = decide(this.state, event);
    this.state = state;
    this.effects.push(...effects);
    if (state.phase === "ended") this.crash();
  }

  crash(): void {
    this.state = undefined;
    this.effects = [];
  }

  settle(): void {
    if (this.state?.phase !== "working") return;
    this.isSettled = true;
    this.settlements++;
    for (const id of CHILDREN) this.children.set(id, false);
    this.take({ type: "settled", children: CHILDREN });
  }

  /** Carries out the next effect. `done` false: it is carried out or not, and fails. */
  perform(isDone: boolean, isLost: boolean): unknown {
    const effect = this.effects.shift();
    if (effect === undefined) return undefined;
    if (!isLost) this.carryOut(effect);
    if (!isDone || isLost) return this.take({ type: "failed", roll: 0 });
    if (effect.type === "publish") return this.take({ type: "confirmed", children: effect.children });
    return this.take({ type: effect.type === "mark" ? "marked" : "acked" });
  }

  carryOut(effect: OutboxEffect<string>): void {
    switch (effect.type) {
      case "publish":
        for (const id of effect.children) {
          expect(this.children.has(id)).toBe(true);
          this.published.push(id);
        }
        return;
      case "mark":
        for (const id of effect.children) {
          // Marked only when the broker has it.
          expect(this.published).toContain(id);
          this.children.set(id, true);
        }
        return;
      case "ack":
        // Last: the store has it all, and the broker has all children.
        expect(this.isSettled).toBe(true);
        expect([...this.children.values()]).toEqual([true, true]);
        this.isAcked = true;
        return;
      default:
        effect satisfies never;
    }
  }

  step(choice: string): void {
    if (choice === "deliver") this.deliver();
    else if (choice === "settle") this.settle();
    else if (choice === "perform") this.perform(true, false);
    else if (choice === "lose") this.perform(false, true);
    else if (choice === "unconfirmed") this.perform(false, false);
    else this.crash();
  }

  finish(): void {
    for (let i = 0; i < 20 && !this.isAcked; i++) {
      this.deliver();
      this.settle();
      this.perform(true, false);
    }
  }
}

const STEPS = ["deliver", "settle", "perform", "lose", "unconfirmed", "crash"];
const choices = fc.array(fc.constantFrom(...STEPS), { maxLength: 40 });

describe("the outbox of a delivery", () => {
  it("settles first, publishes, marks, and acknowledges last, whatever fails or crashes (bug 7) (bug 8) [Y67]", () => {
    fc.assert(
      fc.property(choices, (steps) => {
        const world = new World();
        for (const step of steps) world.step(step);
        world.finish();
        expect(world.isAcked).toBe(true);
        expect(world.settlements).toBe(1);
        // Under the same ids: the store drops what comes twice.
        expect([...new Set(world.published)].sort()).toEqual(CHILDREN);
      }),
      { numRuns: sized(300, 1, 1_000) },
    );
  });

  it("after a crash at any step, a redelivery of the settled message sends what is unsent, and acknowledges (bug 8)", () => {
    for (let crashAt = 0; crashAt < 6; crashAt++) {
      const world = new World();
      const steps = ["deliver", "settle", "perform", "perform", "perform"];
      for (const step of [...steps.slice(0, crashAt), "crash"]) world.step(step);
      world.finish();
      expect([world.isAcked, world.settlements, [...world.children.values()]]).toEqual([
        true,
        1,
        [true, true],
      ]);
    }
  });

  it("publishes again under the same ids, later each time, when the broker does not confirm (bug 32)", () => {
    let state = initial<string>(AGAIN);
    [state] = decide<string>(state, { type: "taken" });
    let effects: readonly OutboxEffect<string>[];
    [state, effects] = decide(state, { type: "settled", children: CHILDREN });
    const waits: OutboxEffect<string>[] = [...effects];
    for (let i = 0; i < 5; i++) {
      [state, effects] = decide(state, { type: "failed", roll: 0 });
      waits.push(...effects);
    }
    expect(waits).toEqual(
      [0, 10, 20, 40, 80, 100].map((inMs) => ({ type: "publish", children: CHILDREN, inMs })),
    );
  });

  it("publishes again what the broker has confirmed and lost, before it acknowledges (bug 9)", () => {
    let [state] = decide<string>(initial<string>(AGAIN), { type: "taken" });
    [state] = decide(state, { type: "settled", children: CHILDREN });
    [state] = decide(state, { type: "confirmed", children: CHILDREN });
    expect(decide(state, { type: "void" })[1]).toEqual([{ type: "publish", children: CHILDREN, inMs: 0 }]);
  });

  it("acknowledges letters that another one holds, and leaves those that it has lost", () => {
    const first = initial<string>(AGAIN);
    expect(decide<string>(first, { type: "elsewhere" })[1]).toEqual([{ type: "ack" }]);
    const [working] = decide<string>(first, { type: "taken" });
    expect(decide<string>(working, { type: "lost" })).toEqual([{ ...working, phase: "ended" }, []]);
    // What comes late changes nothing.
    const events = ["taken", "elsewhere", "lost", "marked", "void", "acked"] as const;
    const ended = { ...first, phase: "ended" } as const;
    for (const type of events) expect(decide<string>(ended, { type })).toEqual([ended, []]);
    expect(decide<string>(ended, { type: "confirmed", children: ["a"] })).toEqual([ended, []]);
    expect(decide<string>(ended, { type: "failed", roll: 0 })).toEqual([ended, []]);
    expect(decide<string>(ended, { type: "settled", children: ["a"] })).toEqual([ended, []]);
  });
});
