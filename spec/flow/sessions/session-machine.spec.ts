// Sessions as a pure machine: two sides and a channel that delays, repeats and reorders what they send each other.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SessionMessage } from "../../../lib/flow/sessions/messages.js";
import {
  decide,
  initiator,
  isOver,
  responder,
  type SessionEffect,
  type SessionEvent,
  type SessionState,
} from "../../../lib/flow/sessions/session-machine.js";
import { sized } from "../../support/proof.js";

type State = SessionState<number, string>;
type Event = SessionEvent<number, string>;
type Effect = SessionEffect<number, string>;
type Message = SessionMessage<number, string>;

const arrived = (message: Message): Event => ({ type: "arrived", message });
const data = (number: number): Event => arrived({ type: "data", number, value: number });

function run(from: State, ...events: Event[]): [State, Effect[]] {
  let state = from;
  const effects: Effect[] = [];
  for (const event of events) {
    const [next, more] = decide(state, event);
    state = next;
    effects.push(...more);
  }
  return [state, effects];
}

const asking = (window = 4): State => initiator<number, string>("payment", window)[0];
const open = (window = 4, allowed = 4): State => responder<number, string>(window, allowed)[0];
const received = (effects: readonly Effect[]): number[] =>
  effects.flatMap((effect) => (effect.type === "received" ? [effect.value] : []));
const failures = (effects: readonly Effect[]): Effect[] => effects.filter(({ type }) => type === "failed");

describe("a session", () => {
  it("begins with a question and its confirmation", () => {
    const [first, question] = initiator<number, string>("payment", 4);
    expect(question).toEqual([
      { type: "mail", message: { type: "initiate", protocol: "payment", window: 4 } },
    ]);
    expect(responder<number, string>(8, 4)[1]).toEqual([
      { type: "mail", message: { type: "confirm", window: 8 } },
    ]);
    const [state, effects] = run(
      first,
      arrived({ type: "confirm", window: 8 }),
      arrived({ type: "confirm", window: 8 }),
    );
    expect(effects).toEqual([{ type: "opened" }]);
    expect(state).toMatchObject({ phase: "open", allowed: 8 });
  });

  it("sends nothing before it is confirmed, and then all in order", () => {
    const [waiting, none] = run(asking(), { type: "send", value: 1 }, { type: "send", value: 2 });
    expect(none).toEqual([]);
    const [, effects] = run(waiting, arrived({ type: "confirm", window: 4 }));
    expect(effects.map((effect) => (effect.type === "mail" ? effect.message : effect.type))).toEqual([
      "opened",
      { type: "data", number: 0, value: 1 },
      "sent",
      { type: "data", number: 1, value: 2 },
      "sent",
    ]);
  });

  it("keeps values that overtake the confirmation", () => {
    const [, effects] = run(asking(), data(0), { type: "receive" }, arrived({ type: "confirm", window: 4 }));
    expect(effects.map(({ type }) => type)).toEqual(["received", "opened"]);
  });

  it("that no flow answers is rejected, once [U20]", () => {
    const why = "no flow answers payment";
    const [state, effects] = run(
      asking(),
      arrived({ type: "reject", why }),
      arrived({ type: "confirm", window: 4 }),
    );
    expect(effects).toEqual([{ type: "failed", of: "open", ending: { type: "rejected", why } }]);
    expect(isOver(state)).toBe(true);
    const later = run(state, { type: "send", value: 1 }, { type: "receive" })[1];
    expect(later).toEqual(["send", "receive"].map((of) => ({ type: "failed", of, ending: undefined })));
  });

  it("holds up a sender where the window ends, and lets it go on when half of the window is read [U22]", () => {
    let [a, sent] = run(open(), ...[0, 1, 2, 3, 4].map((value): Event => ({ type: "send", value })));
    expect(sent.filter(({ type }) => type === "sent")).toHaveLength(4);
    const [b] = run(open(), data(0), data(1), data(2), data(3));
    const [, effects] = run(b, { type: "receive" }, { type: "receive" });
    const grant = { type: "mail", message: { type: "grant", below: 6 } };
    expect(effects.filter(({ type }) => type === "mail")).toEqual([grant]);
    [a, sent] = run(a, arrived({ type: "grant", below: 6 }));
    expect(sent.map(({ type }) => type)).toEqual(["mail", "sent"]);
    expect(a.outbox).toEqual([]);
  });

  it("ends when a peer sends more than it may [U22]", () => {
    const [, effects] = run(open(), data(4), { type: "receive" });
    const ending = { type: "violated", what: "value 4 came where 4 were granted" };
    expect(effects).toEqual([{ type: "failed", of: "receive", ending }]);
  });

  it("gives a receive that gave up nothing, and its value to the next one [U23]", () => {
    const [, effects] = run(open(), { type: "receive" }, { type: "give-up" }, data(0));
    expect(effects).toEqual([]);
    const [, later] = run(open(), { type: "receive" }, { type: "give-up" }, data(0), { type: "receive" });
    expect(received(later)).toEqual([0]);
  });
});

describe("a peer that leaves", () => {
  const error = arrived({ type: "error", error: "card declined" });
  const ending = { type: "error", error: "card declined" };

  it("by an error: the values before it come first, then the error once, then nothing more [U19]", () => {
    const receive = { type: "receive" } as const;
    const [, effects] = run(open(), data(0), error, error, receive, receive, receive, {
      type: "send",
      value: 1,
    });
    expect(received(effects)).toEqual([0]);
    expect(failures(effects)).toEqual([
      { type: "failed", of: "receive", ending },
      { type: "failed", of: "receive", ending: undefined },
      { type: "failed", of: "send", ending: undefined },
    ]);
  });

  it("by an error: a send fails too, and a wait of the code ends at once [U19]", () => {
    expect(run(open(), error, { type: "send", value: 1 })[1]).toEqual([
      { type: "failed", of: "send", ending },
    ]);
    expect(run(open(), { type: "receive" }, error)[1]).toEqual([{ type: "failed", of: "receive", ending }]);
    const [full] = run(
      open(4, 0),
      { type: "send", value: 1 },
      { type: "send", value: 2 },
      { type: "receive" },
    );
    expect(run(full, error)[1]).toEqual([
      { type: "failed", of: "send", ending },
      { type: "failed", of: "send", ending: undefined },
      { type: "failed", of: "receive", ending: undefined },
    ]);
  });

  it("by its end: values that are still on their way come first [U21]", () => {
    const receive = { type: "receive" } as const;
    const end = arrived({ type: "end", count: 2 });
    const [state, early] = run(open(), data(1), end, receive);
    expect(early).toEqual([]);
    const [, effects] = run(state, data(0), receive, receive);
    expect(received(effects)).toEqual([0, 1]);
    expect(failures(effects)).toEqual([{ type: "failed", of: "receive", ending: { type: "ended" } }]);
  });
});

describe("a session that is closed", () => {
  it("tells the peer how many values there were, takes no more, and ends the waits of its code [U21]", () => {
    const [full] = run(
      open(4, 1),
      { type: "send", value: 1 },
      { type: "send", value: 2 },
      { type: "receive" },
    );
    const [state, effects] = run(full, { type: "close" }, { type: "close" }, data(0), { type: "receive" });
    expect(effects).toEqual([
      { type: "mail", message: { type: "end", count: 1 } },
      { type: "failed", of: "send", ending: undefined },
      { type: "failed", of: "receive", ending: undefined },
      { type: "failed", of: "receive", ending: undefined },
    ]);
    expect(isOver(state)).toBe(true);
  });

  it("says nothing to a peer that has left", () => {
    expect(run(open(), arrived({ type: "end", count: 0 }), { type: "close" })[1]).toEqual([]);
  });
});

/** What the code of one side has seen. */
interface Side {
  state: State;
  readonly sent: number[];
  readonly received: number[];
  /** Sends that wait. */
  waiting: number;
  told: string[];
  mail: Message[];
}

function side([state, effects]: readonly [State, readonly Effect[]]): Side {
  const one: Side = { state, sent: [], received: [], waiting: 0, told: [], mail: [] };
  see(one, effects);
  return one;
}

function see(one: Side, effects: readonly Effect[]): void {
  for (const effect of effects) {
    if (effect.type === "mail") one.mail.push(effect.message);
    else if (effect.type === "received") one.received.push(effect.value);
    else if (effect.type === "sent") one.waiting--;
    else if (effect.type === "failed") {
      if (effect.of === "send") one.waiting--;
      if (effect.ending !== undefined) one.told.push(effect.ending.type);
    }
  }
}

function act(one: Side, event: Event): void {
  if (event.type === "send") {
    one.waiting++;
    one.sent.push(event.value);
  }
  const [state, effects] = decide(one.state, event);
  one.state = state;
  see(one, effects);
  expect(state.unread.length + state.early.size).toBeLessThanOrEqual(state.window);
}

/** The two sides of a session, and for each the mail that may arrive: any of it, in any order, and again. */
class Pair {
  readonly sides: readonly [Side, Side];
  /** Mail to each side that has not arrived yet, and all that was ever sent to it. */
  readonly onTheWay: [Message[], Message[]] = [[], []];
  readonly ever: [Message[], Message[]] = [[], []];
  constructor(windows: readonly [number, number]) {
    this.sides = [side(initiator("payment", windows[0])), side(responder(windows[1], windows[0]))];
    this.collect();
  }
  collect(): void {
    for (const i of [0, 1] as const) {
      const mail = this.sides[i].mail.splice(0);
      this.onTheWay[1 - i]?.push(...mail);
      this.ever[1 - i]?.push(...mail);
    }
  }
  act(i: 0 | 1, event: Event): void {
    act(this.sides[i], event);
    this.collect();
  }
  /** Delivers a message to side `i`: a new one, or one of all a second time. */
  deliver(i: 0 | 1, pick: number, again: boolean): void {
    const from = again ? this.ever[i] : this.onTheWay[i];
    if (from.length === 0) return;
    const at = pick % from.length;
    const message = from[at] as Message;
    if (!again) from.splice(at, 1);
    this.act(i, arrived(message));
  }
}

type Move = readonly [side: 0 | 1, what: "send" | "receive" | "deliver" | "again" | "give-up", pick: number];

const moves = fc.array(
  fc.tuple(
    fc.constantFrom(0 as const, 1 as const),
    fc.constantFrom("send", "receive", "deliver", "deliver", "deliver", "again", "give-up" as const),
    fc.nat(1_000),
  ),
  { maxLength: 150 },
) as fc.Arbitrary<Move[]>;
const windows = fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 5 }));

function play(pair: Pair, list: readonly Move[]): void {
  let value = 0;
  for (const [i, what, pick] of list) {
    if (what === "send") pair.act(i, { type: "send", value: value++ });
    else if (what === "receive" || what === "give-up") pair.act(i, { type: what });
    else pair.deliver(i, pick, what === "again");
  }
}

/** Everything arrives, in the order it is in, and both sides read all they can. */
function settle(pair: Pair): void {
  for (let quiet = 0; quiet < 3; quiet++) {
    for (const i of [0, 1] as const) {
      while (pair.onTheWay[i].length > 0) {
        pair.deliver(i, 0, false);
        quiet = 0;
      }
      const before = pair.sides[i].received.length;
      if (!pair.sides[i].state.receiving) pair.act(i, { type: "receive" });
      if (pair.sides[i].received.length > before) quiet = 0;
    }
  }
}

describe("over a channel that delays, repeats and reorders", () => {
  it("each value arrives once and in order, in both directions, and no sender waits for ever [U18]", () => {
    fc.assert(
      fc.property(windows, moves, (sizes, list) => {
        const pair = new Pair(sizes);
        play(pair, list);
        for (const i of [0, 1] as const) {
          const values = pair.sides[1 - i]?.sent.slice(0, pair.sides[i].received.length);
          expect(pair.sides[i].received).toEqual(values);
        }
        settle(pair);
        for (const i of [0, 1] as const) {
          expect(pair.sides[i].received).toEqual(pair.sides[1 - i]?.sent);
          expect(pair.sides[i]).toMatchObject({ waiting: 0, told: [] });
        }
      }),
      { numRuns: sized(80) },
    );
  });

  it("an error reaches the other side once, behind a prefix of the values, and no wait is left [U19]", () => {
    fc.assert(
      fc.property(windows, moves, moves, (sizes, before, after) => {
        const pair = new Pair(sizes);
        play(pair, before);
        pair.onTheWay[0].push({ type: "error", error: "killed" });
        pair.ever[0].push({ type: "error", error: "killed" });
        play(
          pair,
          after.filter(([i, what]) => i === 0 || what === "again"),
        );
        settle(pair);
        const [left, gone] = pair.sides;
        expect(left.told).toEqual(["error"]);
        expect(left.waiting).toBe(0);
        expect(left.received).toEqual(gone.sent.slice(0, left.received.length));
      }),
      { numRuns: sized(80) },
    );
  });

  it("the end of one side reaches the other once, behind all values [U21]", () => {
    fc.assert(
      fc.property(windows, moves, moves, (sizes, before, after) => {
        const pair = new Pair(sizes);
        play(pair, before);
        const sent = pair.sides[1].state.sent;
        pair.act(1, { type: "close" });
        play(
          pair,
          after.filter(([i]) => i === 0),
        );
        settle(pair);
        expect(pair.sides[0].received).toEqual(pair.sides[1].sent.slice(0, sent));
        expect(pair.sides[0]).toMatchObject({ told: ["ended"], waiting: 0 });
        expect(pair.sides[1].waiting).toBe(0);
      }),
      { numRuns: sized(80) },
    );
  });
});
