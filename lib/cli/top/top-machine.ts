// What `signalbox top` does on a screen, as a pure machine: keys, answers and sizes in, and what to ask and draw out.

import type { Overview } from "../../admin/history/operations.js";
import type { TopProcesses } from "../../admin/system/processes/operations.js";
import type { Key } from "../shell/keys.js";

/** The orders of processes: the highest first. */
export const ORDERS = ["mailbox", "growth", "handled", "busy", "age"] as const;
export type TopOrder = (typeof ORDERS)[number];

/** What is asked for. */
export interface TopQuestion {
  readonly by: TopOrder;
  /** A part of a pid, name, label or kind. Empty: all processes. */
  readonly find: string;
  readonly kind?: string;
  readonly limit: number;
}

/** The answers of the program, which belong together. */
export interface Sample {
  readonly overview: Overview;
  readonly top: TopProcesses;
}

export interface TopConfig extends TopQuestion {
  readonly columns: number;
  readonly rows: number;
  /** Time from an answer to the next question. */
  readonly intervalMs: number;
}

export interface TopState {
  readonly question: TopQuestion;
  readonly intervalMs: number;
  readonly columns: number;
  readonly rows: number;
  /** The text that is typed after `/`. Undefined: none is. */
  readonly typed: string | undefined;
  /** The picture stands still until it is let go. */
  readonly isHeld: boolean;
  /** The first process that is shown. */
  readonly first: number;
  readonly sample: Sample | undefined;
  /** Why the program did not answer the last time. */
  readonly problem: string | undefined;
  readonly isAsking: boolean;
  /** The question has changed since it was asked. */
  readonly isChanged: boolean;
}

export type TopEvent =
  | { readonly type: "begun" }
  | { readonly type: "due" }
  | { readonly type: "answered"; readonly sample: Sample }
  | { readonly type: "failed"; readonly problem: string }
  | { readonly type: "resized"; readonly columns: number; readonly rows: number }
  | { readonly type: "pressed"; readonly key: Key };

export type TopEffect =
  | { readonly type: "ask"; readonly question: TopQuestion }
  /** Sends `due` after so many milliseconds, unless it asks before that. */
  | { readonly type: "later"; readonly ms: number }
  | { readonly type: "draw" }
  | { readonly type: "end" };

type Decision = readonly [TopState, readonly TopEffect[]];

/** Longest text that is searched for. */
const MAX_FIND = 100;
/** Lines above and below the processes: see view.ts. */
export const FRAME_LINES = { above: 8, below: 1 } as const;
const DRAW: TopEffect = { type: "draw" };
/** The letters of the orders. */
export const ORDER_KEYS: Readonly<Record<string, TopOrder>> = {
  m: "mailbox",
  g: "growth",
  h: "handled",
  b: "busy",
  a: "age",
};

export function initial({ columns, rows, intervalMs, ...question }: TopConfig): TopState {
  return {
    ...{ question, intervalMs, columns, rows },
    ...{ typed: undefined, isHeld: false, first: 0, sample: undefined, problem: undefined },
    ...{ isAsking: false, isChanged: false },
  };
}

export function decide(state: TopState, event: TopEvent): Decision {
  switch (event.type) {
    case "begun":
    case "due":
      return state.isHeld || state.isAsking ? [state, []] : ask(state, []);
    case "answered":
      return answered({ ...state, sample: event.sample, problem: undefined });
    case "failed":
      return answered({ ...state, problem: event.problem });
    case "resized":
      return [within({ ...state, columns: event.columns, rows: event.rows }), [DRAW]];
    case "pressed":
      return state.typed === undefined ? commanded(state, event.key) : typed(state, state.typed, event.key);
    default:
      return event satisfies never;
  }
}

/** How many processes the window has room for. */
export function roomOf({ rows }: Pick<TopState, "rows">): number {
  return Math.max(1, rows - FRAME_LINES.above - FRAME_LINES.below);
}

function ask(state: TopState, also: readonly TopEffect[]): Decision {
  return [
    { ...state, isAsking: true, isChanged: false },
    [{ type: "ask", question: state.question }, ...also],
  ];
}

function answered(state: TopState): Decision {
  const now = within({ ...state, isAsking: false });
  // The answer to an earlier question is drawn as well: the answer to this one may take its time.
  if (state.isChanged) return ask(now, [DRAW]);
  return [now, state.isHeld ? [DRAW] : [DRAW, { type: "later", ms: state.intervalMs }]];
}

/** With another question, which is asked at once, or after the answer that is on its way. */
function changed(state: TopState, change: Partial<TopQuestion>): Decision {
  const question = { ...state.question, ...change };
  const now: TopState = { ...state, question, first: 0, isHeld: false };
  return state.isAsking ? [{ ...now, isChanged: true }, [DRAW]] : ask(now, [DRAW]);
}

/** A key outside of a search. */
function commanded(state: TopState, key: Key): Decision {
  const room = roomOf(state);
  const to = (first: number): Decision => [within({ ...state, first }), [DRAW]];
  switch (key.key) {
    case "interrupt":
      return [state, [{ type: "end" }]];
    case "up":
      return to(state.first - 1);
    case "down":
      return to(state.first + 1);
    case "pageUp":
      return to(state.first - room);
    case "pageDown":
      return to(state.first + room);
    case "home":
      return to(0);
    case "end":
      return to(Number.MAX_SAFE_INTEGER);
    case "escape":
      return state.question.find === "" ? [state, []] : changed(state, { find: "" });
    case "enter":
    case "backspace":
      return [state, []];
    case "text":
      return lettered(state, key.text);
    default:
      return key satisfies never;
  }
}

function lettered(state: TopState, letter: string): Decision {
  const by = Object.hasOwn(ORDER_KEYS, letter) ? ORDER_KEYS[letter] : undefined;
  if (by !== undefined) return changed(state, { by });
  if (letter === "q") return [state, [{ type: "end" }]];
  if (letter === "/") return [{ ...state, typed: state.question.find }, [DRAW]];
  if (letter !== " ") return [state, []];
  const now = { ...state, isHeld: !state.isHeld };
  return now.isHeld || now.isAsking ? [now, [DRAW]] : ask(now, [DRAW]);
}

/** A key while a search is typed. */
function typed(state: TopState, text: string, key: Key): Decision {
  const with_ = (next: string | undefined): Decision => [{ ...state, typed: next }, [DRAW]];
  switch (key.key) {
    case "interrupt":
      return [state, [{ type: "end" }]];
    case "escape":
      return with_(undefined);
    case "enter":
      return changed({ ...state, typed: undefined }, { find: text });
    case "backspace":
      return with_([...text].slice(0, -1).join(""));
    case "text":
      return with_([...text, key.text].slice(0, MAX_FIND).join(""));
    default:
      return [state, []];
  }
}

/** Never beyond the last process. */
function within(state: TopState): TopState {
  const last = Math.max(0, (state.sample?.top.processes.length ?? 0) - roomOf(state));
  return { ...state, first: Math.min(Math.max(0, state.first), last) };
}
