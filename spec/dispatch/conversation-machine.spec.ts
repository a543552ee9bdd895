// The dispatch conversation as a table: each event in each phase, and what comes of it.

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

const ann: Identified = { id: "ann" };
const bob: Identified = { id: "bob" };
const broken = custom("broken");
const busy = custom("busy");
const REROUTE: Policy = { onCrash: "reroute", maxAttempts: 3 };

type E = Event<Identified>;
const accept = (consumer: Identified): E => ({ type: "selected", consumer, pressure: "accept" });
const defer = (consumer: Identified): E => ({ type: "selected", consumer, pressure: "defer" });
const exited = (consumer: Identified, at = 7, innocent = false): E => ({
  type: "exited",
  consumer,
  innocent,
  reason: broken,
  at,
});
const givenBack: E = { type: "returned", consumer: ann, exited: false, reason: broken, at: 7 };
const rejected = (attempt: number, final = false): E => ({
  type: "rejected",
  attempt,
  reason: busy,
  final,
  at: 8,
});
const settled = (attempt: number): E => ({ type: "settled", attempt });

/** The state after these events. */
function stateAfter(policy: Policy, ...events: readonly E[]): State<Identified> {
  return events.reduce<State<Identified>>((state, event) => decide(policy, state, event)[0], initial());
}

/** What the last of these events leads to, in short: "release ann", "select", "fail no-consumer". */
function effects(policy: Policy, ...events: readonly E[]): string[] {
  const before = stateAfter(policy, ...events.slice(0, -1));
  const [after, effects] = decide(policy, before, events.at(-1) as E);
  return effects.map((effect) => brief(effect, before, after));
}

/** Effects name no consumer: the state does, before the event or after it. */
function brief(effect: Effect<Identified>, before: State<Identified>, after: State<Identified>): string {
  switch (effect.type) {
    case "deliver":
      return `deliver ${after.consumer?.id} #${after.attempt}`;
    case "withdraw":
      return `withdraw ${before.consumer?.id}`;
    case "release":
      return `release ${before.consumer?.id}${effect.exited ? ", gone" : ""}`;
    case "wait":
      return `wait ${effect.consumer?.id ?? "for anybody"}`;
    case "compensate":
    case "complete":
      return `${effect.type} ${after.consumer?.id}`;
    case "fail": {
      const { failure } = effect;
      const more = "why" in failure ? ` ${failure.why}` : "end" in failure ? ` ${failure.end}` : "";
      return `fail ${failure.type}${more}${effect.deadLetter ? ", dead letter" : ""}`;
    }
    default:
      return effect.type;
  }
}

const begin: E = { type: "begin" };
const room: E = { type: "room" };
const impatient: E = { type: "impatient", round: 0 };
const none = (patient: boolean): E => ({ type: "unselected", why: "empty", patient });
const deadline: E = { type: "deadline", isLast: true };
const died: E = { type: "died", reason: broken };
const start = [begin] as const;
const out = [begin, accept(ann)] as const;
const queued = [begin, defer(ann)] as const;
const undoing = [begin, accept(ann), exited(ann)] as const;
const COMPENSATE: Policy = { onCrash: "compensate", maxAttempts: 3 };
const ONCE: Policy = { onCrash: "reroute", maxAttempts: 1 };
const FAIL: Policy = { onCrash: "fail", maxAttempts: 3 };

describe("a conversation", () => {
  it.each<[string, Policy, readonly E[], string, string[]]>([
    ["asks the routing function first", REROUTE, [begin], "selecting", ["select"]],
    ["delivers to whom it chose", REROUTE, [begin, accept(ann)], "delivered", ["deliver ann #1"]],
    ["waits at one that defers", REROUTE, [begin, defer(ann)], "waiting", ["wait ann"]],
    [
      "fails when the one chosen rejects",
      REROUTE,
      [begin, { type: "selected", consumer: ann, pressure: "reject" }],
      "closed",
      ["fail no-consumer rejecting", "end"],
    ],
    [
      "fails when there is no consumer",
      REROUTE,
      [begin, none(false)],
      "closed",
      ["fail no-consumer empty", "end"],
    ],
    [
      "or waits, with patience",
      REROUTE,
      [begin, none(true)],
      "waiting",
      ["start-patience", "wait for anybody"],
    ],
    [
      "as long as its patience lasts, however often it looks",
      REROUTE,
      [begin, none(true), room, none(true)],
      "waiting",
      ["wait for anybody"],
    ],
    ["and looks once more at the end", REROUTE, [begin, none(true), impatient], "selecting", ["select"]],
    [
      "before it gives up",
      REROUTE,
      [begin, none(true), impatient, none(true)],
      "closed",
      ["leave-queue", "fail no-consumer empty", "end"],
    ],
    [
      "ends its patience when there is a consumer again",
      REROUTE,
      [begin, none(true), room, defer(ann)],
      "waiting",
      ["stop-patience", "wait ann"],
    ],
    [
      "and begins anew when there is none again",
      REROUTE,
      [begin, none(true), room, defer(ann), room, none(true)],
      "waiting",
      ["start-patience", "wait for anybody"],
    ],
    [
      "calls what failed on every member a dead letter",
      REROUTE,
      [...out, exited(ann), { type: "unselected", why: "excluded", patient: false }],
      "closed",
      ["fail no-consumer excluded, dead letter", "end"],
    ],
    [
      "fails when the routing function does",
      REROUTE,
      [begin, { type: "misrouted", failure: { type: "evaluation", cause: 1 } }],
      "closed",
      ["fail evaluation", "end"],
    ],
    ["selects again when there is room", REROUTE, [...queued, { type: "room" }], "selecting", ["select"]],
    [
      "fails when as many wait as may",
      REROUTE,
      [...queued, { type: "turned-away" }],
      "closed",
      ["fail no-consumer waiting-full", "end"],
    ],
    [
      "completes when the consumer settles",
      REROUTE,
      [...out, settled(1)],
      "closed",
      ["release ann", "complete ann", "end"],
    ],
    [
      "re-routes when the consumer rejects",
      REROUTE,
      [...out, rejected(1)],
      "selecting",
      ["release ann", "select"],
    ],
    [
      "fails when it rejects for good",
      REROUTE,
      [...out, rejected(1, true)],
      "closed",
      ["release ann", "fail rejected, dead letter", "end"],
    ],
    [
      "re-routes when the consumer exits",
      REROUTE,
      [...out, exited(ann)],
      "selecting",
      ["release ann, gone", "select"],
    ],
    [
      "or fails, by policy",
      FAIL,
      [...out, exited(ann)],
      "closed",
      ["release ann, gone", "fail conversation crashed", "end"],
    ],
    [
      "or compensates, by policy",
      COMPENSATE,
      [...out, exited(ann)],
      "compensating",
      ["release ann, gone", "compensate ann"],
    ],
    [
      "re-routes a rejection under every crash policy",
      FAIL,
      [...out, rejected(1)],
      "selecting",
      ["release ann", "select"],
    ],
    [
      "fails once it has compensated",
      COMPENSATE,
      [...undoing, { type: "compensated", reason: undefined }],
      "closed",
      ["fail conversation compensated", "end"],
    ],
    [
      "fails otherwise when that failed",
      COMPENSATE,
      [...undoing, { type: "compensated", reason: custom("late") }],
      "closed",
      ["fail conversation compensation-failed", "end"],
    ],
    [
      "fails by its deadline while it selects",
      REROUTE,
      [...start, deadline],
      "closed",
      ["fail deadline", "end"],
    ],
    ["and while it waits", REROUTE, [...queued, deadline], "closed", ["leave-queue", "fail deadline", "end"]],
    [
      "and while a consumer is at work",
      REROUTE,
      [...out, deadline],
      "closed",
      ["withdraw ann", "fail deadline", "end"],
    ],
    ["but not while it compensates", COMPENSATE, [...undoing, deadline], "compensating", []],
    ["ends when it is withdrawn", REROUTE, [...start, { type: "withdrawn" }], "closed", ["end"]],
    ["and while it waits", REROUTE, [...queued, { type: "withdrawn" }], "closed", ["leave-queue", "end"]],
    [
      "and while a consumer is at work",
      REROUTE,
      [...out, { type: "withdrawn" }],
      "closed",
      ["withdraw ann", "end"],
    ],
    ["but sees a compensation through", COMPENSATE, [...undoing, { type: "withdrawn" }], "compensating", []],
    [
      "leaves the queue when it has delivered from there",
      REROUTE,
      [...queued, room, accept(ann)],
      "delivered",
      ["deliver ann #1", "leave-queue"],
    ],
    [
      "and ends its patience first",
      REROUTE,
      [begin, none(true), room, accept(ann)],
      "delivered",
      ["stop-patience", "deliver ann #1", "leave-queue"],
    ],
    [
      "leaves the queue when it fails there",
      REROUTE,
      [...queued, room, none(false)],
      "closed",
      ["leave-queue", "fail no-consumer empty", "end"],
    ],
    [
      "goes on for the callers whose deadline has not passed",
      REROUTE,
      [...out, { type: "deadline", isLast: false }],
      "delivered",
      ["fail-overdue"],
    ],
    [
      "and keeps all callers while it compensates",
      COMPENSATE,
      [...undoing, { type: "deadline", isLast: false }],
      "compensating",
      [],
    ],
    [
      "shuts down when the system stops and there is no consumer",
      REROUTE,
      [begin, { type: "stopping" }],
      "selecting",
      ["shut-down"],
    ],
    [
      "fails when its process dies while it waits",
      REROUTE,
      [...queued, died],
      "closed",
      ["leave-queue", "fail conversation died", "end"],
    ],
    [
      "or while a consumer is at work",
      REROUTE,
      [...out, died],
      "closed",
      ["withdraw ann", "fail conversation died", "end"],
    ],
    ["or while it compensates", COMPENSATE, [...undoing, died], "closed", ["fail conversation died", "end"]],
  ])("%s", (_name, policy, events, phase, expected) => {
    expect(effects(policy, ...events)).toEqual(expected);
    expect(stateAfter(policy, ...events).phase).toBe(phase);
  });

  it("spends no attempt when the consumer gave the envelope back or crashed on another one", () => {
    expect(effects(ONCE, ...out, givenBack)).toEqual(["release ann", "select"]);
    expect(effects(ONCE, ...out, exited(ann, 7, true))).toEqual(["release ann, gone", "select"]);
    expect(stateAfter(ONCE, ...out, exited(ann, 7, true)).past).toMatchObject({
      failures: 0,
      excluded: [],
      history: [{ consumer: "ann", end: "interrupted" }],
    });
  });

  it("does not re-route interrupted work where the crash policy forbids it", () => {
    expect(effects(FAIL, ...out, exited(ann, 7, true)).at(-1)).toBe("end");
    expect(effects(COMPENSATE, ...out, exited(ann, 7, true)).at(-1)).toBe("compensate ann");
  });

  it("ends as a dead letter when its attempts are used up", () => {
    const policy: Policy = { onCrash: "reroute", maxAttempts: 2 };
    expect(effects(policy, ...out, exited(ann), accept(bob), exited(bob))).toEqual([
      "release bob, gone",
      "fail attempts, dead letter",
      "end",
    ]);
  });

  it("remembers each attempt: consumer, end, reason and time", () => {
    const { past, attempt } = stateAfter(REROUTE, ...out, exited(ann, 7), accept(bob), rejected(2));
    expect(past.history).toEqual([
      { attempt: 1, consumer: "ann", end: "crashed", reason: broken, at: 7 },
      { attempt: 2, consumer: "bob", end: "rejected", reason: busy, at: 8 },
    ]);
    expect(past.excluded).toEqual([ann, bob]);
    expect(attempt).toBe(2);
  });

  it("times each re-routing, from the EXIT to the next delivery", () => {
    const forwarded = (at: number): E => ({ type: "forwarded", at });
    const { past } = stateAfter(REROUTE, ...out, exited(ann, 7), accept(bob), forwarded(9), exited(bob, 11));
    expect(past.timings).toEqual([
      { consumer: "ann", reason: broken, exitAt: 7, reroutedAt: 9, elapsedMs: 2 },
    ]);
    expect(past.isRerouting).toBe(true);
  });

  it("times no re-routing after a rejection or a return", () => {
    const forwarded: E = { type: "forwarded", at: 9 };
    for (const ended of [rejected(1), givenBack]) {
      const { past } = stateAfter(REROUTE, ...out, ended, accept(bob), forwarded);
      expect(past.timings).toEqual([]);
    }
  });

  it("fails with the reason of the crash, or of the failed compensation", () => {
    const before = stateAfter(COMPENSATE, ...undoing);
    const failure = (reason: typeof broken | undefined): unknown =>
      decide(COMPENSATE, before, { type: "compensated", reason })[1][0];
    expect(failure(undefined)).toMatchObject({ failure: { reason: broken } });
    expect(failure(busy)).toMatchObject({ failure: { reason: busy } });
  });
});

describe("an event that comes too late, or from another attempt,", () => {
  const closed = [...out, settled(1)] as const;
  const again = [...out, rejected(1), accept(bob)] as const;
  it.each<[string, readonly E[], E]>([
    ["a second begin", out, begin],
    ["a choice when a consumer is at work already", out, accept(bob)],
    ["no choice when a consumer is at work already", out, none(false)],
    ["a failed choice then", out, { type: "misrouted", failure: { type: "evaluation", cause: 1 } }],
    ["room for one that does not wait", out, { type: "room" }],
    ["a turning away of one that does not wait", out, { type: "turned-away" }],
    ["the settlement of an earlier attempt", again, settled(1)],
    ["the rejection of an earlier attempt", again, rejected(1, true)],
    ["the exit of an earlier consumer", again, exited(ann)],
    ["the end of no compensation", out, { type: "compensated", reason: undefined }],
    ["a choice when all is over", closed, accept(bob)],
    ["an exit when all is over", closed, exited(ann)],
    ["a deadline when all is over", closed, deadline],
    ["the death of its process when all is over", closed, died],
    ["a forwarding that re-routes nothing", out, { type: "forwarded", at: 9 }],
    [
      "the end of an earlier patience",
      [begin, none(true), room, defer(ann), room, none(true)],
      { type: "impatient", round: 0 },
    ],
    ["a withdrawal when all is over", closed, { type: "withdrawn" }],
  ])("%s changes nothing", (_name, events, event) => {
    const before = stateAfter(REROUTE, ...events);
    const [state, done] = decide(REROUTE, before, event);
    expect(state).toBe(before);
    expect(done).toEqual([]);
  });
});
