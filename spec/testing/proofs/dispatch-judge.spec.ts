// The model of dispatches accepts right histories, and rejects each kind of wrong history.

import { describe, expect, it } from "vitest";
import { type Deed, type End, type Event, judgeDispatches, type Rules } from "./dispatch-support.js";

const REROUTE: Rules = { maxAttempts: 2, onCrash: "reroute" };
const FAIL: Rules = { maxAttempts: 2, onCrash: "fail" };
const COMPENSATE: Rules = { maxAttempts: 2, onCrash: "compensate" };

type Told = Event & { readonly at?: number };

const ANN = { what: "join", life: "s/ann", id: "ann" } as const;
const BOB = { what: "join", life: "s/bob", id: "bob" } as const;
const BEGIN = { what: "dispatch", dispatch: "d", conversation: "s/dispatch", deadlineMs: 1_000 } as const;
const TO_ANN = { what: "choose", dispatch: "d", life: "s/ann", id: "ann" } as const;
const TO_BOB = { what: "choose", dispatch: "d", life: "s/bob", id: "bob" } as const;
const ANN_TAKES = { what: "take", dispatch: "d", life: "s/ann", attempt: 1 } as const;
const BOB_TAKES = { what: "take", dispatch: "d", life: "s/bob", attempt: 2 } as const;
const ANN_ACKS = { what: "settle", dispatch: "d", life: "s/ann", attempt: 1, how: "ack" } as const;
const ANN_REJECTS = { ...ANN_ACKS, how: "reject" } as const;
const BOB_ACKS = { what: "settle", dispatch: "d", life: "s/bob", attempt: 2, how: "ack" } as const;
const ANN_EXITS = { what: "exit", who: "s/ann", reason: "killed" } as const;
const BOB_EXITS = { what: "exit", who: "s/bob", reason: "killed" } as const;
const COMPENSATION = { what: "compensate", dispatch: "d", consumer: "ann", attempt: 1 } as const;
const UNDOER_EXITS = { what: "exit", who: "s/dispatch/compensation", reason: "normal" } as const;
const DONE = { what: "exit", who: "s/dispatch", reason: "normal" } as const;
const DIED = { what: "exit", who: "s/dispatch", reason: "killed" } as const;

const by = (end: Partial<End & { type: "delivered" }>): Told => ({
  what: "end",
  dispatch: "d",
  end: {
    type: "delivered",
    to: "ann",
    life: "s/ann",
    attempts: 1,
    reroutedFrom: [],
    timings: [],
    ...end,
  },
});
const byBob = (end: Partial<End & { type: "delivered" }>): Told =>
  by({ to: "bob", life: "s/bob", attempts: 2, reroutedFrom: ["ann"], ...end });
const failed = (code: string, history: readonly string[], why?: string): Told => ({
  what: "end",
  dispatch: "d",
  end: {
    type: "failed",
    code,
    ...(why === undefined ? {} : { why }),
    history: history.map((text, i) => {
      const [consumer, end] = text.split(" ") as [string, "crashed"];
      return { attempt: i + 1, consumer, end };
    }),
  },
});
const WITHDRAWN: Told = { what: "end", dispatch: "d", end: { type: "withdrawn" } };

/** A deed every millisecond, unless it says otherwise. */
function said(events: readonly Told[], rules: Rules): string | undefined {
  const deeds: Deed[] = events.map((event, i) => ({ at: i, ...event }));
  return judgeDispatches(deeds, rules).complaint;
}

/** Ann has it at 3 ms, ends at 5 ms; bob has it at 6 ms. */
const CRASH: readonly Told[] = [ANN, BOB, BEGIN, TO_ANN, ANN_TAKES, ANN_EXITS, TO_BOB];
const TIMINGS = [{ consumer: "ann", exitAt: 6, reroutedAt: 6 }];

describe("the model of dispatches", () => {
  it.each<[string, readonly Told[], Rules]>([
    ["delivered at once", [ANN, BEGIN, TO_ANN, ANN_TAKES, ANN_ACKS, DONE, by({})], REROUTE],
    ["re-routed after a crash", [...CRASH, BOB_TAKES, BOB_ACKS, DONE, byBob({ timings: TIMINGS })], REROUTE],
    [
      "re-routed after a rejection",
      [ANN, BOB, BEGIN, TO_ANN, ANN_TAKES, ANN_REJECTS, TO_BOB, BOB_TAKES, BOB_ACKS, DONE, byBob({})],
      REROUTE,
    ],
    [
      "acknowledged by one that ends at once",
      [ANN, BOB, BEGIN, TO_ANN, ANN_TAKES, ANN_ACKS, ANN_EXITS, DONE, by({})],
      REROUTE,
    ],
    [
      "out of attempts",
      [
        ...CRASH,
        BOB_TAKES,
        BOB_EXITS,
        DONE,
        failed("ERR_ATTEMPTS_EXHAUSTED", ["ann crashed", "bob crashed"]),
      ],
      REROUTE,
    ],
    [
      "returned by its only consumer",
      [ANN, BEGIN, TO_ANN, ANN_EXITS, DONE, failed("ERR_NO_CONSUMER", ["ann returned"], "empty")],
      REROUTE,
    ],
    [
      "acknowledged by one that has left",
      [ANN, BEGIN, TO_ANN, { what: "leave", life: "s/ann" }, ANN_TAKES, ANN_ACKS, DONE, by({})],
      REROUTE,
    ],
    ["past its deadline", [ANN, BEGIN, TO_ANN, { ...DONE, at: 1_001 }, failed("ERR_DEADLINE", [])], REROUTE],
    [
      "past its deadline, and acknowledged at that moment",
      [ANN, BEGIN, TO_ANN, ANN_TAKES, ANN_ACKS, { ...DONE, at: 1_001 }, failed("ERR_DEADLINE", [])],
      REROUTE,
    ],
    [
      "past its deadline, and its consumer has just ended",
      [ANN, BEGIN, TO_ANN, ANN_TAKES, ANN_EXITS, { ...DONE, at: 1_001 }, failed("ERR_DEADLINE", [])],
      REROUTE,
    ],
    [
      "withdrawn",
      [ANN, BEGIN, TO_ANN, { what: "withdraw", dispatch: "d" }, WITHDRAWN, ANN_TAKES, ANN_ACKS],
      REROUTE,
    ],
    ["killed", [ANN, BEGIN, TO_ANN, DIED, failed("ERR_CONVERSATION", [], "died")], REROUTE],
    [
      "failed by policy",
      [
        ANN,
        BOB,
        BEGIN,
        TO_ANN,
        ANN_TAKES,
        ANN_EXITS,
        DONE,
        failed("ERR_CONVERSATION", ["ann crashed"], "crashed"),
      ],
      FAIL,
    ],
    [
      "compensated",
      [
        ANN,
        BOB,
        BEGIN,
        TO_ANN,
        ANN_TAKES,
        ANN_EXITS,
        COMPENSATION,
        { what: "undone", dispatch: "d" },
        UNDOER_EXITS,
        DONE,
        failed("ERR_CONVERSATION", ["ann crashed"], "compensated"),
      ],
      COMPENSATE,
    ],
    [
      "handed off",
      [ANN, BEGIN, { ...TO_ANN, handoffMs: 100 }, { ...DONE, at: 102 }, { ...by({}), at: 102 }],
      REROUTE,
    ],
  ])("accepts a dispatch that is %s", (_what, events, rules) => {
    expect(said(events, rules)).toBe(undefined);
  });

  it.each<[what: string, complaint: string, events: readonly Told[], rules: Rules]>([
    ["is lost", "d never ends", [ANN, BEGIN, TO_ANN, ANN_TAKES, ANN_ACKS], REROUTE],
    [
      "ends twice",
      "it ends a second time",
      [ANN, BEGIN, TO_ANN, ANN_TAKES, ANN_ACKS, by({}), by({})],
      REROUTE,
    ],
    ["is delivered by nobody", "nobody has had it", [ANN, BEGIN, by({})], REROUTE],
    [
      "is delivered without an acknowledgement",
      "nobody has acknowledged it",
      [ANN, BEGIN, TO_ANN, ANN_TAKES, by({})],
      REROUTE,
    ],
    [
      "is delivered by one that has rejected it",
      "nobody has acknowledged it",
      [ANN, BEGIN, TO_ANN, ANN_TAKES, ANN_REJECTS, by({})],
      REROUTE,
    ],
    [
      "is acknowledged twice",
      "it is settled a second time",
      [ANN, BEGIN, TO_ANN, ANN_TAKES, ANN_ACKS, ANN_ACKS, by({})],
      REROUTE,
    ],
    [
      "is settled by two",
      "s/ann has acknowledged it",
      [ANN, BOB, BEGIN, TO_ANN, ANN_TAKES, ANN_ACKS, TO_BOB, BOB_TAKES, BOB_ACKS, byBob({ timings: [] })],
      REROUTE,
    ],
    [
      "is acknowledged by one that has ended",
      "s/ann has ended",
      [...CRASH, ANN_ACKS, BOB_TAKES, BOB_ACKS, byBob({ timings: TIMINGS })],
      REROUTE,
    ],
    [
      "is taken twice",
      "it is taken a second time",
      [ANN, BEGIN, TO_ANN, ANN_TAKES, ANN_TAKES, ANN_ACKS, by({})],
      REROUTE,
    ],
    [
      "is taken by another",
      "attempt 1 is not with s/bob",
      [ANN, BOB, BEGIN, TO_ANN, { ...ANN_TAKES, life: "s/bob" }, ANN_ACKS, by({})],
      REROUTE,
    ],
    ["is with two at a time", "s/ann has it", [ANN, BOB, BEGIN, TO_ANN, ANN_TAKES, TO_BOB], REROUTE],
    ["goes to one that has ended", "s/ann has ended", [ANN, BEGIN, ANN_EXITS, TO_ANN], REROUTE],
    [
      "goes to one that has left",
      "s/ann has left",
      [ANN, BEGIN, { what: "leave", life: "s/ann" }, TO_ANN],
      REROUTE,
    ],
    ["goes to a stranger", "s/ann has not joined as ann", [BEGIN, TO_ANN], REROUTE],
    [
      "goes to one that has rejected it, again",
      "s/ann has failed on it",
      [ANN, BEGIN, TO_ANN, ANN_TAKES, ANN_REJECTS, TO_ANN],
      REROUTE,
    ],
    [
      "goes on after its end",
      "it has ended",
      [ANN, BOB, BEGIN, TO_ANN, ANN_TAKES, ANN_ACKS, by({}), TO_BOB],
      REROUTE,
    ],
    [
      "goes on after it was withdrawn",
      "it has ended",
      [ANN, BEGIN, { what: "withdraw", dispatch: "d" }, TO_ANN, WITHDRAWN],
      REROUTE,
    ],
    [
      "has more attempts than it may",
      "its attempts are used up",
      [...CRASH, BOB_TAKES, BOB_EXITS, { ...ANN, life: "s/cid" }, { ...TO_ANN, life: "s/cid" }],
      REROUTE,
    ],
    [
      "names nobody whom it was re-routed from",
      "it was re-routed from ann",
      [...CRASH, BOB_TAKES, BOB_ACKS, byBob({ reroutedFrom: [], timings: TIMINGS })],
      REROUTE,
    ],
    [
      "names too many",
      "it was re-routed from ann",
      [...CRASH, BOB_TAKES, BOB_ACKS, byBob({ reroutedFrom: ["ann", "ann"], timings: TIMINGS })],
      REROUTE,
    ],
    [
      "counts wrongly",
      "it took 2 attempts",
      [...CRASH, BOB_TAKES, BOB_ACKS, byBob({ attempts: 1, timings: TIMINGS })],
      REROUTE,
    ],
    ["forgets a timing", "those that ended are ann", [...CRASH, BOB_TAKES, BOB_ACKS, byBob({})], REROUTE],
    [
      "has a timing that is too early",
      "timing 0 is before its cause",
      [...CRASH, BOB_TAKES, BOB_ACKS, byBob({ timings: [{ consumer: "ann", exitAt: 4, reroutedAt: 6 }] })],
      REROUTE,
    ],
    [
      "has a timing that is too late",
      "timing 0: it was forwarded at 6 ms",
      [...CRASH, BOB_TAKES, BOB_ACKS, byBob({ timings: [{ consumer: "ann", exitAt: 6, reroutedAt: 7 }] })],
      REROUTE,
    ],
    [
      "names another as the one that has it",
      "s/ann has acknowledged it",
      [ANN, BOB, BEGIN, TO_ANN, ANN_TAKES, ANN_ACKS, by({ to: "bob", life: "s/bob" })],
      REROUTE,
    ],
    [
      "is given up before its attempts are used up",
      "it failed 1 times",
      [...CRASH, BOB_TAKES, failed("ERR_ATTEMPTS_EXHAUSTED", ["ann crashed"])],
      REROUTE,
    ],
    [
      "counts what was returned as an attempt",
      "it failed 1 times",
      [...CRASH, BOB_EXITS, failed("ERR_ATTEMPTS_EXHAUSTED", ["ann crashed", "bob returned"])],
      REROUTE,
    ],
    [
      "is given up though there was somebody",
      "there was always somebody",
      [ANN, BOB, BEGIN, TO_ANN, ANN_TAKES, ANN_EXITS, failed("ERR_NO_CONSUMER", ["ann crashed"], "excluded")],
      REROUTE,
    ],
    [
      "is given up though somebody has it",
      "s/ann has it",
      [ANN, BEGIN, TO_ANN, failed("ERR_NO_CONSUMER", [], "excluded")],
      REROUTE,
    ],
    [
      "tells of a crash where it was only returned",
      "it was tried on 1 ann returned",
      [ANN, BEGIN, TO_ANN, ANN_EXITS, failed("ERR_NO_CONSUMER", ["ann crashed"], "excluded")],
      REROUTE,
    ],
    [
      "does not tell of a crash",
      "it was tried on 1 ann crashed",
      [ANN, BEGIN, TO_ANN, ANN_TAKES, ANN_EXITS, failed("ERR_NO_CONSUMER", [], "empty")],
      REROUTE,
    ],
    [
      "passes its deadline early",
      "its deadline is not over",
      [ANN, BEGIN, TO_ANN, { ...DONE, at: 1_000 }, failed("ERR_DEADLINE", [])],
      REROUTE,
    ],
    ["is withdrawn by nobody", "nobody has withdrawn it", [ANN, BEGIN, TO_ANN, WITHDRAWN], REROUTE],
    [
      "dies without dying",
      "its conversation has not died",
      [ANN, BEGIN, TO_ANN, DONE, failed("ERR_CONVERSATION", [], "died")],
      REROUTE,
    ],
    [
      "fails by a policy that it has not",
      "nobody has crashed on it",
      [ANN, BEGIN, TO_ANN, ANN_TAKES, ANN_EXITS, failed("ERR_CONVERSATION", ["ann crashed"], "crashed")],
      REROUTE,
    ],
    ["is re-routed against its policy", "a crash re-routes nothing here", CRASH, FAIL],
    [
      "fails by policy though nobody has crashed on it",
      "nobody has crashed on it",
      [ANN, BEGIN, TO_ANN, ANN_EXITS, failed("ERR_CONVERSATION", ["ann returned"], "crashed")],
      FAIL,
    ],
    [
      "was not compensated",
      "nothing was undone",
      [ANN, BEGIN, TO_ANN, ANN_TAKES, ANN_EXITS, failed("ERR_CONVERSATION", ["ann crashed"], "compensated")],
      COMPENSATE,
    ],
    [
      "was compensated, and is said not to be",
      "all was undone",
      [
        ANN,
        BEGIN,
        TO_ANN,
        ANN_TAKES,
        ANN_EXITS,
        COMPENSATION,
        { what: "undone", dispatch: "d" },
        failed("ERR_CONVERSATION", ["ann crashed"], "compensation-failed"),
      ],
      COMPENSATE,
    ],
    [
      "is turned away though there was room",
      "there was room to wait",
      [ANN, BEGIN, DONE, failed("ERR_NO_CONSUMER", [], "waiting-full")],
      { ...REROUTE, maxWaiting: 1 },
    ],
    [
      "does not wait for its compensation",
      "its compensation is under way",
      [ANN, BEGIN, TO_ANN, ANN_TAKES, ANN_EXITS, COMPENSATION, DONE],
      COMPENSATE,
    ],
    [
      "is past its deadline while it is compensated",
      "a compensation is seen through",
      [
        ANN,
        { ...BEGIN, deadlineMs: 0 },
        TO_ANN,
        ANN_TAKES,
        ANN_EXITS,
        COMPENSATION,
        failed("ERR_DEADLINE", ["ann crashed"]),
      ],
      COMPENSATE,
    ],
    [
      "is compensated for another",
      "it was ann that crashed",
      [ANN, BEGIN, TO_ANN, ANN_TAKES, ANN_EXITS, { ...COMPENSATION, consumer: "bob" }],
      COMPENSATE,
    ],
    [
      "is compensated twice",
      "it is undone a second time",
      [ANN, BEGIN, TO_ANN, ANN_TAKES, ANN_EXITS, COMPENSATION, COMPENSATION],
      COMPENSATE,
    ],
    [
      "is compensated though it was only returned",
      "nobody has crashed on it",
      [ANN, BEGIN, TO_ANN, ANN_EXITS, COMPENSATION],
      COMPENSATE,
    ],
    [
      "ends otherwise than any dispatch does",
      "no such error is due",
      [ANN, BEGIN, failed("ERR_OTHER", [])],
      REROUTE,
    ],
    [
      "is handed off early",
      "its hand-off window is not over",
      [ANN, BEGIN, { ...TO_ANN, handoffMs: 100 }, { ...DONE, at: 101 }, { ...by({}), at: 102 }],
      REROUTE,
    ],
    [
      "is handed off to one that has ended",
      "s/ann has not lived to take it",
      [ANN, BEGIN, { ...TO_ANN, handoffMs: 100 }, ANN_EXITS, { ...DONE, at: 102 }, { ...by({}), at: 102 }],
      REROUTE,
    ],
  ])("rejects a dispatch that %s", (_what, complaint, events, rules) => {
    expect(said(events, rules)).toContain(complaint);
  });
});
