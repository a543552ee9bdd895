// What holds of a dispatch conversation whatever happens to it, in whatever order.

import fc from "fast-check";
import { custom } from "signalbox";
import { describe, expect, it } from "vitest";
import {
  decide,
  type Effect,
  type Event,
  type Identified,
  initial,
  type Policy,
  type State,
} from "../../lib/dispatch/conversation-machine.js";
import type { Pressure } from "../../lib/dispatch/member.js";
import { sized } from "../support/proof.js";

type E = Event<Identified>;
type Fx = Effect<Identified>;

const consumers: readonly Identified[] = ["ann", "bob", "cem", "dot"].map((id) => ({ id }));
const consumer = fc.constantFrom(...consumers);
const attempt = fc.nat({ max: 5 });
const reason = fc.constantFrom(custom("broken"), { type: "normal" } as const);
const at = fc.nat({ max: 9 });

const event: fc.Arbitrary<E> = fc.oneof(
  fc.record({ type: fc.constant("begin" as const) }),
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant("selected" as const),
      consumer,
      pressure: fc.constantFrom<Pressure>("accept", "accept", "accept", "defer", "reject"),
    }),
  },
  fc.record({
    type: fc.constant("unselected" as const),
    why: fc.constantFrom("empty" as const, "excluded" as const),
    patient: fc.boolean(),
  }),
  fc.constant<E>({ type: "misrouted", failure: { type: "evaluation", cause: "x" } }),
  { weight: 2, arbitrary: fc.constant<E>({ type: "room" }) },
  fc.constant<E>({ type: "turned-away" }),
  fc.record({ type: fc.constant("impatient" as const), round: fc.nat({ max: 2 }) }),
  fc.record({ type: fc.constant("forwarded" as const), at }),
  fc.record({ type: fc.constant("settled" as const), attempt }),
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("rejected" as const),
      attempt,
      reason,
      final: fc.boolean(),
      at,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant("exited" as const),
      consumer,
      innocent: fc.boolean(),
      reason,
      at,
    }),
  },
  fc.record({ type: fc.constant("returned" as const), consumer, exited: fc.boolean(), reason, at }),
  fc.record({
    type: fc.constant("compensated" as const),
    reason: fc.constantFrom(undefined, custom("stuck")),
  }),
  fc.record({ type: fc.constant("deadline" as const), isLast: fc.boolean() }),
  fc.record({ type: fc.constant("died" as const), reason }),
  fc.constant<E>({ type: "withdrawn" }),
);
const events = fc.array(event, { maxLength: 40 });
const policy: fc.Arbitrary<Policy> = fc.record({
  onCrash: fc.constantFrom("reroute", "reroute", "fail", "compensate"),
  maxAttempts: fc.integer({ min: 1, max: 4 }),
});

interface Step {
  readonly before: State<Identified>;
  readonly event: E;
  readonly state: State<Identified>;
  readonly effects: readonly Fx[];
}

/** Carries out what the events lead to, and keeps each step. */
function run(how: Policy, given: readonly E[]): Step[] {
  const steps: Step[] = [];
  let state = initial<Identified>();
  for (const one of [{ type: "begin" } as const, ...given]) {
    const [next, effects] = decide(how, state, one);
    steps.push({ before: state, event: one, state: next, effects });
    state = next;
  }
  return steps;
}

const all = (steps: readonly Step[]): Fx[] => steps.flatMap((step) => step.effects);
const count = (effects: readonly Fx[], type: Fx["type"]): number =>
  effects.filter((effect) => effect.type === type).length;

/** The same rules in another form: what is held at any moment, without phases, and a log in words. */
function naive(how: Policy, given: readonly E[]): string[] {
  const log: string[] = [];
  let over = false;
  let choosing = true;
  let waiting = false;
  let inLine = false;
  let working: Identified | undefined;
  let undoing: Identified | undefined;
  let tries = 0;
  let failures = 0;
  let patience: "fresh" | "running" | "over" = "fresh";
  let rounds = 0;
  const leaveLine = (): void => {
    if (inLine) log.push("leave the line");
    inLine = false;
  };
  const close = (word: string): void => {
    leaveLine();
    if (word !== "") log.push(word);
    over = true;
  };
  const again = (): void => {
    choosing = true;
    waiting = false;
    log.push("select");
  };
  const giveBack = (how = "release"): void => {
    leaveLine();
    if (working !== undefined) log.push(`${how} ${working.id}`);
    waiting = choosing = false;
    working = undefined;
  };
  const joinLine = (): void => {
    inLine = waiting = true;
    log.push("join the line");
  };
  const failedOnIt = (): void => (++failures < how.maxAttempts ? again() : close("fail attempts"));
  const spared = (): void => again();
  again();
  for (const one of given) {
    if (over) break;
    const current = "attempt" in one && working !== undefined && one.attempt === tries;
    if (one.type === "begin" && choosing) log.push("select");
    if (one.type === "selected" && choosing) {
      choosing = false;
      if (one.pressure !== "reject") {
        if (patience === "running") log.push("forget patience");
        if (patience !== "fresh" || rounds > 0) rounds++;
        patience = "fresh";
      }
      if (one.pressure === "accept") {
        working = one.consumer;
        log.push(`deliver ${one.consumer.id} ${++tries}`);
        leaveLine();
      } else if (one.pressure === "defer") joinLine();
      else close("fail no-consumer");
    } else if (one.type === "unselected" && choosing) {
      choosing = false;
      if (one.patient && patience !== "over") {
        if (patience === "fresh") log.push("be patient");
        patience = "running";
        joinLine();
      } else close("fail no-consumer");
    } else if (one.type === "misrouted" && choosing) close("fail evaluation");
    else if (one.type === "impatient" && patience === "running" && one.round === rounds) {
      patience = "over";
      if (waiting) again();
    } else if (one.type === "room" && waiting) again();
    else if (one.type === "turned-away" && waiting) {
      inLine = false; // there was no place for it
      close("fail no-consumer");
    } else if (one.type === "settled" && current) {
      const by = working?.id;
      giveBack();
      close(`complete ${by}`);
    } else if (one.type === "rejected" && current) {
      giveBack();
      if (one.final) close("fail rejected");
      else failedOnIt();
    } else if (one.type === "exited" && working === one.consumer) {
      giveBack();
      if (how.onCrash === "reroute" && one.innocent) spared();
      else if (how.onCrash === "reroute") failedOnIt();
      else if (how.onCrash === "fail") close("fail conversation");
      else {
        undoing = one.consumer;
        log.push(`undo ${undoing.id}`);
      }
    } else if (one.type === "returned" && working === one.consumer) {
      giveBack();
      spared();
    } else if (one.type === "compensated" && undoing !== undefined) close("fail conversation");
    else if (one.type === "deadline" && !one.isLast && undoing === undefined) log.push("fail-overdue");
    else if ((one.type === "deadline" || one.type === "withdrawn") && undoing === undefined) {
      giveBack("withdraw");
      close(one.type === "deadline" ? "fail deadline" : "");
    } else if (one.type === "died") {
      giveBack("withdraw");
      close("fail conversation");
    }
  }
  return log;
}

/** What a step leads to. Effects name no consumer: the state does, before the event or after it. */
function inWords({ before, state, effects }: Step): string[] {
  return effects.flatMap((effect) => {
    switch (effect.type) {
      case "end":
        return [];
      case "start-patience":
        return ["be patient"];
      case "stop-patience":
        return ["forget patience"];
      case "wait":
        return ["join the line"];
      case "leave-queue":
        return ["leave the line"];
      case "fail":
        return [`fail ${effect.failure.type}`];
      case "compensate":
        return [`undo ${before.consumer?.id}`];
      case "deliver":
        return [`deliver ${state.consumer?.id} ${state.attempt}`];
      case "select":
      case "shut-down":
      case "fail-overdue":
        return [effect.type];
      default:
        return [`${effect.type} ${before.consumer?.id}`];
    }
  });
}

const holds = (check: (steps: readonly Step[], how: Policy) => void): void =>
  fc.assert(
    fc.property(policy, events, (how, given) => check(run(how, given), how)),
    { numRuns: sized(150, 1 / 20, 500) },
  );

describe("whatever happens to a conversation", () => {
  it("it does the same as a naive model [D14]", () => {
    fc.assert(
      fc.property(policy, events, (how, given) => {
        expect(run(how, given).flatMap(inWords)).toEqual(naive(how, given));
      }),
      { numRuns: sized(500, 1 / 5, 2_000) },
    );
  });

  it("closed is final", () => {
    holds((steps) => {
      for (const { before, state, effects } of steps) {
        if (before.phase !== "closed") continue;
        expect(state).toBe(before);
        expect(effects).toEqual([]);
      }
    });
  });

  it("it ends once: by completion, by failure or by withdrawal", () => {
    holds((steps) => {
      const effects = all(steps);
      const closed = steps.at(-1)?.state.phase === "closed";
      const withdrawn = steps.some(
        (step) => step.event.type === "withdrawn" && step.before.phase !== step.state.phase,
      );
      const ends = count(effects, "complete") + count(effects, "fail") + Number(withdrawn);
      expect(ends).toBe(closed ? 1 : 0);
      expect(count(effects, "end")).toBe(ends);
      if (closed) expect(effects.at(-1)?.type).toBe("end");
    });
  });

  it("each delivery is released or withdrawn once, before the next and before the end", () => {
    holds((steps) => {
      let held: Identified | undefined;
      for (const { before, state, effects } of steps) {
        for (const effect of effects) {
          if (effect.type === "deliver") {
            expect(held).toBe(undefined);
            held = state.consumer;
            expect(held).toBeDefined();
          } else if (effect.type === "release" || effect.type === "withdraw") {
            expect(held).toBe(before.consumer);
            expect(held).toBeDefined();
            held = undefined;
          } else if (effect.type === "end") expect(held).toBe(undefined);
        }
      }
    });
  });

  it("attempts are numbered from 1, and never exceed the budget", () => {
    holds((steps, { maxAttempts }) => {
      const numbers = steps.flatMap(({ state, effects }) =>
        count(effects, "deliver") > 0 ? [state.attempt] : [],
      );
      expect(numbers).toEqual(numbers.map((_, i) => i + 1));
      const spared =
        steps.at(-1)?.state.past.history.filter(({ end }) => /returned|interrupted/.test(end)) ?? [];
      expect(numbers.length - spared.length).toBeLessThanOrEqual(maxAttempts);
    });
  });

  it("no consumer gets the envelope twice, if choices leave out the excluded consumers", () => {
    fc.assert(
      fc.property(events, (all) => {
        // What is sent back may come again.
        const given = all.filter(
          (one) => one.type !== "returned" && !(one.type === "exited" && one.innocent),
        );
        const seen: string[] = [];
        let state = initial<Identified>();
        for (const one of given) {
          const honoured = one.type !== "selected" || !state.past.excluded.includes(one.consumer);
          const [next, effects] = decide(
            { onCrash: "reroute", maxAttempts: 10 },
            state,
            honoured ? one : { type: "room" },
          );
          state = next;
          if (count(effects, "deliver") > 0) seen.push(next.consumer?.id ?? "");
        }
        expect(new Set(seen).size).toBe(seen.length);
      }),
      { numRuns: sized(150, 1 / 20, 500) },
    );
  });

  it("events of earlier attempts change nothing", () => {
    holds((steps) => {
      for (const { before, event: one, state } of steps) {
        if ("attempt" in one && one.attempt !== before.attempt) expect(state).toBe(before);
        if (one.type === "exited" && one.consumer !== before.consumer) expect(state).toBe(before);
      }
    });
  });

  it("a compensation that has begun ends by itself or with the process, and by nothing else", () => {
    holds((steps) => {
      for (const { before, event: one, state } of steps) {
        if (before.phase === "compensating" && one.type !== "compensated" && one.type !== "died")
          expect(state).toBe(before);
      }
    });
  });

  it("it has one place in the queue at most, and leaves the queue once it has delivered or ended", () => {
    holds((steps) => {
      let hasPlace = false;
      for (const { event: one, state, effects } of steps) {
        if (one.type === "turned-away" && state.phase === "closed") hasPlace = false;
        for (const effect of effects) {
          if (effect.type === "wait") hasPlace = true;
          else if (effect.type === "leave-queue") {
            expect(hasPlace).toBe(true);
            hasPlace = false;
          }
        }
        expect(state.isQueued).toBe(hasPlace);
        if (state.phase === "delivered" || state.phase === "closed") expect(hasPlace).toBe(false);
      }
    });
  });

  it("the history has each attempt that ended, in order, and consumers that failed are excluded", () => {
    holds((steps) => {
      const last = steps.at(-1)?.state.past;
      expect(last?.history.map((one) => one.attempt)).toEqual(last?.history.map((_, i) => i + 1));
      const failed = last?.history.filter(({ end }) => end === "crashed" || end === "rejected");
      expect(last?.excluded.map((one) => one.id)).toEqual(failed?.map((one) => one.consumer));
    });
  });
});
