// The rule for messages that a broker carries, with a crash at every point: a message that the store has marked as unsent gets to the broker,
// no acknowledgement takes one away that the store does not have, and repeated work changes nothing.

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

/** One message on a store and a broker that survive crashes, and a process that does not. */
class World {
  // The store.
  settlements = 0;
  /** Whether each child is marked as unsent. */
  readonly unsent = new Map<string, boolean>();
  // The broker.
  readonly published: string[] = [];
  isAcked = false;
  // The process.
  isInWork = false;
  state: OutboxState<string> | undefined;
  effects: OutboxEffect<string>[] = [];

  get isSettled(): boolean {
    return this.settlements > 0;
  }

  /** The letter is delivered. That of a message that is gone is acknowledged. */
  deliver(): void {
    if (this.isAcked || this.isInWork) return;
    if (this.isSettled) this.isAcked = true;
    else this.isInWork = true;
  }

  /** Settles the message in the commit that marks its children as unsent. Then its letter is over, and the children are sent. */
  settle(): void {
    if (!this.isInWork) return;
    this.isInWork = false;
    this.settlements++;
    for (const id of CHILDREN) this.unsent.set(id, true);
    this.isAcked = true;
    if (this.state === undefined) this.send(CHILDREN);
  }

  /** Sends what others have left behind. */
  look(): void {
    const left = [...this.unsent].filter(([, isUnsent]) => isUnsent).map(([id]) => id);
    if (this.state === undefined && left.length > 0) this.send(left);
  }

  send(messages: readonly string[]): void {
    this.state = initial<string>(AGAIN);
    this.tell({ type: "send", messages });
  }

  tell(event: OutboxEvent<string>): void {
    const [state, effects] = decide(this.state as OutboxState<string>, event);
    this.effects.push(...effects);
    this.state = state.phase === "ended" ? undefined : state;
  }

  crash(): void {
    this.isInWork = false;
    this.state = undefined;
    this.effects = [];
  }

  /** Carries out the next effect. `isDone` false: it fails, after it was carried out or without. */
  perform(isDone: boolean, isLost: boolean): void {
    const effect = this.effects.shift();
    if (effect === undefined) return;
    if (!isLost) this.carryOut(effect);
    if (!isDone || isLost) this.tell({ type: "failed", roll: 0 });
    else if (effect.type === "mark") this.tell({ type: "marked" });
    else this.tell({ type: "confirmed", messages: effect.messages });
  }

  carryOut({ type, messages }: OutboxEffect<string>): void {
    for (const id of messages) {
      // The store has it before the broker, and its mark is removed only when the broker has it.
      expect(this.unsent.has(id)).toBe(true);
      if (type === "publish") this.published.push(id);
      else expect(this.published).toContain(id);
      if (type === "mark") this.unsent.set(id, false);
    }
  }

  step(choice: string): void {
    if (choice === "deliver") this.deliver();
    else if (choice === "settle") this.settle();
    else if (choice === "look") this.look();
    else if (choice === "perform") this.perform(true, false);
    else if (choice === "lose") this.perform(false, true);
    else if (choice === "unconfirmed") this.perform(false, false);
    else this.crash();
    if (this.isAcked) expect(this.isSettled).toBe(true);
  }

  finish(): void {
    for (let i = 0; i < 20; i++) for (const step of ["deliver", "settle", "look", "perform"]) this.step(step);
  }
}

const STEPS = ["deliver", "settle", "look", "perform", "lose", "unconfirmed", "crash"];
const choices = fc.array(fc.constantFrom(...STEPS), { maxLength: 40 });

describe("the outbox", () => {
  it("settles first, acknowledges then, publishes what the store has and marks it, whatever fails or crashes (bug 7) (bug 8) [Y67]", () => {
    fc.assert(
      fc.property(choices, (steps) => {
        const world = new World();
        for (const step of steps) world.step(step);
        world.finish();
        expect([world.isAcked, world.settlements]).toEqual([true, 1]);
        expect([...world.unsent.values()]).toEqual([false, false]);
        // Under the same ids: the store drops what comes twice.
        expect([...new Set(world.published)].sort()).toEqual(CHILDREN);
      }),
      { numRuns: sized(300, 1, 1_000) },
    );
  });

  it("after a crash at any step, whoever looks sends what is unsent (bug 8)", () => {
    const steps = ["deliver", "settle", "perform", "perform"];
    for (let crashAt = 0; crashAt <= steps.length; crashAt++) {
      const world = new World();
      for (const step of [...steps.slice(0, crashAt), "crash"]) world.step(step);
      world.finish();
      expect([world.isAcked, world.settlements, [...world.unsent.values()]]).toEqual([
        true,
        1,
        [false, false],
      ]);
    }
  });

  it("publishes again, later each time, when the broker does not confirm (bug 32)", () => {
    let state = initial<string>(AGAIN);
    let effects: readonly OutboxEffect<string>[];
    [state, effects] = decide(state, { type: "send", messages: CHILDREN });
    const waits: OutboxEffect<string>[] = [...effects];
    for (let i = 0; i < 5; i++) {
      [state, effects] = decide(state, { type: "failed", roll: 0 });
      waits.push(...effects);
    }
    expect(waits).toEqual(
      [0, 10, 20, 40, 80, 100].map((inMs) => ({ type: "publish", messages: CHILDREN, inMs })),
    );
  });

  it("publishes again what the broker has confirmed and lost, before it marks that (bug 9)", () => {
    let [state] = decide<string>(initial<string>(AGAIN), { type: "send", messages: CHILDREN });
    [state] = decide(state, { type: "confirmed", messages: CHILDREN });
    expect(decide(state, { type: "void" })[1]).toEqual([{ type: "publish", messages: CHILDREN, inMs: 0 }]);
  });

  it("changes nothing by what comes late, and ends at once where nothing is to be sent", () => {
    const first = initial<string>(AGAIN);
    const ended = { ...first, phase: "ended" } as const;
    expect(decide<string>(first, { type: "send", messages: [] })).toEqual([ended, []]);
    for (const type of ["marked", "void"] as const) {
      expect(decide<string>(first, { type })).toEqual([first, []]);
      expect(decide<string>(ended, { type })).toEqual([ended, []]);
    }
    expect(decide<string>(ended, { type: "confirmed", messages: ["a"] })).toEqual([ended, []]);
    expect(decide<string>(ended, { type: "failed", roll: 0 })).toEqual([ended, []]);
    expect(decide<string>(ended, { type: "send", messages: ["a"] })).toEqual([ended, []]);
  });
});
