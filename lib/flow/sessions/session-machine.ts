// One side of a session between two flows, as a pure machine, after Corda's sessions: initiate, confirm, data, error, reject, end.
//
//   initiating ──confirm──▶ open ──close──▶ closed     nothing is sent or received any more
//       │                    │
//       └──reject──┬─────────┴── end, error            the peer has left: unread values come first, then one throw
//                  ▼
//               `ending`
//
// Values have numbers, so a value that arrives twice or early does no harm. Each side grants the other a window of values, and a
// sender waits where the window ends, so the unread values of a session are bounded. No value is sent before the confirmation.
//
// The machine has no acknowledgements: mail is durable, and arrives at last. Its state is a function of its events, which a replay
// of the flow repeats.

import type { SessionMessage } from "./messages.js";

/** How the peer left. */
export type Ending<E> =
  /** It closed the session, or its flow ended. */
  | { readonly type: "ended" }
  /** Its flow failed or was killed. */
  | { readonly type: "error"; readonly error: E }
  /** No flow answers. */
  | { readonly type: "rejected"; readonly why: string }
  /** It sent more than it may. */
  | { readonly type: "violated"; readonly what: string };

export interface SessionState<V, E> {
  readonly phase: "initiating" | "open" | "closed";
  /** Most unread values. */
  readonly window: number;
  /** How many values were sent. */
  readonly sent: number;
  /** Below which number the peer takes values. */
  readonly allowed: number;
  /** Values that the peer does not take yet, in order. The code that sends them waits. */
  readonly outbox: readonly V[];
  /** The number of the next value to take. */
  readonly expected: number;
  /** Values that came before their turn, by number. */
  readonly early: ReadonlyMap<number, V>;
  readonly unread: readonly V[];
  /** Below which number this side takes values. */
  readonly granted: number;
  readonly ending: Ending<E> | undefined;
  /** The peer left after this many values. Undefined: after those that have arrived. */
  readonly endsAfter: number | undefined;
  /** The code has been notified how the peer left. */
  readonly told: boolean;
  /** The code waits in `receive`. */
  readonly receiving: boolean;
}

export type SessionEvent<V, E> =
  | { readonly type: "arrived"; readonly message: SessionMessage<V, E> }
  /** The code sends a value, and waits for `sent` or `failed`. Several sends may wait; they go on in their order. */
  | { readonly type: "send"; readonly value: V }
  /** The code waits for `received` or `failed`, or gives up. One receive may wait at a time. */
  | { readonly type: "receive" }
  | { readonly type: "give-up" }
  | { readonly type: "close" };

export type SessionEffect<V, E> =
  | { readonly type: "mail"; readonly message: SessionMessage<V, E> }
  | { readonly type: "opened" }
  | { readonly type: "sent" }
  | { readonly type: "received"; readonly value: V }
  /** A wait of the code ends with an error. `ending` undefined: an earlier error told the code why the session is over. */
  | {
      readonly type: "failed";
      readonly of: "open" | "send" | "receive";
      readonly ending: Ending<E> | undefined;
    };

type Decision<V, E> = readonly [SessionState<V, E>, readonly SessionEffect<V, E>[]];
type Effects<V, E> = SessionEffect<V, E>[];

/** The side that asks, with its first message. */
export function initiator<V, E>(protocol: string, window: number): Decision<V, E> {
  return [
    initial("initiating", window, 0),
    [{ type: "mail", message: { type: "initiate", protocol, window } }],
  ];
}

/** The side that answers a message `initiate`, which grants `allowed` values, with its first message. */
export function responder<V, E>(window: number, allowed: number): Decision<V, E> {
  return [initial("open", window, allowed), [{ type: "mail", message: { type: "confirm", window } }]];
}

function initial<V, E>(phase: "initiating" | "open", window: number, allowed: number): SessionState<V, E> {
  return {
    phase,
    window,
    sent: 0,
    allowed,
    outbox: [],
    expected: 0,
    early: new Map(),
    unread: [],
    granted: window,
    ending: undefined,
    endsAfter: undefined,
    told: false,
    receiving: false,
  };
}

export function decide<V, E>(state: SessionState<V, E>, event: SessionEvent<V, E>): Decision<V, E> {
  const effects: Effects<V, E> = [];
  switch (event.type) {
    case "arrived":
      return [state.phase === "closed" ? state : arrived(state, event.message, effects), effects];
    case "send":
      return [send(state, event.value, effects), effects];
    case "receive":
      return [deliver({ ...state, receiving: true }, effects), effects];
    case "give-up":
      return [{ ...state, receiving: false }, effects];
    case "close":
      return [close(state, effects), effects];
    default:
      return event satisfies never;
  }
}

/** The code can neither send nor receive: it closed the session, or was told that the peer has left. */
export function isOver<V, E>({ phase, told, unread }: SessionState<V, E>): boolean {
  return phase === "closed" || (told && unread.length === 0);
}

// ── what arrives ──────────────────────────────────────────────────────────────────────────────────────────────────

function arrived<V, E>(
  state: SessionState<V, E>,
  message: SessionMessage<V, E>,
  effects: Effects<V, E>,
): SessionState<V, E> {
  switch (message.type) {
    case "initiate":
      // Answered before: the mail came twice.
      return state;
    case "confirm":
      return open(state, message.window, effects);
    case "reject":
      return state.phase === "open" ? state : left(state, { type: "rejected", why: message.why }, 0, effects);
    case "data":
      return data(state, message.number, message.value, effects);
    case "grant":
      return flush({ ...state, allowed: Math.max(state.allowed, message.below) }, effects);
    case "end":
      return left(state, { type: "ended" }, message.count, effects);
    case "error":
      return left(state, { type: "error", error: message.error }, undefined, effects);
    default:
      return message satisfies never;
  }
}

function open<V, E>(state: SessionState<V, E>, window: number, effects: Effects<V, E>): SessionState<V, E> {
  if (state.phase !== "initiating" || state.ending !== undefined) return state;
  effects.push({ type: "opened" });
  return flush({ ...state, phase: "open", allowed: Math.max(state.allowed, window) }, effects);
}

/** Takes a value: in its turn, early, or not at all if it was taken before. */
function data<V, E>(
  state: SessionState<V, E>,
  number: number,
  value: V,
  effects: Effects<V, E>,
): SessionState<V, E> {
  if (number < state.expected || isCut(state, number)) return state;
  if (number >= state.granted) {
    const what = `value ${number} came where ${state.granted} were granted`;
    return left(state, { type: "violated", what }, undefined, effects);
  }
  const early = new Map(state.early).set(number, value);
  const unread = [...state.unread];
  let { expected } = state;
  for (; early.has(expected); expected++) {
    unread.push(early.get(expected) as V);
    early.delete(expected);
  }
  return deliver({ ...state, early, unread, expected }, effects);
}

/** The peer has left in such a way that this value does not count. */
function isCut<V, E>({ ending, endsAfter }: SessionState<V, E>, number: number): boolean {
  return ending !== undefined && (endsAfter === undefined || number >= endsAfter);
}

/** The peer has left. The first word about it counts. */
function left<V, E>(
  state: SessionState<V, E>,
  ending: Ending<E>,
  endsAfter: number | undefined,
  effects: Effects<V, E>,
): SessionState<V, E> {
  if (state.ending !== undefined) return state;
  const early = endsAfter === undefined ? new Map<number, V>() : state.early;
  let next: SessionState<V, E> = { ...state, ending, endsAfter, early };
  if (state.phase === "initiating") next = fail(next, "open", effects);
  return deliver(failSends(next, effects), effects);
}

// ── what the code does ────────────────────────────────────────────────────────────────────────────────────────────

function send<V, E>(state: SessionState<V, E>, value: V, effects: Effects<V, E>): SessionState<V, E> {
  if (state.phase === "closed" || state.ending !== undefined) return fail(state, "send", effects);
  return flush({ ...state, outbox: [...state.outbox, value] }, effects);
}

/** Sends what the peer takes. */
function flush<V, E>(state: SessionState<V, E>, effects: Effects<V, E>): SessionState<V, E> {
  if (state.phase !== "open" || state.ending !== undefined) return state;
  const now = Math.min(state.outbox.length, Math.max(0, state.allowed - state.sent));
  for (const [i, value] of state.outbox.slice(0, now).entries()) {
    effects.push({ type: "mail", message: { type: "data", number: state.sent + i, value } });
    effects.push({ type: "sent" });
  }
  return { ...state, sent: state.sent + now, outbox: state.outbox.slice(now) };
}

/** Gives the waiting code its next value, or tells it that the peer has left. */
function deliver<V, E>(state: SessionState<V, E>, effects: Effects<V, E>): SessionState<V, E> {
  if (!state.receiving) return state;
  if (state.unread.length > 0) {
    const [value, ...unread] = state.unread;
    effects.push({ type: "received", value: value as V });
    return grant({ ...state, unread, receiving: false }, effects);
  }
  const isLast = state.endsAfter === undefined || state.expected >= state.endsAfter;
  const isAtEnd = state.phase === "closed" || (state.ending !== undefined && isLast);
  return isAtEnd ? fail({ ...state, receiving: false }, "receive", effects) : state;
}

/** Grants the peer more once half of the window is read: a grant for each value would double the mail. */
function grant<V, E>(state: SessionState<V, E>, effects: Effects<V, E>): SessionState<V, E> {
  const below = state.expected - state.unread.length + state.window;
  if (state.ending !== undefined || below - state.granted < state.window / 2) return state;
  effects.push({ type: "mail", message: { type: "grant", below } });
  return { ...state, granted: below };
}

/** Fails a wait of the code. The first wait that fails says how the peer left. */
function fail<V, E>(
  state: SessionState<V, E>,
  of: "open" | "send" | "receive",
  effects: Effects<V, E>,
): SessionState<V, E> {
  effects.push({ type: "failed", of, ending: state.told ? undefined : state.ending });
  return state.ending === undefined ? state : { ...state, told: true };
}

function failSends<V, E>(state: SessionState<V, E>, effects: Effects<V, E>): SessionState<V, E> {
  return state.outbox.reduce((next) => fail(next, "send", effects), { ...state, outbox: [] } as SessionState<
    V,
    E
  >);
}

function close<V, E>(state: SessionState<V, E>, effects: Effects<V, E>): SessionState<V, E> {
  if (state.phase === "closed") return state;
  if (state.ending === undefined) effects.push({ type: "mail", message: { type: "end", count: state.sent } });
  const closed = { ...state, phase: "closed" as const, early: new Map<number, V>(), unread: [], told: true };
  return deliver(failSends(closed, effects), effects);
}
