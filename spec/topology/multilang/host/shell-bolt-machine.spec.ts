// The machine of a shell bolt against a model that remembers every event, and works each answer out from that history.

import { test as check, fc } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import {
  decide,
  type Effect,
  type Event,
  initial,
  MAX_EARLY_MESSAGES,
  type State,
} from "../../../../lib/topology/multilang/host/shell-bolt-machine.js";
import type { EmitMessage } from "../../../../lib/topology/multilang/protocol/component-messages.js";
import { sized } from "../../../support/proof.js";

const MAX_HELD = 3;
const config = { maxHeld: MAX_HELD, timeoutMs: 500 };

const emitOf = (anchors: readonly string[]): EmitMessage => ({
  type: "emit",
  values: [],
  stream: undefined,
  id: undefined,
  anchors,
  task: undefined,
  needTaskIds: false,
});

/** Tuples are named by the order in which they are given: `t1` is the first, whether or not ticks came between. */
const ids = fc.constantFrom("1", "2", "3", "4", "5", "0", "01", "x");
const events: fc.Arbitrary<Event<string>> = fc.oneof(
  fc.constant({ type: "attached" } as const),
  fc.record({ type: fc.constant("given" as const), tuple: fc.constantFrom("tuple", "tuple", undefined) }),
  fc.constantFrom(
    { type: "sent", isWritable: true } as const,
    { type: "sent", isWritable: true } as const,
    { type: "sent", isWritable: false } as const,
  ),
  fc.constant({ type: "drained" } as const),
  fc.record({
    type: fc.constant("message" as const),
    message: fc.oneof(
      fc.record({ type: fc.constantFrom("ack" as const, "fail" as const), id: ids }),
      fc.array(ids, { maxLength: 2 }).map(emitOf),
      fc.constant({ type: "sync" } as const),
    ),
  }),
  fc.constantFrom({ type: "heartbeat-due" } as const, { type: "heartbeat-overdue" } as const),
);

/** What the machine has to answer, from everything that happened before: no state is carried from event to event. */
class History {
  readonly #past: Event<string>[] = [];

  answer(event: Event<string>): readonly Effect<string>[] {
    const past = [...this.#past];
    this.#past.push(event);
    switch (event.type) {
      case "given":
        return [{ type: "send", id: String(given(past).length + 1), tuple: event.tuple }];
      case "attached":
        if (isAttached(past)) return [];
        // As if every message had come only now, one after the other.
        return early(past).flatMap((message, index, all) =>
          this.#toMessage([...withoutEarly(past), event, ...all.slice(0, index)], message),
        );
      case "message":
        return isAttached(past) || event.message.type === "sync" ? this.#toMessage(past, event) : [];
      case "drained":
        return isBlocked(past) && held(past).length < MAX_HELD ? [{ type: "resume" }] : [];
      case "heartbeat-due":
        return isUnanswered(past)
          ? [{ type: "schedule-heartbeat" }]
          : [{ type: "schedule-heartbeat" }, { type: "send-heartbeat" }];
      case "heartbeat-overdue":
        return [{ type: "crash", problem: "timeout", text: "did not answer a heartbeat within 500 ms" }];
      default:
        return [];
    }
  }

  get blocked(): boolean {
    return isBlocked(this.#past);
  }

  #toMessage(past: readonly Event<string>[], event: Event<string>): readonly Effect<string>[] {
    const { message } = event as Extract<Event<string>, { type: "message" }>;
    if (message.type === "sync") return isUnanswered(past) ? [{ type: "heartbeat-answered" }] : [];
    const open = held(past);
    const crash = (did: string, id: string): readonly Effect<string>[] => {
      const wasGiven = given(past).some((_event, index) => String(index + 1) === id);
      const why = wasGiven ? "it had acked or failed before" : "it was never given";
      const text = `${did} tuple "${id}", which ${why}`;
      return [{ type: "crash", problem: "settled", text }];
    };
    if (message.type === "emit") {
      const unknown = message.anchors.find((id) => !open.some((one) => one.id === id));
      if (unknown !== undefined) return crash("anchored to", String(unknown));
      const anchors = message.anchors.flatMap((id) => open.find((one) => one.id === id)?.tuple ?? []);
      return [{ type: "emit", message, anchors }];
    }
    const own = open.find((one) => one.id === message.id);
    if (own === undefined) return crash(`${message.type}ed`, String(message.id));
    const settled: readonly Effect<string>[] =
      own.tuple === undefined ? [] : [{ type: message.type, tuple: own.tuple }];
    const freed = isBlocked(past) && !isFull(past) && open.length - 1 < MAX_HELD;
    return freed ? [...settled, { type: "resume" }] : settled;
  }
}

type Past = readonly Event<string>[];

const given = (past: Past) => past.filter((event) => event.type === "given");
const isAttached = (past: Past) => past.some((event) => event.type === "attached");
const attachedAt = (past: Past) => past.findIndex((event) => event.type === "attached");
const isEarly = (event: Event<string>, index: number, past: Past) =>
  event.type === "message" &&
  event.message.type !== "sync" &&
  (attachedAt(past) < 0 || index < attachedAt(past));
const early = (past: Past) => past.filter(isEarly);
const withoutEarly = (past: Past) => past.filter((event, index) => !isEarly(event, index, past));

/** The order in which the machine acted on the events: early messages when the task was attached. */
function acted(past: Past): Past {
  const at = attachedAt(past);
  if (at < 0) return withoutEarly(past);
  return [
    ...withoutEarly(past.slice(0, at)),
    past[at] as Event<string>,
    ...early(past),
    ...past.slice(at + 1),
  ];
}

/** Given, and not settled since. */
function held(past: Past): readonly { readonly id: string; readonly tuple: string | undefined }[] {
  const order = acted(past);
  const all = given(order).map((event, index) => ({
    id: String(index + 1),
    tuple: (event as Extract<Event<string>, { type: "given" }>).tuple,
    from: order.indexOf(event),
  }));
  const settles = (event: Event<string>, id: string) =>
    event.type === "message" &&
    (event.message.type === "ack" || event.message.type === "fail") &&
    event.message.id === id;
  return all.filter(({ id, from }) => !order.slice(from).some((event) => settles(event, id)));
}

/** The last word about the input was that it is full. */
function isFull(past: Past): boolean {
  const last = past.findLast((event) => event.type === "sent" || event.type === "drained");
  return last?.type === "sent" && !last.isWritable;
}

/** The last tuple was sent without room for another, and there has been no room since. */
function isBlocked(past: Past): boolean {
  const order = acted(past);
  const at = order.findLastIndex((event) => event.type === "sent");
  if (at < 0) return false;
  return order.slice(at).every((_event, index) => {
    const until = order.slice(0, at + index + 1);
    return isFull(until) || held(until).length >= MAX_HELD;
  });
}

/** A heartbeat was sent, and no `sync` came since. */
function isUnanswered(past: Past): boolean {
  const answer = past.findLastIndex((event) => event.type === "message" && event.message.type === "sync");
  return past.slice(answer + 1).some((event) => event.type === "heartbeat-due");
}

describe("the machine of a shell bolt", () => {
  check.prop([fc.array(events, { maxLength: 40 })], { numRuns: sized(600, 1 / 5, 2_000) })(
    "answers each event as the whole history says",
    (all) => {
      let state: State<string> = initial(config);
      const history = new History();
      let next = 0;
      for (const raw of all) {
        const event = raw.type === "given" && raw.tuple !== undefined ? { ...raw, tuple: `t${++next}` } : raw;
        const expected = history.answer(event);
        const [after, effects] = decide(state, event);
        expect(effects).toEqual(expected);
        state = after;
        // A crash is the last thing that a machine decides.
        if (effects.some((effect) => effect.type === "crash")) return;
        expect(state.isBlocked).toBe(history.blocked);
      }
    },
  );

  check.prop([fc.array(events, { maxLength: 40 })])("decides the same for the same events", (all) => {
    const run = (): unknown[] => {
      let state: State<string> = initial(config);
      return all.map((event) => {
        const [next, effects] = decide(state, event);
        state = next;
        return effects;
      });
    };
    expect(run()).toEqual(run());
  });

  test("holds no tuple that could not be sent, and refuses the tuple", () => {
    const error = new Error("no JSON");
    let state: State<string> = initial(config);
    [state] = decide(state, { type: "given", tuple: "a" });
    const [after, effects] = decide(state, { type: "unsendable", id: "1", error });
    expect(effects).toEqual([{ type: "refuse", tuple: "a", error }]);
    expect([after.held.size, after.isBlocked]).toEqual([0, false]);
  });

  test("keeps a limited number of messages until the task is attached", () => {
    let state: State<string> = initial(config);
    const message = { type: "message", message: emitOf([]) } as const;
    for (let count = 0; count < MAX_EARLY_MESSAGES; count++) {
      const [next, effects] = decide(state, message);
      expect(effects).toEqual([]);
      state = next;
    }
    expect(decide(state, message)[1]).toEqual([
      { type: "crash", problem: "limit", text: "sent 1000 messages before it was given anything" },
    ]);
    expect(decide(state, { type: "attached" })[1]).toHaveLength(MAX_EARLY_MESSAGES);
  });
});
