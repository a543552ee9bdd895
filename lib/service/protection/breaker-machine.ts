// A circuit breaker as a pure machine (M. Nygard, "Release It!", chapter "Circuit Breaker"). It has no timer: an open breaker
// becomes half-open when a call asks after its time.
//
// Each state of the breaker has a generation. The end of a call counts only in the generation in which the call was admitted,
// so results of calls that were under way at a change of state count neither for nor against the new state.

import { type Backoff, backoffMs, startsAnew } from "../../process/backoff.js";
import { CallWindow, type Tally, TimeWindow, type Window } from "./window.js";

/** `closed`: calls pass. `open`: calls are rejected. `half-open`: a few calls pass as probes. */
export type BreakerState = "closed" | "open" | "half-open";

/** The meaning of a call's end for the service behind the breaker. */
export type Verdict = "success" | "failure" | "ignore";

/** The rule of one breaker. */
export interface BreakerConfig {
  /** The last calls that count, or undefined where time decides. */
  readonly windowCalls: number | undefined;
  readonly windowMs: number;
  readonly minimumCalls: number;
  readonly failureRate: number;
  readonly slowRate: number;
  readonly slowMs: number;
  readonly backoff: Backoff;
  readonly probes: number;
  /** A probe that has not ended after this many milliseconds counts as failed. */
  readonly probeMs: number;
}

/** The right to make one call. */
export interface Permit {
  readonly generation: number;
  readonly id: number;
}

export interface BreakerMachine {
  readonly config: BreakerConfig;
  readonly state: BreakerState;
  readonly generation: number;
  /** The number of the next permit. */
  readonly next: number;
  /** Mutable, and of this generation alone. */
  readonly window: Window;
  /** When an open breaker admits a probe. */
  readonly reopenAt: number;
  /** How often in a row the breaker has opened. */
  readonly opened: number;
  /** When the breaker closed last. */
  readonly closedAt: number;
  /** Probes under way, and when each began. */
  readonly probes: ReadonlyMap<number, number>;
  /** Probes that succeeded. */
  readonly succeeded: number;
}

/** `roll` is a number in [0, 1) that decides the jitter of a wait. */
export type BreakerEvent =
  | { readonly type: "ask"; readonly now: number; readonly roll: number }
  | {
      readonly type: "settled";
      readonly permit: Permit;
      readonly verdict: Verdict;
      readonly durationMs: number;
      readonly now: number;
      readonly roll: number;
    };

export type BreakerEffect =
  | { readonly type: "admit"; readonly permit: Permit }
  | { readonly type: "reject"; readonly state: "open" | "half-open"; readonly retryAfterMs: number }
  | {
      readonly type: "changed";
      readonly from: BreakerState;
      readonly to: BreakerState;
      /** The counts of the state that ends. */
      readonly tally: Tally;
      /** How long an open breaker stays open. */
      readonly openMs: number | undefined;
    };

type Decision = readonly [BreakerMachine, readonly BreakerEffect[]];

export function initial(config: BreakerConfig): BreakerMachine {
  return {
    config,
    state: "closed",
    generation: 0,
    next: 0,
    window: windowOf(config),
    reopenAt: 0,
    opened: 0,
    closedAt: Number.NEGATIVE_INFINITY,
    probes: new Map(),
    succeeded: 0,
  };
}

export function decide(machine: BreakerMachine, event: BreakerEvent): Decision {
  switch (event.type) {
    case "ask":
      return ask(machine, event.now, event.roll);
    case "settled":
      if (event.permit.generation !== machine.generation) return [machine, []];
      return machine.state === "half-open" ? probed(machine, event) : called(machine, event);
    default:
      return event satisfies never;
  }
}

/** How many calls a breaker would admit, and after how many milliseconds that changes by itself. */
export interface BreakerRoom {
  readonly calls: number;
  readonly againMs: number | undefined;
}

/** The calls that a breaker would admit now. */
export function roomOf(
  { state, config, reopenAt, probes, succeeded }: BreakerMachine,
  now: number,
): BreakerRoom {
  const again = (waitMs: number, calls: number): BreakerRoom =>
    waitMs > 0 ? { calls: 0, againMs: waitMs } : { calls, againMs: undefined };
  switch (state) {
    case "closed":
      return { calls: Number.POSITIVE_INFINITY, againMs: undefined };
    case "open":
      return again(reopenAt - now, config.probes);
    case "half-open": {
      const left = config.probes - probes.size - succeeded;
      if (left > 0) return { calls: left, againMs: undefined };
      // A call that comes after a probe has taken too long opens the breaker again.
      return again(Math.min(...probes.values()) + config.probeMs - now, 1);
    }
    default:
      return state satisfies never;
  }
}

function windowOf({ windowCalls, windowMs }: BreakerConfig): Window {
  return windowCalls === undefined ? new TimeWindow(windowMs) : new CallWindow(windowCalls);
}

function ask(machine: BreakerMachine, now: number, roll: number): Decision {
  switch (machine.state) {
    case "closed":
      return admit(machine);
    case "open": {
      if (now < machine.reopenAt)
        return [machine, [{ type: "reject", state: "open", retryAfterMs: machine.reopenAt - now }]];
      const [halfOpen, changes] = change(machine, "half-open", now, undefined);
      const [admitted, effects] = probe(halfOpen, now, roll);
      return [admitted, [...changes, ...effects]];
    }
    case "half-open":
      return probe(machine, now, roll);
    default:
      return machine.state satisfies never;
  }
}

function admit(machine: BreakerMachine): Decision {
  const permit: Permit = { generation: machine.generation, id: machine.next };
  return [{ ...machine, next: machine.next + 1 }, [{ type: "admit", permit }]];
}

/** Admits a probe if one is left. A probe that never ends must not keep the breaker half-open for ever. */
function probe(machine: BreakerMachine, now: number, roll: number): Decision {
  const { config, probes, succeeded } = machine;
  if (probes.size + succeeded < config.probes) {
    const [admitted, effects] = admit(machine);
    return [{ ...admitted, probes: new Map(probes).set(machine.next, now) }, effects];
  }
  const waitMs = Math.min(...probes.values()) + config.probeMs - now;
  if (waitMs > 0) return [machine, [{ type: "reject", state: "half-open", retryAfterMs: waitMs }]];
  const [opened, effects] = open(machine, now, roll);
  return [opened, [...effects, { type: "reject", state: "open", retryAfterMs: opened.reopenAt - now }]];
}

type Settled = Extract<BreakerEvent, { type: "settled" }>;

/** A call of a closed breaker has ended. In an open one there are no permits of its generation. */
function called(machine: BreakerMachine, { verdict, durationMs, now, roll }: Settled): Decision {
  if (verdict === "ignore") return [machine, []];
  const { config, window } = machine;
  window.add({ failed: verdict === "failure", slow: durationMs >= config.slowMs }, now);
  const { total, failed, slow } = window.tally(now);
  if (total < config.minimumCalls) return [machine, []];
  const isBad = failed >= config.failureRate * total || slow >= config.slowRate * total;
  return isBad ? open(machine, now, roll) : [machine, []];
}

/** The first probe that fails or is slow opens the breaker; the last one that succeeds closes it. */
function probed(machine: BreakerMachine, { permit, verdict, durationMs, now, roll }: Settled): Decision {
  if (!machine.probes.has(permit.id)) return [machine, []];
  const { config, window } = machine;
  const probes = new Map(machine.probes);
  probes.delete(permit.id);
  if (verdict === "ignore") return [{ ...machine, probes }, []];
  const ended = { failed: verdict === "failure", slow: durationMs >= config.slowMs };
  window.add(ended, now);
  if (ended.failed || ended.slow) return open({ ...machine, probes }, now, roll);
  const succeeded = machine.succeeded + 1;
  if (succeeded < config.probes) return [{ ...machine, probes, succeeded }, []];
  return change({ ...machine, closedAt: now }, "closed", now, undefined);
}

function open(machine: BreakerMachine, now: number, roll: number): Decision {
  const { backoff } = machine.config;
  const isFirst = machine.state === "closed" && startsAnew(backoff, now - machine.closedAt);
  const opened = isFirst ? 1 : machine.opened + 1;
  const openMs = backoffMs(backoff, opened, roll);
  return change({ ...machine, opened, reopenAt: now + openMs }, "open", now, openMs);
}

function change(
  machine: BreakerMachine,
  to: BreakerState,
  now: number,
  openMs: number | undefined,
): Decision {
  const changed: BreakerMachine = {
    ...machine,
    state: to,
    generation: machine.generation + 1,
    window: windowOf(machine.config),
    probes: new Map(),
    succeeded: 0,
  };
  return [changed, [{ type: "changed", from: machine.state, to, tally: machine.window.tally(now), openMs }]];
}
