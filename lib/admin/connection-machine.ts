// One connection to an admin socket as a pure state machine: one request at a time, each with a limit, and none that can hold the
// host: neither by long requests nor by unread answers.

export interface Limits {
  /** How many milliseconds a connection may be without a request. */
  readonly idleMs: number;
  /** How many milliseconds a request may take. */
  readonly requestMs: number;
  /** How many milliseconds the client may take to read an answer. */
  readonly readMs: number;
  /** How many requests may wait behind the one that is carried out. */
  readonly waiting: number;
}

export interface State {
  readonly limits: Limits;
  readonly phase: "idle" | "working" | "writing" | "closing" | "closed";
  /** Requests that wait, the oldest first. */
  readonly waiting: readonly string[];
  /** The number of the request that is carried out. Answers of others are late, and dropped. */
  readonly turn: number;
  /** The client sends no more, or may not: the connection ends with the last answer. */
  readonly ends: boolean;
}

export type Event =
  /** `undefined`: a request was too long. */
  | { readonly type: "received"; readonly lines: readonly string[] | undefined }
  | { readonly type: "answered"; readonly turn: number; readonly line: string }
  /** The client has read the answer, as far as the host can know. */
  | { readonly type: "written" }
  | { readonly type: "expired" }
  /** The client has sent all it wants to send. */
  | { readonly type: "half-closed" }
  | { readonly type: "gone" };

export type Effect =
  | { readonly type: "perform"; readonly turn: number; readonly line: string }
  /** The request is given up: its operation may stop. */
  | { readonly type: "abandon" }
  | { readonly type: "write"; readonly line: string }
  | { readonly type: "refuse"; readonly problem: Problem }
  | { readonly type: "pause" }
  | { readonly type: "resume" }
  /** Sets the only timer; the one before is cancelled. */
  | { readonly type: "expire"; readonly afterMs: number }
  /** Closes when all that was written is sent. */
  | { readonly type: "end" }
  | { readonly type: "destroy" };

/** Why a request is refused before it is read. */
export type Problem = "too-long" | "too-slow";

export function initial(limits: Limits): readonly [State, readonly Effect[]] {
  return [
    { limits, phase: "idle", waiting: [], turn: 0, ends: false },
    [{ type: "expire", afterMs: limits.idleMs }],
  ];
}

/** The state after `event`, and the effects in their order. */
export function decide(state: State, event: Event): readonly [State, readonly Effect[]] {
  const { phase } = state;
  if (phase === "closed") return [state, []];
  if (phase === "closing") return ["gone", "expired"].includes(event.type) ? destroyed(state) : [state, []];
  switch (event.type) {
    case "received":
      return received(state, event.lines);
    case "answered":
      if (phase !== "working" || event.turn !== state.turn) return [state, []];
      return writing(state, [{ type: "write", line: event.line }]);
    case "written":
      return phase === "writing" ? next({ ...state, phase: "idle" }) : [state, []];
    case "half-closed":
      return phase === "idle" ? ending(state) : [{ ...state, ends: true }, []];
    case "expired":
      if (phase === "idle") return ending(state);
      if (phase === "writing") return destroyed(state);
      return writing(state, [{ type: "abandon" }, { type: "refuse", problem: "too-slow" }]);
    case "gone":
      return destroyed(state);
    default:
      return event satisfies never;
  }
}

function received(state: State, lines: readonly string[] | undefined): readonly [State, readonly Effect[]] {
  // Nothing behind a line that is too long can be understood.
  if (lines === undefined) {
    const last: State = { ...state, waiting: [], ends: true };
    const refused: readonly Effect[] = [{ type: "pause" }, { type: "refuse", problem: "too-long" }];
    if (state.phase === "idle") return writing(last, refused);
    const [then, effects] = ending(last);
    return [then, [...refused, { type: "abandon" }, ...effects]];
  }
  if (state.ends) return [state, []];
  const waiting = [...state.waiting, ...lines.filter((line) => line.trim() !== "")];
  const full = waiting.length > state.limits.waiting;
  const taken: State = { ...state, waiting };
  const effects: readonly Effect[] = full ? [{ type: "pause" }] : [];
  if (state.phase !== "idle") return [taken, effects];
  const [then, more] = next(taken);
  return [then, [...effects, ...more]];
}

/** The next request, or a wait for one. */
function next(state: State): readonly [State, readonly Effect[]] {
  const { limits, ends, turn } = state;
  const [line, ...waiting] = state.waiting;
  if (line === undefined) {
    if (ends) return ending(state);
    return [state, [{ type: "resume" }, { type: "expire", afterMs: limits.idleMs }]];
  }
  return [
    { ...state, phase: "working", waiting, turn: turn + 1 },
    [
      { type: "perform", turn: turn + 1, line },
      { type: "expire", afterMs: limits.requestMs },
    ],
  ];
}

function writing(state: State, effects: readonly Effect[]): readonly [State, readonly Effect[]] {
  return [{ ...state, phase: "writing" }, [...effects, { type: "expire", afterMs: state.limits.readMs }]];
}

/** A client that does not read the rest is cut off. */
function ending(state: State): readonly [State, readonly Effect[]] {
  return [
    { ...state, phase: "closing", waiting: [] },
    [{ type: "end" }, { type: "expire", afterMs: state.limits.readMs }],
  ];
}

function destroyed(state: State): readonly [State, readonly Effect[]] {
  const effects: readonly Effect[] = state.phase === "working" ? [{ type: "abandon" }] : [];
  return [{ ...state, phase: "closed", waiting: [] }, [...effects, { type: "destroy" }]];
}
