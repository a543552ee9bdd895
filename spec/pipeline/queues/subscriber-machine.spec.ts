// The machine of a subscriber, against random events: no message is lost or settled twice, and no limit is passed.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decide,
  initial,
  type SubscriberEffect,
  type SubscriberEvent,
  type SubscriberState,
} from "../../../lib/pipeline/queues/subscriber-machine.js";
import { sized } from "../../support/proof.js";

type State = SubscriberState<number, string>;
type Event = SubscriberEvent<number, string>;
type Effect = SubscriberEffect<number, string>;

const AGAIN = { minMs: 10, maxMs: 100, jitter: 0 };

/** A queue, as a subscriber's machine sees it, which checks each decision. */
class World {
  state: State;
  readonly waiting: number[] = [];
  /** With the subscriber, under its present claim. */
  readonly held = new Set<number>();
  readonly running = new Map<number, number>();
  readonly settling = new Map<number, number>();
  readonly settled: number[] = [];
  /** Those whose letters are in work: from the take on, until the message is settled, or the machine has named it as given up. */
  readonly letters = new Set<number>();
  /** Not to be tried before `opened`. */
  readonly aside = new Set<number>();
  /** One ask for each claim at most. */
  readonly asked: { readonly claim: number; readonly count: number }[] = [];
  claiming: number | undefined;
  isStopped = false;

  constructor(concurrency: number, prefetch: number, messages: number) {
    this.state = initial({ concurrency, prefetch, again: AGAIN });
    for (let i = 0; i < messages; i++) this.waiting.push(i);
    this.claiming = 0;
  }

  take(event: Event): void {
    const [state, effects] = decide(this.state, event);
    this.state = state;
    for (const effect of effects) this.carryOut(effect);
    const { concurrency, prefetch } = state.config;
    expect(state.inFlight.size).toBeLessThanOrEqual(Math.min(prefetch, concurrency));
    expect(state.inFlight.size + state.buffer.length + state.taking).toBeLessThanOrEqual(prefetch);
    expect(new Set([...this.running.keys(), ...this.settling.keys()])).toEqual(
      new Set(state.inFlight.keys()),
    );
    const waiting = [...state.buffer, ...state.waiting, ...state.opened];
    const known = [...waiting, ...[...state.inFlight.values()].map(({ message }) => message)];
    expect([...this.letters].sort()).toEqual(known.sort());
  }

  carryOut(effect: Effect): void {
    expect(this.isStopped).toBe(false);
    switch (effect.type) {
      case "claim":
        // One claim is taken at a time: messages under another one would be nobody's.
        expect(this.claiming).not.toBe(effect.claim);
        this.claiming = effect.claim;
        return;
      case "take":
        expect(this.asked.map(({ claim }) => claim)).not.toContain(effect.claim);
        expect(effect.count).toBeGreaterThan(0);
        this.asked.push(effect);
        return;
      case "run":
        expect(this.held.has(effect.message)).toBe(true);
        expect(this.aside.has(effect.message)).toBe(false);
        expect([...this.running.values(), ...this.settling.values()]).not.toContain(effect.message);
        this.running.set(effect.delivery, effect.message);
        return;
      case "settle":
        expect(this.held.has(effect.message)).toBe(true);
        this.running.delete(effect.delivery);
        this.settling.set(effect.delivery, effect.message);
        return;
      case "end":
        for (const message of effect.messages) {
          this.aside.delete(message);
          expect(this.letters.delete(message)).toBe(true);
        }
        for (const delivery of effect.deliveries) {
          this.running.delete(delivery);
          this.settling.delete(delivery);
        }
        return;
      case "release":
        for (const message of effect.messages) {
          expect(this.held.delete(message)).toBe(true);
          expect(this.letters.delete(message)).toBe(true);
          this.aside.delete(message);
          this.waiting.push(message);
        }
        return;
      case "alarm":
        expect(effect.inMs).toBeGreaterThan(0);
        return;
      case "stopped":
        this.isStopped = true;
        return;
      default:
        effect satisfies never;
    }
  }

  /** Does what `choice` says, if it can be done now. */
  step(choice: string, roll: number): unknown {
    const [running] = this.running.keys();
    const [settling] = this.settling.keys();
    switch (choice) {
      case "claimed": {
        const { claiming } = this;
        if (claiming === undefined) return undefined;
        this.claiming = undefined;
        return this.take({ type: "claimed", claim: claiming });
      }
      case "taken": {
        const asked = this.asked.shift();
        if (asked === undefined) return undefined;
        const { claim, count } = asked;
        const messages = this.waiting.splice(0, Math.ceil(count * roll));
        // The inbox of one that has stopped is closed.
        if (!this.isStopped) for (const message of messages) this.letters.add(message);
        if (claim === this.state.claim) for (const message of messages) this.held.add(message);
        // Taken under a claim that is lost: others find them.
        else this.waiting.push(...messages);
        return this.take({ type: "taken", claim, messages, more: this.waiting.length > 0 });
      }
      case "failed": {
        const asked = this.asked.shift();
        const claim = asked?.claim ?? this.claiming;
        if (claim === undefined) return undefined;
        if (asked === undefined) this.claiming = undefined;
        return this.take({ type: "failed", claim, roll });
      }
      case "handled":
        return running === undefined
          ? undefined
          : this.take({ type: "handled", delivery: running, verdict: "done" });
      case "held": {
        if (running === undefined) return undefined;
        const message = this.running.get(running) as number;
        this.running.delete(running);
        this.aside.add(message);
        return this.take({ type: "held", delivery: running });
      }
      case "opened":
        this.aside.clear();
        return this.take({ type: "opened" });
      case "late":
        // Of a delivery that is over, or is being settled already.
        return settling === undefined
          ? this.take({ type: "handled", delivery: -1, verdict: "late" })
          : this.take({ type: "handled", delivery: settling, verdict: "late" });
      case "settled": {
        if (settling === undefined) return undefined;
        const message = this.settling.get(settling) as number;
        this.settling.delete(settling);
        this.held.delete(message);
        this.letters.delete(message);
        this.settled.push(message);
        return this.take({ type: "settled", delivery: settling });
      }
      case "unsettled":
        if (settling === undefined) return undefined;
        return this.take({ type: "unsettled", delivery: settling, verdict: "done", roll });
      case "lost":
        // Others have what it held.
        this.waiting.push(...this.held);
        this.held.clear();
        return this.take({ type: "lost" });
      case "news":
        return this.take({ type: "news" });
      case "again":
        return this.take({ type: "again" });
      case "stop":
        return this.take({ type: "stop" });
      default:
        throw new Error(choice);
    }
  }

  /** Everything goes well from now on. */
  finish(until: () => boolean): void {
    for (let i = 0; i < 10_000 && !until(); i++)
      for (const choice of ["again", "claimed", "opened", "taken", "handled", "settled", "news"])
        this.step(choice, 1);
    expect(until()).toBe(true);
  }
}

const CHOICES = [
  ...["claimed", "taken", "failed", "handled", "late", "settled", "unsettled", "lost", "news", "again"],
  ...["held", "opened"],
];

const steps = (choices: readonly string[]): fc.Arbitrary<[string, number][]> =>
  fc.array(fc.tuple(fc.constantFrom(...choices), fc.double({ min: 0, max: 0.999, noNaN: true })), {
    maxLength: 200,
  });
const sizes = fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 12 }));

describe("a subscriber's machine", () => {
  it("settles each message once, whatever fails in between, and never passes its limits", () => {
    fc.assert(
      fc.property(sizes, steps(CHOICES), ([concurrency, prefetch], choices) => {
        const world = new World(concurrency, prefetch, 30);
        for (const [choice, roll] of choices) world.step(choice, roll);
        if (world.claiming === undefined && world.state.phase === "claiming") world.step("again", 0);
        world.finish(() => world.settled.length === 30);
        expect([...world.settled].sort((a, b) => a - b)).toEqual([...Array(30).keys()]);
      }),
      { numRuns: sized(30, 0.1, 100) },
    );
  });

  it("stops when the messages in work are settled, and gives the others back", () => {
    fc.assert(
      fc.property(sizes, steps(CHOICES), ([concurrency, prefetch], choices) => {
        const world = new World(concurrency, prefetch, 30);
        for (const [choice, roll] of choices) world.step(choice, roll);
        world.step("stop", 0);
        world.finish(() => world.isStopped);
        expect([...world.held]).toEqual([]);
        expect([...world.waiting, ...world.settled].sort((a, b) => a - b)).toEqual([...Array(30).keys()]);
      }),
      { numRuns: sized(30, 0.1, 100) },
    );
  });

  it("takes one claim at a time, also when the alarm of an earlier failure comes meanwhile [Y892]", () => {
    const world = new World(1, 2, 2);
    for (const choice of ["claimed", "failed", "lost", "again", "again"]) world.step(choice, 0);
    world.finish(() => world.settled.length === 2);
  });

  it("gives up messages that were taken under a claim that was lost meanwhile", () => {
    const world = new World(1, 2, 2);
    for (const choice of ["claimed", "lost", "taken"]) world.step(choice, 0.9);
    expect([[...world.letters], world.waiting]).toEqual([[], [0, 1]]);
    world.finish(() => world.settled.length === 2);
  });

  it("sets a message aside that has to wait, gives its place to another one, and tries it when it may run [Y711]", () => {
    const world = new World(1, 1, 2);
    for (const choice of ["claimed", "taken", "held", "taken", "handled", "settled"]) world.step(choice, 0.6);
    expect([[...world.aside], world.settled]).toEqual([[0], [1]]);
    world.step("opened", 0);
    expect([...world.running.values()]).toEqual([0]);
    for (const choice of ["handled", "settled"]) world.step(choice, 0);
    expect(world.settled).toEqual([1, 0]);
  });

  it("holds no more than its prefetch when a message that waited may run while others are being taken", () => {
    const world = new World(1, 1, 3);
    for (const choice of ["claimed", "taken", "held", "opened"]) world.step(choice, 0.6);
    expect(world.running.size).toBe(0);
    for (const choice of ["taken", "handled", "settled"]) world.step(choice, 0.6);
    expect([world.settled, [...world.running.values()]]).toEqual([[1], [0]]);
  });

  it("asks a store that failed again later, and later each time", () => {
    const world = new World(1, 1, 1);
    const alarms: number[] = [];
    const carryOut = world.carryOut.bind(world);
    world.carryOut = (effect) => {
      if (effect.type === "alarm") alarms.push(effect.inMs);
      carryOut(effect);
    };
    world.step("claimed", 0);
    for (let i = 0; i < 6; i++) {
      world.step("failed", 0);
      world.step("again", 0);
    }
    expect(alarms).toEqual([10, 20, 40, 80, 100, 100]);
  });
});
