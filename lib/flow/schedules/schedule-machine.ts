// A schedule as a pure machine: which flows start now, under which ids, and when to look again.
//
//   judged ───────── due ───────── now          every due time up to `judged` is settled: started or skipped
//        (settled)     │ tick: start `name/due`, or skip by rule; judged = now; due = the first due time after it
//
// Due times follow from the recurrence and from the clock of the store, and from nothing else. A due time that is looked at within
// the grace starts its flow; an older one is missed, and the rule says which of those start. `settled` keeps the spans in which all due
// times were decided; missed ones that started nothing are gaps. So a clock that shows one wrong time, and comes back, finds each due
// time of the days between open, and those that started settled: a due time starts at most one flow, and none is lost, even when clocks jump.

import { hash } from "../../process/stable-hash.js";
import { timeText } from "./calendar.js";
import { latest, type Recurrence } from "./recurrence.js";
import { open, type Settled, settledBefore, withSpan } from "./settled.js";

/** Which of the due times that passed while no host looked start a flow: none, the last, or all (up to `backfill`). */
export type MissedRule = "skip" | "last" | "all";
/** The effect of a due time while the flow of the one before runs: start beside it, not start, or cancel it and start. */
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
  /** The due time that started a flow last. */
  readonly fired: number | null;
  /** When the schedule was put, defined anew or resumed: due times up to here do not count as missed by a downtime. */
  readonly since: number;
  /** The due times that started a flow, or met the flow of one before, and all between them. */
  readonly settled: Settled;
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
  /** A user asks for a flow beside the due times. `id` is unique for this request. */
  | { readonly type: "trigger"; readonly id: string; readonly due: number }
  | { readonly type: "pause" }
  /** Due times during the pause are skipped. */
  | { readonly type: "resume"; readonly now: number }
  /** The definition has another recurrence now: `config` has the new one. Earlier due times are skipped. */
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

/** Most flows that due times within the grace start in one tick; the next tick follows at once. */
export const AT_ONCE = 1_000;

export function initial(config: ScheduleConfig, now: number): ScheduleState {
  const state = { fired: null, since: now, judged: now, due: null, wake: null, paused: false, last: null };
  return upcoming(config, { ...state, settled: [] });
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
      return [upcoming(config, { ...state, paused: false, since: event.now, judged: event.now }), []];
    case "redefined": {
      // Other due times: those that started before keep their flows' ids.
      const anew = { ...state, since: event.now, judged: event.now, settled: [] };
      return [state.paused ? anew : upcoming(config, anew), []];
    }
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

function tick(config: ScheduleConfig, given: ScheduleState, now: number, busy: boolean): Decision {
  const state = now < given.judged ? setBack(config, given, now) : given;
  const due = open(config.recurrence, state.settled);
  const fresh = inGrace(config, due, state.judged, now);
  const missed = missedOf(config, due, state, fresh);
  const run = [...missed.start, ...fresh.dues];
  const effects: ScheduleEffect[] = [];
  const { times, cut: more } = missed.skip;
  if (times.length > 0) effects.push({ type: "skipped", why: "missed", times, more });
  // Due times that were passed over stay open for a clock that is set back.
  const after = Math.max(passedBefore(due, state, fresh), times.at(-1) ?? state.judged);
  const settled = withSpan(state.settled, [after, fresh.upTo], now);
  const started = start(config, { ...state, judged: fresh.upTo, settled }, run, busy, effects);
  return [upcoming(config, started), effects];
}

/**
 * The clock shows less than before. Due times that it had reached and not settled are open again: those that lie ahead now, and those that
 * have come and are not late, which waited for their jitter when the clock jumped over them.
 */
function setBack(config: ScheduleConfig, state: ScheduleState, now: number): ScheduleState {
  const judged = settledBefore(state.settled, now) ?? now;
  const { dues, upTo } = inGrace(config, open(config.recurrence, state.settled), state.since, now);
  return { ...state, judged: Math.min(judged, dues[0] === undefined ? upTo : dues[0] - 1) };
}

interface Fresh {
  /** Due times whose flows are at most the grace late, in order. */
  readonly dues: readonly number[];
  /** All due times up to here are decided now; the next one waits for its jitter, or for the next tick. */
  readonly upTo: number;
}

/**
 * The due times after `judged` that have come and are not missed. They start in their order: one that waits for its jitter holds back
 * those behind it. So the start of each is the latest of its own and of those before it, and within the jitter all the same.
 */
function inGrace(config: ScheduleConfig, due: Recurrence, judged: number, now: number): Fresh {
  const { graceMs, jitterMs } = config;
  const dues: number[] = [];
  let startsAt = Number.NEGATIVE_INFINITY;
  const from = Math.max(judged, now - graceMs - jitterMs - 1);
  for (let at = due.next(from); at !== undefined && at <= now; at = due.next(at)) {
    startsAt = Math.max(startsAt, at + jitterOf(config, at));
    if (startsAt > now) return { dues, upTo: at - 1 };
    if (now - startsAt > graceMs) continue;
    if (dues.length === AT_ONCE) return { dues, upTo: dues.at(-1) as number };
    dues.push(at);
  }
  return { dues, upTo: now };
}

interface Missed {
  readonly start: readonly number[];
  readonly skip: { readonly times: readonly number[]; readonly cut: boolean };
}

/** Which due times are missed, and which of those start a flow all the same. */
function missedOf(config: ScheduleConfig, due: Recurrence, state: ScheduleState, fresh: Fresh): Missed {
  const { missed, backfill } = config;
  const [first] = fresh.dues;
  const end = first === undefined ? fresh.upTo : first - 1;
  const { times, cut } = latest(due, Math.max(state.judged, state.since), end, backfill + 1);
  const made = missed === "skip" ? 0 : missed === "all" ? backfill : isLast(config, times, fresh) ? 1 : 0;
  const kept = Math.max(0, times.length - made);
  return { start: times.slice(kept), skip: { times: times.slice(0, kept), cut } };
}

/** Up to where due times were passed over because the schedule is younger than they. */
function passedBefore(due: Recurrence, { judged, since }: ScheduleState, { dues, upTo }: Fresh): number {
  const first = due.next(judged);
  if (judged >= since || first === undefined || first > upTo || first === dues[0]) return judged;
  return Math.min(since, dues[0] === undefined ? upTo : dues[0] - 1);
}

/** Whether no due time after the last of these has come. Due times whose flows have started already count. */
function isLast({ recurrence }: ScheduleConfig, times: readonly number[], { upTo }: Fresh): boolean {
  const after = recurrence.next(times.at(-1) ?? upTo);
  return after === undefined || after > upTo;
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

/** With the next due time. */
function upcoming(config: ScheduleConfig, state: ScheduleState): ScheduleState {
  const due = open(config.recurrence, state.settled).next(state.judged) ?? null;
  return { ...state, due, wake: due === null ? null : due + jitterOf(config, due) };
}
