// A supervisor as a pure state machine, after OTP's supervisor.erl: what it knows of its children, what it is doing,
// and what it does next. One thing at a time, as OTP does: a start or stop in progress is awaited, and what happens
// meanwhile waits its turn; only the parent's EXIT comes between, so that no slow `init` can hold up a shutdown.

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
  type Config,
  type State,
  type Step,
  withAgenda,
  withChildren,
  withDeferred,
  withRestarts,
} from "./state.js";
import { STRATEGIES } from "./strategies.js";

export type { Config, State };

export function initial<P>(config: Config, specs: readonly FullChildSpec[]): State<P> {
  const children = Roster.of<P>(specs.map((spec) => newChild(spec)));
  const [restarts, agenda, deferred] = [Queue.of<number>(), Queue.of<Step<P>>(), Queue.of<Event<P>>()];
  return { config, children, restarts, agenda, deferred, closing: undefined, booting: true };
}

/**
 * The state after `event`, and what to do about it, in order.
 *
 * @param now - when the machine is told; a restart counts from when it is made, as in OTP, which hears of one end after
 * the other
 */
export function decide<P>(
  state: State<P>,
  event: Event<P>,
  now = 0,
): readonly [State<P>, readonly Effect<P>[]] {
  const effects: Effect<P>[] = [];
  let next = take(state, event, effects);
  // Whatever waited is looked at as soon as nothing is in progress.
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

/** An event that starts something, met when nothing is in progress. */
function begin<P>(
  state: State<P>,
  event: Extract<Event<P>, { type: "boot" | "exited" | "retry" | "resume" | "asked" }>,
  effects: Effect<P>[],
): State<P> {
  switch (event.type) {
    case "boot": {
      const starts = [...state.children].map(
        (child): Step<P> => ({ do: "start", id: child.spec.id, why: "boot" }),
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

/** A child ended by itself. */
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
  const stops: Step<P>[] = [];
  for (let i = range.length - 1; i >= 0; i--) stops.push({ do: "stop", id: (range[i] as Child<P>).spec.id });
  if (backoff === undefined) {
    for (const one of range) stops.push({ do: "start", id: one.spec.id, why: "restart" });
    return proceed(withAgenda(marked, Queue.of(stops)), effects);
  }
  effects.push({ type: "resume-after", id, delayMs });
  return proceed(withAgenda(marked, Queue.of(stops)), effects);
}

/**
 * Marks `child` as restarting. Whatever else of `range` its strategy brings up with it waits for that, and no longer for
 * a start of its own: it would come up before those it depends on, or, when nobody remembers its turn, never.
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

/** Adds to the agenda the start of whatever the strategy brings up with `id`. */
function startRange<P>(state: State<P>, id: string): State<P> {
  const starts = rangeOf(state, id).map((one): Step<P> => ({ do: "start", id: one.spec.id, why: "restart" }));
  return withAgenda(state, state.agenda.concat(starts));
}

/** What was in progress is done. An answer for anything else is of a start that was given up: too late. */
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
      // One that came up too late to be added takes its place, the last, in the stops of a closing supervisor.
      const late = state.closing !== undefined && step.why === "add";
      const agenda = late ? Queue.of<Step<P>>([{ do: "stop", id: step.id }, ...rest]) : rest;
      return proceed(withAgenda(replace(done, up), agenda), effects);
    }
    case "ignored": {
      if (asked !== undefined)
        effects.push({ type: "answer", token: asked.token, answer: { ok: true, pid: undefined } });
      // A temporary child that is not running has no place in the list.
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
      // Back to the mailbox before trying again, so that a shutdown can come between.
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
  step: Extract<Step<P>, { do: "stop" }>,
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

/** The only step of the agenda, taken at once. */
function begun<P>(state: State<P>, step: Step<P>, effects: Effect<P>[]): State<P> {
  return proceed(withAgenda(state, Queue.of([step])), effects);
}

/** On the way out: stop everything in reverse start order, then end. A start in progress is cut short. */
function close<P>(state: State<P>, reason: ExitReason, effects: Effect<P>[]): State<P> {
  if (state.closing !== undefined) return state;
  const step = state.agenda.first;
  const stops = [...state.children].reverse().map((child): Step<P> => ({ do: "stop", id: child.spec.id }));
  const closing: State<P> = { ...state, closing: reason, deferred: Queue.of() };
  if (step === undefined) return proceed({ ...closing, agenda: Queue.of(stops) }, effects);
  const spec = step.do === "start" ? childOf(state, step)?.spec : undefined;
  if (spec !== undefined) effects.push({ type: "abort-start", spec });
  const later = stops.filter((one) => step.do === "start" || one.id !== step.id);
  return { ...closing, agenda: Queue.of([step, ...later]) };
}

/** Issues the first step of the agenda that there is something to do about, or ends what is at its end. */
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
    // Nothing runs there. On the way out that ends a restart which was under way, too.
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

/** The child that a step is about. One that is being added is not in the list yet. */
function childOf<P>(state: State<P>, step: Step<P>): Child<P> | undefined {
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

/** The child with its place kept, or added last. */
function replace<P>(state: State<P>, child: Child<P>): State<P> {
  return withChildren(state, state.children.set(child));
}

/** The child is not running any more. A temporary one is forgotten with that. */
function down<P>(state: State<P>, child: Child<P>): State<P> {
  const { id, restart: rule } = child.spec;
  if (rule === "temporary") return withChildren(state, state.children.without(id));
  return replace(state, { ...child, status: "stopped", pid: undefined });
}
