// The life of a service: what holds whatever happens, and in whatever order.

import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import {
  decide,
  type Effect,
  type Event,
  initial,
  type Phase,
  SIGNAL_ECHO_MS,
  type State,
  type TimerName,
} from "../../../lib/service/application/application-machine.js";
import { type Cause, EXIT_CODES, endingOf, failureOf } from "../../../lib/service/application/ending.js";

const config = { startTimeoutMs: 60_000, drainDelayMs: 100, drainTimeoutMs: 1_000 };
const ORDER: readonly Phase[] = ["configuring", "starting", "running", "draining", "stopping", "stopped"];
const stopCause: Cause = { type: "stop" };
const hostError: Cause = { type: "host", error: new Error("stray"), origin: "uncaughtException" };
const gaveUp: Cause = { type: "root", reason: { type: "shutdown" }, gaveUp: true };
const rootDone: Cause = { type: "root", reason: { type: "shutdown" }, gaveUp: false };

function through(
  events: readonly Event[],
  from = initial(config),
): readonly [State, readonly (readonly Effect[])[]] {
  let state = from;
  const all: (readonly Effect[])[] = [];
  for (const event of events) {
    const [next, effects] = decide(state, event);
    state = next;
    all.push(effects);
  }
  return [state, all];
}

const up: readonly Event[] = [{ type: "boot" }, { type: "configured" }, { type: "started" }];
const signal = (name: string, at: number): Event => ({ type: "signal", signal: name, at });
const types = (effects: readonly Effect[] | undefined): string[] => (effects ?? []).map(({ type }) => type);

describe("a stop", () => {
  it("goes through its steps in order: not ready, delay, hook, tree, end [A15]", () => {
    const [state, effects] = through([
      ...up,
      signal("SIGTERM", 0),
      { type: "time-up", timer: "delay" },
      { type: "hook-ended" },
      { type: "root-ended", cause: rootDone },
    ]);
    expect(effects.slice(3)).toEqual([
      [
        { type: "note", cause: { type: "signal", signal: "SIGTERM" } },
        { type: "announce", phase: "draining" },
        { type: "arm", timer: "drain", delayMs: 1_000 },
        { type: "arm", timer: "delay", delayMs: 100 },
      ],
      [{ type: "hook" }],
      [{ type: "announce", phase: "stopping" }, { type: "shut-down" }],
      [{ type: "announce", phase: "stopped" }, { type: "exit" }],
    ]);
    expect(state.cause).toEqual({ type: "signal", signal: "SIGTERM" });
  });

  it("has no delay at a failure, and none before the service runs", () => {
    expect(types(through([...up, { type: "cause", cause: hostError }])[1].at(-1))).toEqual([
      "note",
      "announce",
      "arm",
      "hook",
    ]);
    const starting = through([...up.slice(0, 2), { type: "cause", cause: stopCause }])[1].at(-1);
    expect(types(starting)).toEqual(["note", "disarm", "announce", "arm", "shut-down"]);
    expect(types(through([{ type: "boot" }, signal("SIGINT", 0)])[1].at(-1))).toEqual([
      "note",
      "announce",
      "exit",
    ]);
  });

  it("is not forced by the echo of its signal, but by a later one or another one [A5]", () => {
    const second = (event: Event): string[] => types(through([...up, signal("SIGINT", 0), event])[1].at(-1));
    expect(second(signal("SIGINT", SIGNAL_ECHO_MS - 1))).toEqual([]);
    expect(second(signal("SIGINT", SIGNAL_ECHO_MS))).toEqual(["announce", "kill"]);
    expect(second(signal("SIGTERM", 1))).toEqual(["announce", "kill"]);
  });

  it("that code asked for is not forced by the first signal", () => {
    const [state, effects] = through([...up, { type: "cause", cause: stopCause }, signal("SIGTERM", 0)]);
    expect([effects.at(-1), state.forced]).toEqual([[], false]);
  });
});

interface World {
  state: State;
  at: number;
  readonly armed: Set<TimerName>;
  root: "none" | "starting" | "up" | "gone";
  hook: boolean;
  readonly causes: Cause[];
  readonly phases: Phase[];
  exits: number;
}

/** Gives the machine one event, and does what it says as the process does. */
function give(world: World, event: Event): readonly Effect[] {
  const [state, effects] = decide(world.state, event);
  world.state = state;
  for (const effect of effects) {
    expect(world.exits, "nothing follows the exit").toBe(0);
    if (effect.type === "launch") world.root = "starting";
    else if (effect.type === "announce") world.phases.push(effect.phase);
    else if (effect.type === "arm") world.armed.add(effect.timer);
    else if (effect.type === "disarm") world.armed.delete(effect.timer);
    else if (effect.type === "hook") world.hook = true;
    else if (effect.type === "exit") world.exits++;
  }
  return effects;
}

/** What may happen in this state of the world, if it may happen. */
function eventOf(world: World, kind: string): Event | undefined {
  const { state, root, armed, hook } = world;
  const alive = root === "starting" || root === "up";
  const cause = (given: Cause): Event => {
    world.causes.push(given);
    return { type: "cause", cause: given };
  };
  switch (kind) {
    case "configured":
      return state.phase === "configuring" ? { type: "configured" } : undefined;
    case "started":
      return root === "starting" ? { type: "started" } : undefined;
    case "stop":
      return cause(stopCause);
    case "error":
      return cause(hostError);
    case "sigterm":
    case "sigint": {
      const name = kind.toUpperCase();
      if (state.signal === undefined) world.causes.push({ type: "signal", signal: name });
      return signal(name, world.at);
    }
    case "root done":
    case "root gave up": {
      if (!alive) return undefined;
      const given = kind === "root done" ? rootDone : gaveUp;
      world.causes.push(given);
      return { type: "root-ended", cause: given };
    }
    case "hook":
      return hook ? { type: "hook-ended" } : undefined;
    default: {
      const timer = kind as TimerName;
      return armed.has(timer) ? { type: "time-up", timer } : undefined;
    }
  }
}

const kinds = fc.constantFrom(
  ...["configured", "configured", "started", "started", "stop", "error", "sigterm", "sigint"],
  ...["root done", "root gave up", "hook", "delay", "drain"],
);
const history = fc.array(fc.record({ kind: kinds, waited: fc.integer({ min: 0, max: 600 }) }), {
  maxLength: 30,
});

function live(steps: readonly { readonly kind: string; readonly waited: number }[]): World {
  const world: World = {
    state: initial(config),
    at: 0,
    armed: new Set(),
    root: "none",
    hook: false,
    causes: [],
    phases: [],
    exits: 0,
  };
  give(world, { type: "boot" });
  for (const { kind, waited } of steps) {
    world.at += waited;
    if (world.exits > 0) break;
    const event = eventOf(world, kind);
    if (event === undefined) continue;
    if (event.type === "time-up") world.armed.delete(event.timer);
    if (event.type === "started") world.root = "up";
    if (event.type === "root-ended") world.root = "gone";
    if (event.type === "hook-ended") world.hook = false;
    give(world, event);
  }
  return world;
}

describe("whatever happens", () => {
  test.prop([history])("phases are entered once, in their order [A15]", (steps) => {
    const { phases } = live(steps);
    const places = phases.map((phase) => ORDER.indexOf(phase));
    expect(places).toEqual([...new Set(places)].sort((a, b) => a - b));
  });

  test.prop([history])("a service whose root has ended ends, once [A15]", (steps) => {
    const { root, exits, state } = live(steps);
    expect(exits).toBeLessThanOrEqual(1);
    if (root === "gone") expect([exits, state.phase]).toEqual([1, "stopped"]);
  });

  test.prop([history])(
    "a stop that is under way ends when its time is up and the killed root has ended [A5]",
    (steps) => {
      const world = live(steps);
      const { phase } = world.state;
      if (phase !== "draining" && phase !== "stopping") return;
      expect(world.armed.has("drain") || world.state.timedOut).toBe(true);
      if (!world.state.timedOut)
        expect(types(give(world, { type: "time-up", timer: "drain" }))).toContain("kill");
      give(world, { type: "root-ended", cause: stopCause });
      expect([world.exits, world.state.phase]).toEqual([1, "stopped"]);
    },
  );

  test.prop([history])("the first failure is the cause, and without one the first request [A2]", (steps) => {
    const { causes, state, exits } = live(steps);
    if (exits === 0) return;
    const failure = causes.find((cause) => failureOf(cause) !== undefined);
    expect(state.cause).toEqual(failure ?? causes[0]);
    const { forced, timedOut } = state;
    const facts = { ...config, name: "shop", cause: state.cause as Cause, forced, timedOut, killed: [] };
    const { outcome, exitCode } = endingOf(facts);
    expect(outcome === "clean").toBe(failure === undefined && !forced && !timedOut);
    expect(exitCode === 0).toBe(outcome === "clean");
  });
});

it("each outcome has an exit code of its own, which neither Node nor a death by a signal uses [A2]", () => {
  const codes = Object.values(EXIT_CODES);
  expect(new Set(codes).size).toBe(codes.length);
  expect(codes.filter((code) => code !== 0 && (code < 64 || code > 78))).toEqual([]);
});
