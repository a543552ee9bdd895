// The queue of a host as a pure machine: when to look at the waiting flows in the store, which of them to admit, and when to look
// again. The store holds the truth; the machine holds one page of it.
//
//   idle ──more, room, tick──▶ reading ──read──▶ admitting ──admitted──▶ start them, go on with the page
//    ▲                            ▲                  └──refused──▶ another host was faster: wait a little, read again
//    └── nothing may start ───────┴── the page is done: read the next one
//
// Limits over several hosts are exact: an admission expects the version of the queue that its page was read at, and raises it. Of
// two hosts that admit from the same version the store refuses one. Flows that end only make room, so they need no version.
//
// Waiting flows stay in the store. A page holds at most QUEUE_PAGE of them, so memory does not grow with the length of the queue.

import { backoffMs } from "../../process/backoff.js";
import { type Candidate, choose, NO_USE, type QueueLimits, roomOf, type Use } from "./choice.js";

/** Most waiting flows, and most keys, of one page. */
export const QUEUE_PAGE: { readonly flows: number; readonly lanes: number } = { flows: 500, lanes: 100 };

/** Waits after an admission that another host overtook, and after a store that failed. */
const RETRY = { minMs: 2, maxMs: 5_000, jitter: 0.5 };

/** The longest time without a look at the store while something has a time of its own: a clock may have been set. */
const LONGEST_MS = 60_000;

export interface QueueConfig {
  readonly limits: QueueLimits;
  /** How often to look without any notification, in milliseconds: notifications from other hosts may get lost. */
  readonly pollMs: number;
}

/** A place in the order of the waiting flows: where a page ended. */
export interface PageEnd {
  readonly rank: number;
  /** Only keys after this one. */
  readonly after: string | undefined;
  /** Only keys up to this one: those before the key that was served last, after all others. */
  readonly upTo: string | undefined;
}

/** The result of a read, at one version of the queue. */
export interface View {
  /** The clock of the store. */
  readonly now: number;
  readonly version: number;
  readonly use: Use;
  /** Of the keys of all candidates. */
  readonly lanes: ReadonlyMap<string, Use>;
  /** In the order that `choose` expects. */
  readonly candidates: readonly Candidate[];
  /** Where the next page begins. Undefined: there are no further waiting flows. */
  readonly next: PageEnd | undefined;
}

/** The key that was served last, by rank: the next turn is that of the key behind it. */
export type Turns = ReadonlyMap<number, string>;

export interface QueueState {
  readonly config: QueueConfig;
  readonly phase: "idle" | "reading" | "admitting";
  readonly view: View | undefined;
  /** Something has changed since the first page was read: begin again once nothing more may start of the pages. */
  readonly stale: boolean;
  /** An alarm is set for the times of the page. */
  readonly alarmed: boolean;
  /** Nothing but room can let a flow start: further waiting flows change nothing. */
  readonly blocked: boolean;
  /** Slots that this host holds. */
  readonly here: number;
  readonly turns: Turns;
  /** The flows that are being admitted. */
  readonly admitting: readonly Candidate[];
  /** Attempts in a row that came to nothing. */
  readonly failures: number;
}

/** `roll` is a number in [0, 1) that decides the jitter of a wait. */
export type QueueEvent =
  /** Flows were put in the queue, here or elsewhere, or notifications may have been lost. */
  | { readonly type: "more" }
  /** A slot was given back, elsewhere, or notifications may have been lost. */
  | { readonly type: "room" }
  /** A flow that holds a slot has left this host: it has ended, or is out of memory. */
  | { readonly type: "left" }
  /** This host has taken a flow that holds a slot already. */
  | { readonly type: "taken" }
  | { readonly type: "tick" }
  | { readonly type: "read"; readonly view: View }
  | { readonly type: "admitted" }
  /** Another host was faster, or the store failed. */
  | { readonly type: "refused"; readonly roll: number };

export type QueueEffect =
  /** Read a page, from `from` or from the start. `turns`: who was served last. */
  | { readonly type: "read"; readonly from: PageEnd | undefined; readonly turns: Turns }
  /** Give these flows a slot, if the queue still has this version. */
  | {
      readonly type: "admit";
      readonly flows: readonly Candidate[];
      readonly version: number;
      readonly now: number;
    }
  | { readonly type: "start"; readonly flows: readonly Candidate[] }
  /** Tick after this time. Replaces the alarm before. */
  | { readonly type: "alarm"; readonly inMs: number };

type Rule = QueueLimits["rate"];
type Decision = readonly [QueueState, readonly QueueEffect[]];

export function initial(config: QueueConfig): QueueState {
  return {
    config,
    phase: "idle",
    view: undefined,
    stale: false,
    alarmed: false,
    blocked: false,
    here: 0,
    turns: new Map(),
    admitting: [],
    failures: 0,
  };
}

export function decide(state: QueueState, event: QueueEvent): Decision {
  switch (event.type) {
    case "more":
      return changed(state, !state.blocked);
    case "room":
    case "tick":
      return changed(state, true);
    case "left":
      return changed({ ...state, here: Math.max(0, state.here - 1) }, true);
    case "taken":
      return [{ ...state, here: state.here + 1, stale: true }, []];
    case "read":
      if (state.phase !== "reading") return [state, []];
      return go({ ...state, phase: "idle", view: event.view, alarmed: false });
    case "admitted":
      return state.phase === "admitting" ? admitted(state) : [state, []];
    case "refused":
      return state.phase === "idle" ? [state, []] : refused(state, event.roll);
    default:
      return event satisfies never;
  }
}

/** Something has changed in the store. Looks there, unless it is being looked at, or it cannot matter. */
function changed(state: QueueState, matters: boolean): Decision {
  if (state.phase !== "idle" || !matters || isFull(state)) return [{ ...state, stale: true }, []];
  return read(state, undefined);
}

/** This host holds as many slots as it may: nothing in the store can change that. */
function isFull({ here, config }: QueueState): boolean {
  return here >= config.limits.perHost;
}

function read(state: QueueState, from: PageEnd | undefined): Decision {
  // A further page says nothing about what has changed before it.
  const stale = from !== undefined && state.stale;
  const reading = { ...state, phase: "reading" as const, view: undefined, blocked: false, stale };
  return [reading, [{ type: "read", from, turns: state.turns }]];
}

/**
 * Admits what may start of the page; else reads on; else begins again if something has changed; else waits. A page that is stale is
 * still used: under load something changes all the time.
 */
function go(state: QueueState): Decision {
  const { view, config, here } = state;
  if (view === undefined) return changed(state, true);
  const room = roomOf(config.limits, view.use, here);
  const { chosen, left } = choose(config.limits, view.candidates, view.lanes, room);
  if (chosen.length > 0) {
    const { version, now } = view;
    const rest = { ...view, candidates: left };
    const admitting = { ...state, phase: "admitting" as const, admitting: chosen, view: rest };
    return [admitting, [{ type: "admit", flows: chosen, version, now }]];
  }
  if (room > 0 && view.next !== undefined) return read(state, view.next);
  if (state.stale && !isFull(state)) return read(state, undefined);
  return wait(state, view, room);
}

/** Nothing may start. Says when that changes by time alone. */
function wait(state: QueueState, view: View, room: number): Decision {
  const waiting = { ...state, blocked: room === 0, alarmed: true, failures: 0 };
  // The times of a page that was read a while ago have their alarm already.
  if (state.alarmed) return [waiting, []];
  const { limits, pollMs } = state.config;
  const times = [freeAt(view.use, limits.rate)];
  for (const use of view.lanes.values()) times.push(freeAt(use, limits.keyRate));
  const first = Math.min(...times.map((at) => at ?? Number.POSITIVE_INFINITY));
  const untilMs =
    first === Number.POSITIVE_INFINITY ? first : Math.min(LONGEST_MS, Math.max(1, first - view.now));
  const inMs = Math.min(pollMs, untilMs);
  return [waiting, inMs === Number.POSITIVE_INFINITY ? [] : [{ type: "alarm", inMs }]];
}

/** When a rate that is used up allows a further start. */
function freeAt(use: Use, rule: Rule): number | undefined {
  return rule !== undefined && use.recent >= rule.limit ? use.freeAt : undefined;
}

/** The chosen flows hold their slots: counts them in, and goes on with the page. */
function admitted(state: QueueState): Decision {
  const { admitting: flows, view, turns } = state;
  const next: QueueState = {
    ...state,
    phase: "idle",
    admitting: [],
    failures: 0,
    here: state.here + flows.length,
    turns: new Map([...turns, ...flows.map(({ rank, lane }) => [rank, lane] as const)]),
    view: view && counted(state.config.limits, view, flows),
  };
  const [after, effects] = go(next);
  return [after, [{ type: "start", flows }, ...effects]];
}

/** Another host was faster, or the store failed: reads again after a while. */
function refused(state: QueueState, roll: number): Decision {
  const failures = state.failures + 1;
  const idle = { ...state, phase: "idle" as const, view: undefined, admitting: [], failures, alarmed: true };
  return [
    { ...idle, stale: true, blocked: true },
    [{ type: "alarm", inMs: backoffMs(RETRY, failures, roll) }],
  ];
}

/** The view after these flows have started. */
function counted({ rate, keyRate }: QueueLimits, view: View, flows: readonly Candidate[]): View {
  const plus = (use: Use, count: number, rule: Rule): Use => ({
    running: use.running + count,
    recent: use.recent + count,
    freeAt: use.freeAt ?? (rule && view.now + rule.periodMs),
  });
  const lanes = new Map(view.lanes);
  for (const { lane } of flows) lanes.set(lane, plus(lanes.get(lane) ?? NO_USE, 1, keyRate));
  return { ...view, version: view.version + 1, use: plus(view.use, flows.length, rate), lanes };
}
