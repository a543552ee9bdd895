// The live data of all viewers as a pure state machine. A view is an operation with its arguments. It is asked for at most `hz` times a second while
// somebody looks at it, once for all of its viewers, and each answer that differs from the one before is a revision.
//
// Of a view, the latest value is kept, and the patch that led to it. A viewer is sent something only when it can take it: what it missed meanwhile
// is skipped. One that has missed one revision or none gets a change, any other `reset` and the whole value. So nothing queues for a slow viewer.
//
// The maps and their entries are mutable, for speed; the same events give the same effects.

import { AdminTimeoutError } from "../../admin/errors.js";
import { type Fault, faultOf } from "../../admin/fault.js";
import { difference } from "./difference.js";
import type {
  FeedEffect,
  FeedEvent,
  FeedInput,
  FeedLimits,
  FeedState,
  Seat,
  View,
  Viewer,
  Wanted,
} from "./feed-state.js";
import { newsOf } from "./news.js";

export function initial(limits: FeedLimits): FeedState {
  return {
    limits,
    views: new Map(),
    viewers: new Map(),
    lastPoll: 0,
    polling: 0,
    wakeAt: Number.POSITIVE_INFINITY,
  };
}

/** The state after an event, and what to do about it, in order. */
export function decide(state: FeedState, event: FeedInput): readonly [FeedState, readonly FeedEffect[]] {
  const effects: FeedEffect[] = [];
  const { now } = event;
  switch (event.type) {
    case "open":
      open(state, event, effects);
      break;
    case "close":
      close(state, event.viewer, effects);
      break;
    case "ready": {
      const viewer = state.viewers.get(event.viewer);
      if (viewer === undefined) break;
      viewer.isReady = true;
      deliver(event.viewer, viewer, now, effects);
      break;
    }
    case "answer":
      answered(state, event, effects);
      break;
    case "failure":
      failed(state, event, effects);
      break;
    case "tick":
      state.wakeAt = Number.POSITIVE_INFINITY;
      expire(state, now, effects);
      break;
    default:
      return event satisfies never;
  }
  ask(state, now, effects);
  wake(state, now, effects);
  return [state, effects];
}

// ── viewers ─────────────────────────────────────────────────────────────────────────────────────────────────────

function open(
  state: FeedState,
  { viewer, wanted, now }: Extract<FeedInput, { type: "open" }>,
  effects: FeedEffect[],
): void {
  const problem = noRoomFor(state, wanted);
  if (problem !== undefined) {
    effects.push({ type: "refuse", viewer, problem });
    return;
  }
  const seats = wanted.map((one): Seat => {
    const view = viewOf(state, one, now);
    const seat: Seat = { viewer, key: one.key, hz: one.hz, view, revision: 0, fault: undefined };
    view.seats.add(seat);
    view.periodMs = Math.min(view.periodMs, 1_000 / one.hz);
    view.dueAt = Math.min(view.dueAt, now + view.periodMs);
    return seat;
  });
  state.viewers.set(viewer, { seats, isReady: false, sentAt: now });
}

function noRoomFor({ limits, views, viewers }: FeedState, wanted: readonly Wanted[]): string | undefined {
  if (viewers.size >= limits.viewers)
    return `${limits.viewers} viewers are connected, and no more are allowed`;
  if (wanted.length > limits.viewsOfOne)
    return `a viewer may have ${limits.viewsOfOne} views; this one asks for ${wanted.length}`;
  const added = new Set(wanted.map(idOf).filter((id) => !views.has(id)));
  return views.size + added.size > limits.views
    ? `${views.size} views are looked at, and no more than ${limits.views} are allowed`
    : undefined;
}

/** The same operation with the same arguments is one view, in whatever order the arguments are given. */
function idOf({ op, args }: Wanted): string {
  return JSON.stringify([op, Object.entries(args).sort(([a], [b]) => (a < b ? -1 : 1))]);
}

function viewOf({ views }: FeedState, wanted: Wanted, now: number): View {
  const id = idOf(wanted);
  const found = views.get(id);
  if (found !== undefined) return found;
  const { op, args } = wanted;
  const view: View = {
    ...{ id, op, args, seats: new Set<Seat>(), periodMs: Number.POSITIVE_INFINITY, dueAt: now },
    ...{ revision: 0, value: undefined, patch: undefined, fault: undefined, poll: undefined },
  };
  views.set(id, view);
  return view;
}

function close(state: FeedState, number: number, effects: FeedEffect[]): void {
  const viewer = state.viewers.get(number);
  if (viewer === undefined) return;
  state.viewers.delete(number);
  for (const seat of viewer.seats) {
    const { view } = seat;
    view.seats.delete(seat);
    view.periodMs = 1_000 / Math.max(...[...view.seats].map(({ hz }) => hz));
    if (view.seats.size > 0) continue;
    state.views.delete(view.id);
    if (view.poll === undefined) continue;
    state.polling--;
    effects.push({ type: "abandon", poll: view.poll.number });
  }
}

/** Sends a viewer what is new to it, if it can take it. */
function deliver(number: number, viewer: Viewer, now: number, effects: FeedEffect[]): void {
  if (!viewer.isReady) return;
  const events = viewer.seats.flatMap(newsOf);
  if (events.length > 0) send(number, viewer, events, now, effects);
}

function send(
  number: number,
  viewer: Viewer,
  events: readonly FeedEvent[],
  now: number,
  effects: FeedEffect[],
): void {
  viewer.isReady = false;
  viewer.sentAt = now;
  effects.push({ type: "send", viewer: number, events });
}

// ── questions and answers ───────────────────────────────────────────────────────────────────────────────────────

/** The view that waits for this answer, from now on for the next one. Undefined: the answer is late. */
function answeredView(
  state: FeedState,
  { view: id, poll, now }: { readonly view: string; readonly poll: number; readonly now: number },
): View | undefined {
  const view = state.views.get(id);
  if (view?.poll?.number !== poll) return undefined;
  const { at } = view.poll;
  view.poll = undefined;
  state.polling--;
  // An operation that is slow is asked for less often: it gets at most half of the time.
  view.dueAt = Math.max(at + view.periodMs, now + (now - at));
  return view;
}

function answered(
  state: FeedState,
  event: Extract<FeedInput, { type: "answer" }>,
  effects: FeedEffect[],
): void {
  const view = answeredView(state, event);
  if (view === undefined) return;
  const { value: before } = view;
  const { value: after, now } = event;
  view.fault = undefined;
  if (before !== undefined) {
    const patch = difference(before, after);
    if (patch === undefined) return;
    view.patch = patch;
  } else view.patch = undefined;
  view.value = after;
  view.revision++;
  deliverAll(state, view, now, effects);
}

function failed(
  state: FeedState,
  event: Extract<FeedInput, { type: "failure" }>,
  effects: FeedEffect[],
): void {
  const view = answeredView(state, event);
  if (view !== undefined) fail(state, view, event.fault, event.now, effects);
}

function fail(state: FeedState, view: View, fault: Fault, now: number, effects: FeedEffect[]): void {
  const { fault: before } = view;
  // The next value is sent whole: it ends the fault, whether or not it differs from the one before.
  view.value = undefined;
  view.patch = undefined;
  if (before?.name === fault.name && before.code === fault.code && before.message === fault.message) return;
  view.fault = fault;
  deliverAll(state, view, now, effects);
}

function deliverAll(state: FeedState, view: View, now: number, effects: FeedEffect[]): void {
  for (const number of new Set([...view.seats].map(({ viewer }) => viewer)))
    deliver(number, state.viewers.get(number) as Viewer, now, effects);
}

/** Asks for the views that are due, those that wait for longest first. */
function ask(state: FeedState, now: number, effects: FeedEffect[]): void {
  const { limits, views } = state;
  if (state.polling >= limits.polls) return;
  const due = [...views.values()].filter((view) => view.poll === undefined && view.dueAt <= now);
  for (const view of due.sort((a, b) => a.dueAt - b.dueAt).slice(0, limits.polls - state.polling)) {
    const { id, op, args } = view;
    const number = ++state.lastPoll;
    view.poll = { number, at: now };
    state.polling++;
    effects.push({ type: "poll", poll: number, view: id, op, args });
  }
}

// ── time ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Questions without an answer, viewers without a sign of life, and viewers that take nothing. */
function expire(state: FeedState, now: number, effects: FeedEffect[]): void {
  const { pollMs, heartbeatMs, stalledMs } = state.limits;
  for (const view of state.views.values()) {
    const { poll } = view;
    if (poll === undefined || now < poll.at + pollMs) continue;
    effects.push({ type: "abandon", poll: poll.number });
    answeredView(state, { view: view.id, poll: poll.number, now });
    fail(state, view, faultOf(new AdminTimeoutError(pollMs)), now, effects);
  }
  for (const [number, viewer] of state.viewers) {
    if (viewer.isReady && now >= viewer.sentAt + heartbeatMs)
      send(number, viewer, [{ type: "heartbeat" }], now, effects);
    else if (!viewer.isReady && now >= viewer.sentAt + stalledMs) {
      close(state, number, effects);
      effects.push({ type: "drop", viewer: number });
    }
  }
}

/** Sets the timer to the next moment at which something is to be done, if that has come nearer. Nobody looks: there is no timer. */
function wake(state: FeedState, now: number, effects: FeedEffect[]): void {
  const { limits } = state;
  let next = Number.POSITIVE_INFINITY;
  for (const { poll, dueAt } of state.views.values()) {
    if (poll !== undefined) next = Math.min(next, poll.at + limits.pollMs);
    else if (state.polling < limits.polls) next = Math.min(next, dueAt);
  }
  for (const { isReady, sentAt } of state.viewers.values())
    next = Math.min(next, sentAt + (isReady ? limits.heartbeatMs : limits.stalledMs));
  const isIdle = next === Number.POSITIVE_INFINITY;
  if (isIdle ? state.wakeAt === next : next >= state.wakeAt) return;
  state.wakeAt = next;
  effects.push(isIdle ? { type: "rest" } : { type: "wake", afterMs: Math.max(next - now, 0) });
}
