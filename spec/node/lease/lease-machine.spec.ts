// The machine of a contender, against the rules of a lease.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decide,
  initial,
  isHeld,
  type LeaseEffect,
  type LeaseEvent,
  type LeaseState,
  leaseTimes,
} from "../../../lib/node/lease/lease-machine.js";
import { sized } from "../../support/proof.js";
import { LeaseWorld, OPEN, type Way } from "./lease-world.js";

const TTL = 2_000;
const times = leaseTimes(TTL);

type Command = (world: LeaseWorld) => void;

const which = fc.nat({ max: 20 });
const shown = (name: string, run: Command, ...of: unknown[]): Command =>
  Object.assign((world: LeaseWorld) => run(world), { [fc.toStringMethod]: () => `${name}(${of.join()})` });

const delayMs = fc.constantFrom(1, 10, 100, 300, 600, 900);
const way: fc.Arbitrary<Way> = fc.record({
  outMs: delayMs,
  backMs: delayMs,
  fate: fc.constantFrom("arrives", "arrives", "arrives", "lost", "lost back", "fails", "fails back"),
});

/** One step of the world: time, the ways to the source, processes, clocks. */
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.integer({ min: 1, max: TTL }).map((ms) => shown("advance", (w) => w.advance(ms), ms)),
  },
  {
    weight: 6,
    arbitrary: fc.tuple(which, way).map(([i, given]) =>
      shown(
        "way",
        (world) => {
          of(world, i).way = given;
        },
        i,
        JSON.stringify(given),
      ),
    ),
  },
  {
    weight: 2,
    arbitrary: which.map((i) =>
      shown(
        "pauseOrResume",
        (world) => {
          const one = of(world, i);
          if (one.isPaused) world.resume(one);
          else world.pause(one);
        },
        i,
      ),
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(which, fc.integer({ min: 1, max: 3 * TTL }))
      .map(([i, ms]) => shown("jumpAhead", (world) => world.jumpAhead(of(world, i), ms), i, ms)),
  },
  {
    weight: 1,
    arbitrary: which.map((i) => shown("freed", (world) => world.tell(of(world, i), { type: "freed" }), i)),
  },
);

const of = (world: LeaseWorld, i: number): LeaseWorld["contenders"][number] =>
  world.contenders[i % world.contenders.length] as LeaseWorld["contenders"][number];

const offsets = fc.array(fc.integer({ min: 0, max: 1e9 }), { minLength: 2, maxLength: 4 });
const commands = fc.array(command, { maxLength: 150, size: "max" });

function check(world: LeaseWorld): void {
  expect(world.acting().length).toBeLessThanOrEqual(1);
  expect(world.believing().length).toBeLessThanOrEqual(1);
  for (const { occupant } of world.acting()) expect(occupant).toBe(world.lastToken);
}

describe("a lease", () => {
  it("has one holder at most at any moment of true time, and its tokens rise [N1071]", () => {
    fc.assert(
      fc.property(offsets, commands, (ahead, steps) => {
        const world = new LeaseWorld(times, ahead);
        world.judge = check;
        for (const step of steps) {
          step(world);
          check(world);
        }
        expect(world.tenures).toEqual([...world.tenures].sort((a, b) => a - b));
        expect(new Set(world.tenures).size).toBe(world.tenures.length);
      }),
      { numRuns: sized(500) },
    );
  });

  it("is held by somebody whenever its source answers for a while, after whatever came before [N1072]", () => {
    fc.assert(
      fc.property(offsets, commands, fc.boolean(), (ahead, steps, stopsFirst) => {
        const world = new LeaseWorld(times, ahead);
        for (const step of steps) step(world);
        for (const one of world.contenders) {
          one.way = OPEN;
          if (one.isPaused) world.resume(one);
        }
        if (stopsFirst) world.stop(of(world, 0));
        world.advance(6 * TTL);
        check(world);
        expect(world.acting()).toHaveLength(1);
      }),
      { numRuns: sized(300) },
    );
  });

  it("is given to the next one within a moment when its holder stops in order [N1073]", () => {
    const world = new LeaseWorld(times, [0, 500]);
    world.advance(TTL);
    const [first] = world.acting();
    expect(first).toBeDefined();
    world.stop(first as (typeof world.contenders)[number]);
    // What runs under it has its time to end; after that a contender needs one wait of its own.
    world.advance(TTL / 3 + times.refused.maxMs * 1.1 + 1);
    const [second] = world.acting();
    expect(second).toBeDefined();
    expect(second).not.toBe(first);
    expect(first?.state.phase.type).toBe("stopped");
  });
});

const at = (now: number, event: object): LeaseEvent => ({ now, roll: 0.5, ...event }) as LeaseEvent;

function run(...events: readonly LeaseEvent[]): [LeaseState, readonly LeaseEffect[]] {
  let state = initial(times);
  let effects: readonly LeaseEffect[] = [];
  for (const event of events) [state, effects] = decide(state, event);
  return [state, effects];
}

const HELD = [at(0, { type: "start" }), at(50, { type: "acquired", request: 1, token: 7 })];

describe("a contender", () => {
  it("counts its time from the moment at which it asked", () => {
    const [state] = run(...HELD);
    expect(isHeld(state, TTL - 1)).toBe(true);
    expect(isHeld(state, TTL)).toBe(false);
  });

  it("27: asks for another renewal beside one that gets no answer, and ends before its lease does [N1074]", () => {
    const [asked, first] = run(...HELD, at(times.renewMs, { type: "tick" }));
    expect(first).toContainEqual({ type: "renew", request: 2 });
    const [, second] = decide(asked, at(times.renewMs + times.answerMs, { type: "tick" }));
    expect(second).toContainEqual({ type: "renew", request: 3 });
    const [lost, effects] = decide(asked, at(TTL - times.marginMs, { type: "tick" }));
    expect(lost.phase.type).toBe("lost");
    expect(effects).toContainEqual({ type: "vacate", isLost: true, until: TTL });
  });

  it("takes the late answer of a renewal, from when that was asked for", () => {
    const [state] = run(
      ...HELD,
      at(400, { type: "tick" }),
      at(650, { type: "tick" }),
      at(900, { type: "renewed", request: 2 }),
    );
    expect(isHeld(state, 400 + TTL - 1)).toBe(true);
    expect(isHeld(state, 400 + TTL)).toBe(false);
  });

  it("that slept is no holder at its first event, whatever the event says [N1075]", () => {
    const events: readonly object[] = [
      { type: "tick" },
      { type: "freed" },
      { type: "renewed", request: 2 },
      { type: "failed", request: 2 },
      { type: "stop" },
    ];
    for (const event of events) {
      const [state, effects] = run(...HELD, at(400, { type: "tick" }), at(60_000, event));
      expect(state.phase.type).toBe("lost");
      expect(effects).toContainEqual(expect.objectContaining({ type: "vacate", isLost: true }));
    }
  });

  it("29: contends for ever, with longer waits while its source fails, and anew after each answer [N1076]", () => {
    let [state] = run(at(0, { type: "start" }));
    const waits: number[] = [];
    let now = 0;
    for (let i = 1; i <= 100; i++) {
      [state] = decide(state, at(now, { type: "failed", request: i }));
      waits.push((state.wakeAt as number) - now);
      now = state.wakeAt as number;
      [state] = decide(state, at(now, { type: "tick" }));
      expect(state.phase.type).toBe("acquiring");
    }
    expect(waits.slice(0, 4)).toEqual([125, 250, 500, 1_000]);
    expect(Math.max(...waits)).toBe(TTL);
    [state] = decide(state, at(now, { type: "refused", request: 101 }));
    expect((state.wakeAt as number) - now).toBe(TTL / 8);
  });

  it("gives back what it was given too late", () => {
    const overdue = at(times.requestMs, { type: "tick" });
    const [, effects] = run(at(0, { type: "start" }), overdue, at(1_900, { type: "acquired", request: 1 }));
    expect(effects).toContainEqual({ type: "give-back", request: 1 });
    const [slow, given] = run(
      at(0, { type: "start" }),
      at(1_600, { type: "acquired", request: 1, token: 1 }),
    );
    expect(given).toContainEqual({ type: "give-back", request: 1 });
    expect(slow.phase.type).toBe("waiting");
    const [, late] = run(
      at(0, { type: "start" }),
      at(1, { type: "stop" }),
      at(2, { type: "acquired", request: 1, token: 1 }),
    );
    expect(late).toEqual([{ type: "give-back", request: 1 }]);
  });

  it("asks at once when it hears that the lease is free, also about a refusal that was on its way", () => {
    const [, effects] = run(
      at(0, { type: "start" }),
      at(1, { type: "refused", request: 1 }),
      at(2, { type: "freed" }),
    );
    expect(effects).toContainEqual({ type: "acquire", request: 2 });
    const [, again] = run(
      at(0, { type: "start" }),
      at(1, { type: "freed" }),
      at(2, { type: "refused", request: 1 }),
    );
    expect(again).toContainEqual({ type: "acquire", request: 2 });
  });

  it("23: renews on while what runs under the lease ends in order, and releases only then", () => {
    const [stopping, effects] = run(...HELD, at(100, { type: "stop" }));
    expect(effects).toContainEqual(expect.objectContaining({ type: "vacate", isLost: false }));
    const [renewing, renewal] = decide(stopping, at(400, { type: "tick" }));
    expect(renewal).toContainEqual({ type: "renew", request: 2 });
    const [releasing, release] = decide(renewing, at(500, { type: "vacated" }));
    expect(release).toEqual(expect.arrayContaining([{ type: "release", request: 3 }]));
    const [, end] = decide(releasing, at(510, { type: "released", request: 3 }));
    expect(end).toContainEqual({ type: "stopped" });
  });

  it("stops although its source does not answer the release", () => {
    const [, effects] = run(
      ...HELD,
      at(100, { type: "stop" }),
      at(110, { type: "vacated" }),
      at(110 + times.requestMs, { type: "tick" }),
    );
    expect(effects).toEqual(
      expect.arrayContaining([{ type: "abandon", requests: [2] }, { type: "stopped" }]),
    );
  });
});
