// The rule for channels: some processes, one store, and a broker that forgets at any time.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ChannelEffect,
  type ChannelEvent,
  type ChannelState,
  decide,
  initial,
  type NamedChannel,
} from "../../../lib/pipeline/messages/channel-machine.js";
import { sized } from "../../support/proof.js";

const AGAIN = { minMs: 10, maxMs: 100, jitter: 0 };

/** A store and a broker, and two processes that use one queue. */
class World {
  named: NamedChannel | undefined;
  /** Channels of the broker. */
  readonly there = new Set<string>();
  readonly everNamed = new Set<string>();
  resends = 0;
  #names = 0;
  readonly processes = [new Process(this), new Process(this)];

  fresh(): string {
    return `c${++this.#names}`;
  }

  forget(): void {
    this.there.clear();
  }
}

class Process {
  readonly #world: World;
  state: ChannelState = initial(AGAIN);
  effects: ChannelEffect[] = [];

  constructor(world: World) {
    this.#world = world;
    this.take({ type: "again" });
  }

  take(event: ChannelEvent): void {
    const [state, effects] = decide(this.state, event);
    this.state = state;
    this.effects.push(...effects);
  }

  /** A process that was killed, and begins anew. */
  crash(): void {
    this.state = initial(AGAIN);
    this.effects = [];
    this.take({ type: "again" });
  }

  /** Uses the open channel, as a publication does. */
  use(): void {
    const { phase, channel } = this.state;
    if (phase === "open" && !this.#world.there.has(channel as string))
      this.take({ type: "gone", channel: channel as string });
  }

  look(): void {
    if (this.state.phase === "open")
      this.take({ type: "read", named: this.#world.named, fresh: this.#world.fresh() });
  }

  /** Carries out the next effect. `fails`: it may be carried out, and its answer is lost. */
  perform(fails: boolean, isDone: boolean): void {
    const effect = this.effects.shift();
    if (effect === undefined) return;
    // Alarms ring, and nobody asks what became of a removal.
    const mayFail = fails && effect.type !== "open" && effect.type !== "alarm" && effect.type !== "remove";
    const isCarriedOut = isDone || effect.type === "open" || effect.type === "alarm";
    const event = isCarriedOut ? this.#carryOut(effect) : undefined;
    if (mayFail) this.take({ type: "failed", roll: 0 });
    else if (event !== undefined) this.take(event);
  }

  #carryOut(effect: ChannelEffect): ChannelEvent | undefined {
    const world = this.#world;
    switch (effect.type) {
      case "read":
        return { type: "read", named: world.named, fresh: world.fresh() };
      case "make":
        // What is made when the store names it already would hide that it was lost.
        expect(world.everNamed).not.toContain(effect.channel);
        world.there.add(effect.channel);
        return { type: "made" };
      case "name":
        if (world.named?.channel !== effect.before) return { type: "named", isNamed: false };
        world.named = { channel: effect.channel, isComplete: false };
        world.everNamed.add(effect.channel);
        return { type: "named", isNamed: true };
      case "resend":
        world.resends++;
        if (world.named?.channel === effect.channel)
          world.named = { channel: effect.channel, isComplete: true };
        return { type: "resent", channel: effect.channel };
      case "remove":
        expect(world.named?.channel).not.toBe(effect.channel);
        world.there.delete(effect.channel);
        return undefined;
      case "open":
        return undefined;
      case "alarm":
        return { type: "again" };
      default:
        return effect satisfies never;
    }
  }
}

const STEPS = ["perform", "perform", "perform", "lost", "unanswered", "use", "look", "crash", "forget"];

describe("the channel of a queue", () => {
  it("is never made again under a name that counted, and in the end all processes use one that is there [Y53]", () => {
    const steps = fc.array(fc.tuple(fc.constantFrom(...STEPS), fc.nat(1)), { maxLength: 60 });
    fc.assert(
      fc.property(steps, (all) => {
        const world = new World();
        for (const [step, i] of all) {
          const one = world.processes[i] as Process;
          if (step === "perform") one.perform(false, true);
          else if (step === "lost") one.perform(true, false);
          else if (step === "unanswered") one.perform(true, true);
          else if (step === "use") one.use();
          else if (step === "look") one.look();
          else if (step === "crash") one.crash();
          else world.forget();
        }
        for (let turn = 0; turn < 60; turn++)
          for (const one of world.processes) {
            one.perform(false, true);
            if (one.effects.length > 0) continue;
            one.look();
            one.use();
          }
        const { channel, isComplete } = world.named as NamedChannel;
        expect([isComplete, world.there.has(channel)]).toEqual([true, true]);
        for (const { state } of world.processes)
          expect([state.phase, state.channel]).toEqual(["open", channel]);
      }),
      { numRuns: sized(300, 1, 1_000) },
    );
  });

  it("sends all again when the broker has lost letters, and waits longer each time it fails", () => {
    const open: ChannelState = { ...initial(AGAIN), phase: "open", channel: "c" };
    let [state, effects] = decide(open, { type: "missing", channel: "c" });
    expect(effects).toEqual([{ type: "resend", channel: "c" }]);
    const waits: unknown[] = [];
    for (let i = 0; i < 5; i++) {
      [state, effects] = decide(state, { type: "failed", roll: 0 });
      waits.push(...effects);
      [state] = decide(state, { type: "again" });
    }
    expect(waits).toEqual([10, 20, 40, 80, 100].map((inMs) => ({ type: "alarm", inMs })));
    expect(decide(state, { type: "resent", channel: "c" })[1]).toEqual([{ type: "open", channel: "c" }]);
    // What comes late changes nothing.
    for (const event of [
      { type: "made" },
      { type: "named", isNamed: true },
      { type: "resent", channel: "c" },
      { type: "failed", roll: 0 },
      { type: "again" },
      { type: "gone", channel: "b" },
      { type: "missing", channel: "b" },
      { type: "read", named: { channel: "c", isComplete: true }, fresh: "d" },
    ] as const)
      expect(decide(open, event)).toEqual([open, []]);
  });
});
