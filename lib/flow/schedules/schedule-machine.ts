// A schedule as a pure machine: which flows start now, under which ids, and when to look again.
//
//   judged ───────── due ───────── now          every due time up to `judged` is settled: started or skipped
//        (settled)     │ tick: start `name/due`, or skip by rule; judged = now; due = the first due time after it
//
// Due times follow from the recurrence, from the last due time that started a flow, and from the clock of the store, and from nothing
// else. A clock that jumps back to before `judged` opens again what was skipped in the jump, but never what started: `fired` only
// grows. So a due time starts at most one flow, whatever clocks do.

import { hash } from "../../process/stable-hash.js";
import { timeText } from "./calendar.js";
import { latest, type Recurrence } from "./recurrence.js";

/** What becomes of due times that passed while no host looked: none, the last, or all (up to `backfill`) start a flow. */
export type MissedRule = "skip" | "last" | "all";
/** What a due time does while the flow of the one before runs: start beside it, not start, or cancel it and start. */
export type OverlapRule = "allow" | "skip" | "cancel";

/** The rules of one schedule. */
export interface ScheduleConfig {
  readonly name: string;
  readonly recurrence: Recurrence;
  readonly missed: MissedRule;
  readonly overlap: OverlapRule;
  /** A due time counts as missed when it is looked at more than this many milliseconds late. */
  readonly graceMs: number;
  /** Flows start up to this many milliseconds after their due time, always the same for the same due time. */
  readonly jitterMs: number;
  /** Most flows that `all` starts at once; due times before these are skipped. */
  readonly backfill: number;
}

/** The durable state of a schedule. Times are milliseconds since 1970 by the clock of the store. */
export interface ScheduleState {
  /** The last due time that started a flow. */
  readonly fired: number | null;
  /** All due times up to here are settled. */
  readonly judged: number;
  /** The next due time, and when its flow starts: later by its jitter. Null: no further one, or paused. */
  readonly due: number | null;
  readonly wake: number | null;
  readonly paused: boolean;
  /** The id of the flow that was started last. */
  readonly last: string | null;
}

export type ScheduleEvent =
  /** The clock of the store shows `now`. `busy`: the flow that was started last has not ended. */
  | { readonly type: "tick"; readonly now: number; readonly busy: boolean }
  /** Somebody asks for a flow beside the due times. `id` is unique for this request. */
  | { readonly type: "trigger"; readonly id: string; readonly due: number }
  | { readonly type: "pause" }
  /** What was due during the pause is skipped. */
  | { readonly type: "resume"; readonly now: number }
  /** The definition has another recurrence now: `config` is the new one. What was due before is skipped. */
  | { readonly type: "redefined"; readonly now: number };

export type ScheduleEffect =
  /** Starts a flow under this id, unless there is one. `due` is a time since 1970. */
  | { readonly type: "start"; readonly id: string; readonly due: number }
  | { readonly type: "cancel"; readonly id: string }
  /** Due times started nothing. `from` is the first that is known, `more`: there are earlier ones. */
  | {
      readonly type: "skipped";
      readonly why: "missed" | "overlap";
      readonly times: readonly number[];
      readonly more: boolean;
    };

type Decision = readonly [ScheduleState, readonly ScheduleEffect[]];

export function initial(config: ScheduleConfig, now: number): ScheduleState {
  return upcoming(config, {
    ...{ fired: null, judged: now, due: null, wake: null, paused: false, last: null },
  });
}

export function decide(config: ScheduleConfig, state: ScheduleState, event: ScheduleEvent): Decision {
  switch (event.type) {
    case "tick":
      return state.paused ? [state, []] : tick(config, state, event.now, event.busy);
    case "trigger": {
      const id = `${config.name}/${event.id}`;
      return [{ ...state, last: id }, [{ type: "start", id, due: event.due }]];
    }
    case "pause":
      return [{ ...state, paused: true, due: null, wake: null }, []];
    case "resume":
      if (!state.paused) return [state, []];
      return [upcoming(config, { ...state, paused: false, judged: event.now }), []];
    case "redefined":
      return [state.paused ? state : upcoming(config, { ...state, judged: event.now }), []];
    default:
      return event satisfies never;
  }
}

/** The id of the flow of a due time. Every host makes the same one, so that a store keeps one of them. */
export function scheduledId(name: string, due: string): string {
  return `${name}/${due}`;
}

/** By how much the flow of a due time starts later: the same on every host and after every restart. */
export function jitterOf({ name, jitterMs }: ScheduleConfig, due: number): number {
  return jitterMs === 0 ? 0 : hash(`${name}/${due}`) % (jitterMs + 1);
}

function tick(config: ScheduleConfig, state: ScheduleState, now: number, busy: boolean): Decision {
  // The clock was set back: what was settled after now, and started nothing, is open again.
  if (now < state.judged) return [upcoming(config, { ...state, judged: now }), []];
  const since = settledUpTo(state);
  const found = latest(config.recurrence, since, now, config.backfill + 1);
  const ripe = found.times.filter((due) => due + jitterOf(config, due) <= now);
  const waiting = found.times.find((due) => due + jitterOf(config, due) > now);
  // Due times start in their order: one that waits for its jitter holds back those behind it.
  const dues = waiting === undefined ? ripe : ripe.filter((due) => due < waiting);
  const judged = waiting === undefined ? now : waiting - 1;
  if (dues.length === 0) return [upcoming(config, { ...state, judged: Math.max(judged, state.judged) }), []];
  const run = chosen(config, dues, now);
  const effects: ScheduleEffect[] = [];
  const missed = dues.filter((due) => !run.includes(due));
  if (missed.length > 0) effects.push({ type: "skipped", why: "missed", times: missed, more: found.cut });
  const started = start(config, { ...state, judged }, run, busy, effects);
  return [upcoming(config, started), effects];
}

/** Which of the due times that have come start a flow. */
function chosen(config: ScheduleConfig, dues: readonly number[], now: number): readonly number[] {
  const last = dues.slice(-1);
  switch (config.missed) {
    case "all":
      return dues.slice(-config.backfill);
    case "last":
      return last;
    case "skip":
      return last.filter((due) => now - due - jitterOf(config, due) <= config.graceMs);
    default:
      return config.missed satisfies never;
  }
}

function start(
  config: ScheduleConfig,
  state: ScheduleState,
  dues: readonly number[],
  busy: boolean,
  effects: ScheduleEffect[],
): ScheduleState {
  let next = state;
  let running = busy;
  for (const due of dues) {
    if (running && config.overlap === "skip") {
      effects.push({ type: "skipped", why: "overlap", times: [due], more: false });
      continue;
    }
    if (running && config.overlap === "cancel" && next.last !== null)
      effects.push({ type: "cancel", id: next.last });
    const id = scheduledId(config.name, timeText(due));
    effects.push({ type: "start", id, due });
    next = { ...next, fired: due, last: id };
    running = true;
  }
  return next;
}

function settledUpTo({ fired, judged }: ScheduleState): number {
  return fired === null ? judged : Math.max(fired, judged);
}

/** With the next due time. */
function upcoming(config: ScheduleConfig, state: ScheduleState): ScheduleState {
  const due = config.recurrence.next(settledUpTo(state)) ?? null;
  return { ...state, due, wake: due === null ? null : due + jitterOf(config, due) };
}
