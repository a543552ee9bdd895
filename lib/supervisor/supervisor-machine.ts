// A supervisor as a pure state machine, after OTP's supervisor.erl: its children, the start or stop in progress, and the steps
// that follow. It does one thing at a time, as OTP does: events that arrive during a start or stop are deferred. Only the
// EXIT of the parent is handled at once, so that a slow `init` cannot delay a shutdown.

import { type ExitReason, SHUTDOWN } from "../process/reason.js";
import type { FullChildSpec } from "./child.js";
import {
  type Answer,
  type Ask,
  type ChildProblem,
  type Effect,
  type Event,
  FailedChild,
} from "./protocol.js";
import { Queue } from "./queue.js";
import { countRestart, isRestarted } from "./restart-rule.js";
import { type Child, newChild, Roster } from "./roster.js";
import {
  type AgendaStep,
  type Config,
  type State,
  withAgenda,
  withChildren,
  withDeferred,
  withRestarts,
} from "./state.js";
import { STRATEGIES } from "./strategies.js";

export type { Config, State };

export function initial<P>(config: Config, specs: readonly FullChildSpec[]): State<P> {
  const children = Roster.of<P>(specs.map((spec) => newChild(spec)));
  const [restarts, agenda, deferred] = [Queue.of<number>(), Queue.of<AgendaStep<P>>(), Queue.of<Event<P>>()];
  return { config, children, restarts, agenda, deferred, closing: undefined, booting: true };
}

/**
 * The state after `event`, and what to do about it, in order.
 *
 * @param now - the time of the decision. A restart counts from its decision, not from the exit, as in OTP, which handles one
 * exit after the other
 */
export function decide<P>(
  state: State<P>,
  event: Event<P>,
  now = 0,
): readonly [State<P>, readonly Effect<P>[]] {
  const effects: Effect<P>[] = [];
  let next = take(state, event, effects);
  // Deferred events are handled as soon as nothing is in progress.
  while (next.agenda.length === 0 && next.deferred.length > 0 && next.closing === undefined) {
    const first = next.deferred.first as Event<P>;
    next = take(withDeferred(next, next.deferred.withoutFirst()), atDecision(first, now), effects);
  }
  return [next, effects];
}

function atDecision<P>(event: Event<P>, now: number): Event<P> {
  if ((event.type !== "exited" && event.type !== "retry") || event.at >= now) return event;
  return event.type === "retry" ? { ...event, at: now } : { ...event, at: now, waitedMs: now - event.at };
}

function take<P>(state: State<P>, event: Event<P>, effects: Effect<P>[]): State<P> {
  switch (event.type) {
    case "started":
    case "ignored":
    case "failed":
    case "stopped":
      return completed(state, event, effects);
    case "close":
      return close(state, event.reason, effects);
    default:
      if (state.closing !== undefined) return state;
      if (state.agenda.length > 0) return withDeferred(state, state.deferred.with(event));
      return begin(state, event, effects);
  }
}

/** Handles an event that starts something, while nothing is in progress. */
function begin<P>(
  state: State<P>,
  event: Extract<Event<P>, { type: "boot" | "exited" | "retry" | "resume" | "asked" }>,
  effects: Effect<P>[],
): State<P> {
  switch (event.type) {
    case "boot": {
      const starts = [...state.children].map(
        (child): AgendaStep<P> => ({ do: "start", id: child.spec.id, why: "boot" }),
      );
      return proceed(withAgenda(state, Queue.of(starts)), effects);
    }
    case "exited": {
      const child = state.children.byPid(event.pid);
      return child === undefined ? state : exited(state, child, event, effects);
    }
    case "retry": {
      const child = find(state, event.id);
      if (child?.status !== "restarting") return state;
      return restart(state, child, child.failure, 0, event, effects);
    }
    case "resume": {
      const child = find(state, event.id);
      const due = child?.status === "restarting" && child.dueAt <= event.at;
      return due ? proceed(startRange(state, event.id), effects) : state;
    }
    case "asked":
      return asked(state, event.token, event.request, effects);
    default:
      return event satisfies never;
  }
}

/** Handles the exit of a child that the supervisor did not stop. */
function exited<P>(
  state: State<P>,
  child: Child<P>,
  event: Extract<Event<P>, { type: "exited" }>,
  effects: Effect<P>[],
): State<P> {
  const { restart: rule, significant } = child.spec;
  if (isRestarted(rule, event.reason)) {
    const ranForMs = event.at - (event.waitedMs ?? 0) - child.since;
    return restart(state, child, event.reason, ranForMs, event, effects);
  }
  const gone = down(state, child);
  if (!significant || state.config.autoShutdown === "never") return gone;
  if (state.config.autoShutdown === "all_significant" && gone.children.significant > 0) return gone;
  return close(gone, SHUTDOWN, effects);
}

/** Counts a restart and begins it, or gives up. */
function restart<P>(
  state: State<P>,
  child: Child<P>,
  reason: ExitReason,
  ranForMs: number,
  { at, roll }: { readonly at: number; readonly roll: number },
  effects: Effect<P>[],
): State<P> {
  const { strategy, backoff } = state.config;
  const history = { attempts: child.attempts, ranForMs };
  const decision = countRestart(state.config, state.restarts, history, at, roll);
  const { restarts, intensityLeft, attempts, delayMs } = decision;
  const { id } = child.spec;
  const counted = withRestarts(state, restarts);
  const range = rangeOf(state, id);
  const siblings = range.filter((one) => one !== child && one.status === "running").map((one) => one.spec.id);
  effects.push({ type: "report", restart: { id, reason, strategy, siblings, intensityLeft, delayMs } });
  if (intensityLeft < 0) return close(down(counted, child), SHUTDOWN, effects);
  const marked = restarting(counted, child, range, reason, attempts, at + delayMs);
  const stops: AgendaStep<P>[] = [];
  for (let i = range.length - 1; i >= 0; i--) stops.push({ do: "stop", id: (range[i] as Child<P>).spec.id });
  if (backoff === undefined) {
    for (const one of range) stops.push({ do: "start", id: one.spec.id, why: "restart" });
    return proceed(withAgenda(marked, Queue.of(stops)), effects);
  }
  effects.push({ type: "resume-after", id, delayMs });
  return proceed(withAgenda(marked, Queue.of(stops)), effects);
}

/**
 * Marks `child` as restarting. Other children of `range` that waited for a restart of their own are now restarted with
 * `child`. Otherwise they could start before the children that they depend on, or never.
 */
function restarting<P>(
  state: State<P>,
  child: Child<P>,
  range: readonly Child<P>[],
  failure: ExitReason,
  attempts: number,
  dueAt: number,
): State<P> {
  let { children } = state;
  for (const one of range) {
    if (one.status === "restarting" && one.spec.id !== child.spec.id)
      children = children.set({ ...one, status: "stopped" });
  }
  const { spec, since } = child;
  const failed: Child<P> = { spec, status: "restarting", pid: undefined, failure, since, attempts, dueAt };
  return withChildren(state, children.set(failed));
}

/** Adds the starts of `id` and of the siblings that its strategy restarts with it to the agenda. */
function startRange<P>(state: State<P>, id: string): State<P> {
  const starts = rangeOf(state, id).map(
    (one): AgendaStep<P> => ({ do: "start", id: one.spec.id, why: "restart" }),
  );
  return withAgenda(state, state.agenda.concat(starts));
}

/** Handles the end of the step in progress. An event for another child belongs to an abandoned start and is ignored. */
function completed<P>(
  state: State<P>,
  event: Extract<Event<P>, { type: "started" | "ignored" | "failed" | "stopped" }>,
  effects: Effect<P>[],
): State<P> {
  const step = state.agenda.first;
  if (step === undefined || step.id !== event.id || (step.do === "stop") !== (event.type === "stopped"))
    return state;
  const rest = state.agenda.withoutFirst();
  const done = withAgenda(state, rest);
  if (step.do === "stop") return proceed(stepStopped(done, step, effects), effects);
  const asked = step.why === "add" || step.why === "again" ? step : undefined;
  const child = childOf(state, step);
  if (child === undefined) return proceed(done, effects);
  switch (event.type) {
    case "started": {
      const { spec, failure, attempts, dueAt } = child;
      const { pid, at: since } = event;
      const up: Child<P> = { spec, status: "running", pid, failure, since, attempts, dueAt };
      if (asked !== undefined)
        effects.push({ type: "answer", token: asked.token, answer: { ok: true, pid: event.pid } });
      // A child that was added while the supervisor closes is stopped first, because it started last.
      const late = state.closing !== undefined && step.why === "add";
      const agenda = late ? Queue.of<AgendaStep<P>>([{ do: "stop", id: step.id }, ...rest]) : rest;
      return proceed(withAgenda(replace(done, up), agenda), effects);
    }
    case "ignored": {
      if (asked !== undefined)
        effects.push({ type: "answer", token: asked.token, answer: { ok: true, pid: undefined } });
      // A temporary child that does not run is not kept.
      return proceed(down(replace(done, child), child), effects);
    }
    case "failed":
      if (state.closing !== undefined) return proceed(down(done, child), effects);
      if (asked !== undefined) {
        const answer: Answer<P> = { ok: false, problem: "start_failed", reason: event.reason };
        effects.push({ type: "answer", token: asked.token, answer });
        return proceed(done, effects);
      }
      if (step.why === "boot") {
        return close(
          withAgenda(done, Queue.of()),
          { type: "shutdown", detail: new FailedChild(step.id, event.reason) },
          effects,
        );
      }
      // The retry goes through the mailbox, so that a shutdown can be handled first.
      effects.push({ type: "retry", id: step.id });
      return proceed(
        withAgenda(
          restarting(done, child, rangeOf(done, step.id), event.reason, child.attempts, child.dueAt),
          Queue.of(),
        ),
        effects,
      );
    default:
      return done;
  }
}

function stepStopped<P>(
  state: State<P>,
  step: Extract<AgendaStep<P>, { do: "stop" }>,
  effects: Effect<P>[],
): State<P> {
  if (step.token !== undefined)
    effects.push({ type: "answer", token: step.token, answer: { ok: true, pid: undefined } });
  const child = find(state, step.id);
  return child === undefined ? state : down(state, child);
}

function asked<P>(state: State<P>, token: number, request: Ask, effects: Effect<P>[]): State<P> {
  const refuse = (problem: ChildProblem): State<P> => {
    effects.push({ type: "answer", token, answer: { ok: false, problem } });
    return state;
  };
  if (request.ask === "add") {
    const { spec } = request;
    const present = find(state, spec.id);
    if (present !== undefined)
      return refuse(present.status === "running" ? "already_started" : "already_present");
    return begun(state, { do: "start", id: spec.id, why: "add", token, child: newChild(spec) }, effects);
  }
  const child = find(state, request.id);
  if (child === undefined) return refuse("not_found");
  if (request.ask === "terminate") {
    if (child.status === "running") return begun(state, { do: "stop", id: request.id, token }, effects);
    effects.push({ type: "answer", token, answer: { ok: true, pid: undefined } });
    return down(state, child);
  }
  if (child.status !== "stopped") return refuse(child.status);
  if (request.ask === "restart") {
    return begun(state, { do: "start", id: request.id, why: "again", token, child }, effects);
  }
  effects.push({ type: "answer", token, answer: { ok: true, pid: undefined } });
  return withChildren(state, state.children.without(request.id));
}

/** Begins a step while the agenda is empty. */
function begun<P>(state: State<P>, step: AgendaStep<P>, effects: Effect<P>[]): State<P> {
  return proceed(withAgenda(state, Queue.of([step])), effects);
}

/** Closes the supervisor: stops all children in reverse start order and exits. A start in progress is aborted. */
function close<P>(state: State<P>, reason: ExitReason, effects: Effect<P>[]): State<P> {
  if (state.closing !== undefined) return state;
  const step = state.agenda.first;
  const stops = [...state.children]
    .reverse()
    .map((child): AgendaStep<P> => ({ do: "stop", id: child.spec.id }));
  const closing: State<P> = { ...state, closing: reason, deferred: Queue.of() };
  if (step === undefined) return proceed({ ...closing, agenda: Queue.of(stops) }, effects);
  const spec = step.do === "start" ? childOf(state, step)?.spec : undefined;
  if (spec !== undefined) effects.push({ type: "abort-start", spec });
  const later = stops.filter((one) => step.do === "start" || one.id !== step.id);
  return { ...closing, agenda: Queue.of([step, ...later]) };
}

/** Orders the first step of the agenda that needs an action. When the agenda is empty, ends the boot or the supervisor. */
function proceed<P>(state: State<P>, effects: Effect<P>[]): State<P> {
  let agenda = state.agenda;
  let current = state;
  for (;;) {
    const step = agenda.first;
    if (step === undefined) break;
    const child = childOf(current, step);
    if (child !== undefined && step.do === "start" && child.status !== "running") {
      effects.push({ type: "start", spec: child.spec });
      return withAgenda(current, agenda);
    }
    if (child?.pid !== undefined && step.do === "stop") {
      effects.push({ type: "stop", id: step.id, pid: child.pid, spec: child.spec });
      return withAgenda(current, agenda);
    }
    // The child does not run. While closing, this also ends a restart in progress.
    if (child !== undefined && step.do === "stop" && current.closing !== undefined)
      current = down(current, child);
    agenda = agenda.withoutFirst();
  }
  current = withAgenda(current, agenda);
  if (current.closing !== undefined) effects.push({ type: "exit", reason: current.closing });
  else if (current.booting) {
    effects.push({ type: "up" });
    return { ...current, booting: false };
  }
  return current;
}

/** The child of a step. A child that is being added is not in the list yet. */
function childOf<P>(state: State<P>, step: AgendaStep<P>): Child<P> | undefined {
  return step.do === "start" && (step.why === "add" || step.why === "again")
    ? step.child
    : find(state, step.id);
}

function find<P>(state: State<P>, id: string): Child<P> | undefined {
  return state.children.get(id);
}

function rangeOf<P>(state: State<P>, id: string): readonly Child<P>[] {
  const { children, config } = state;
  const { from, to } = STRATEGIES[config.strategy](children.placeOf(id), children.end);
  return children.range(from, to);
}

/** Replaces a child in its place, or adds it as the last one. */
function replace<P>(state: State<P>, child: Child<P>): State<P> {
  return withChildren(state, state.children.set(child));
}

/** Marks a child as stopped. A temporary child is forgotten. */
function down<P>(state: State<P>, child: Child<P>): State<P> {
  const { id, restart: rule } = child.spec;
  if (rule === "temporary") return withChildren(state, state.children.without(id));
  return replace(state, { ...child, status: "stopped", pid: undefined });
}
