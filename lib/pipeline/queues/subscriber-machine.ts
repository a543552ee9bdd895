// A subscriber of a queue. It takes messages ahead, hands them out as far as its concurrency goes, and settles each once. Pure for its
// caller; states are changed in place, since they hold the messages in flight.
//
// A delivery is one attempt at one message. Its number is the fence within this process: an event that comes late for a delivery that is over
// changes nothing. Between processes the store is the fence: only the holder of a message settles it.

import type { PlaceSignals } from "../../host/signals.js";
import { type Backoff, backoffMs } from "../../process/backoff.js";
import { InvariantError } from "../../process/errors.js";

export interface SubscriberConfig {
  readonly concurrency: number;
  readonly prefetch: number;
  /** The waits before a store that failed is asked again. */
  readonly again: Backoff;
}

/** One attempt at one message. */
interface Delivery<M> {
  readonly message: M;
  isSettling: boolean;
  failures: number;
}

export interface SubscriberState<M, V> {
  readonly config: SubscriberConfig;
  phase: "claiming" | "running" | "stopping" | "stopped";
  /** Grows with each claim. Messages that were taken under an earlier claim are not this subscriber's any more. */
  claim: number;
  /** The claim is being taken: one at a time, since messages under another one would be nobody's. */
  isEntering: boolean;
  readonly buffer: M[];
  /** Taken, and not to be tried before it is known which message ends the process. They take no place of others. */
  readonly waiting: M[];
  /** Those that waited, and may run by now: tried before all others. */
  readonly opened: M[];
  readonly inFlight: Map<number, Delivery<M>>;
  /** How many messages were asked for. */
  taking: number;
  /** There may be messages that no subscriber has taken. */
  more: boolean;
  failures: number;
  nextDelivery: number;
  /** Types only. */
  readonly verdict?: V;
}

export type SubscriberEvent<M, V> =
  | { readonly type: "claimed"; readonly claim: number }
  /** The claim is lost: others may have the messages of this subscriber. */
  | { readonly type: "lost" }
  /** There may be messages to take. */
  | { readonly type: "news" }
  | {
      readonly type: "taken";
      readonly claim: number;
      readonly messages: readonly M[];
      readonly more: boolean;
    }
  /** The store failed when it was asked for a claim or for messages. */
  | { readonly type: "failed"; readonly claim: number; readonly roll: number }
  | { readonly type: "handled"; readonly delivery: number; readonly verdict: V }
  /** The message must not be tried yet: it waits for `opened`. */
  | { readonly type: "held"; readonly delivery: number }
  /** Messages that wait may run by now. */
  | { readonly type: "opened" }
  /** The settlement is committed; or it was refused, because another subscriber has the message. */
  | { readonly type: "settled"; readonly delivery: number }
  /** The store failed. Nothing was settled. */
  | { readonly type: "unsettled"; readonly delivery: number; readonly verdict: V; readonly roll: number }
  | { readonly type: "again" }
  | { readonly type: "stop" };

export type SubscriberEffect<M, V> =
  | { readonly type: "claim"; readonly claim: number }
  | { readonly type: "take"; readonly claim: number; readonly count: number }
  | { readonly type: "run"; readonly delivery: number; readonly message: M }
  | {
      readonly type: "settle";
      readonly delivery: number;
      readonly message: M;
      readonly verdict: V;
      /** The wait before it. */
      readonly inMs: number;
    }
  /** Ends the attempts: nothing that they do counts. */
  | { readonly type: "end"; readonly deliveries: readonly number[]; readonly messages: readonly M[] }
  /** Gives messages back that were not tried. */
  | { readonly type: "release"; readonly messages: readonly M[] }
  /** Sends `again` after this time. */
  | { readonly type: "alarm"; readonly inMs: number }
  | { readonly type: "stopped" };

export function initial<M, V>(config: SubscriberConfig): SubscriberState<M, V> {
  return {
    config,
    phase: "claiming",
    claim: 0,
    isEntering: true,
    buffer: [],
    waiting: [],
    opened: [],
    inFlight: new Map(),
    taking: 0,
    more: true,
    failures: 0,
    nextDelivery: 0,
  };
}

export function decide<M, V>(
  state: SubscriberState<M, V>,
  event: SubscriberEvent<M, V>,
): [SubscriberState<M, V>, readonly SubscriberEffect<M, V>[]] {
  if (state.phase === "stopped") return [state, []];
  const effects: SubscriberEffect<M, V>[] = [];
  react(state, event, effects);
  advance(state, effects);
  return [state, effects];
}

/** What it holds, and how many more messages it could take. Messages that wait for evidence take no place of others. */
export function placesOf<M, V>({
  config,
  phase,
  buffer,
  inFlight,
  waiting,
  opened,
}: SubscriberState<M, V>): PlaceSignals {
  const taken = buffer.length + inFlight.size;
  const room = phase === "running" ? Math.max(0, config.prefetch - taken) : 0;
  return { room, held: taken + waiting.length + opened.length };
}

function react<M, V>(
  state: SubscriberState<M, V>,
  event: SubscriberEvent<M, V>,
  effects: SubscriberEffect<M, V>[],
): void {
  switch (event.type) {
    case "claimed":
      if (event.claim !== state.claim) return;
      state.isEntering = false;
      if (state.phase === "claiming") state.phase = "running";
      state.failures = 0;
      return;
    case "lost":
      lost(state, effects);
      return;
    case "news":
      state.more = true;
      return;
    case "taken":
      taken(state, event, effects);
      return;
    case "failed":
      if (event.claim !== state.claim) return;
      state.taking = 0;
      state.isEntering = false;
      state.failures++;
      effects.push({ type: "alarm", inMs: backoffMs(state.config.again, state.failures, event.roll) });
      return;
    case "again":
      state.more = true;
      if (state.phase === "claiming" && !state.isEntering) enter(state, effects);
      return;
    case "handled":
    case "unsettled":
      settle(state, event, effects);
      return;
    case "held":
      held(state, event.delivery);
      return;
    case "opened":
      state.opened.push(...state.waiting.splice(0));
      return;
    case "settled":
      state.inFlight.delete(event.delivery);
      return;
    case "stop":
      state.phase = "stopping";
      return;
    default:
      event satisfies never;
  }
}

function lost<M, V>(state: SubscriberState<M, V>, effects: SubscriberEffect<M, V>[]): void {
  const deliveries = [...state.inFlight.keys()];
  const messages = [...state.inFlight.values()].map(({ message }) => message);
  messages.push(...state.buffer, ...untried(state));
  state.inFlight.clear();
  state.buffer.length = 0;
  state.taking = 0;
  state.claim++;
  state.more = true;
  if (messages.length > 0) effects.push({ type: "end", deliveries, messages });
  if (state.phase === "stopping") return;
  state.phase = "claiming";
  enter(state, effects);
}

function enter<M, V>(state: SubscriberState<M, V>, effects: SubscriberEffect<M, V>[]): void {
  state.isEntering = true;
  effects.push({ type: "claim", claim: state.claim });
}

function taken<M, V>(
  state: SubscriberState<M, V>,
  { claim, messages, more }: SubscriberEvent<M, V> & { readonly type: "taken" },
  effects: SubscriberEffect<M, V>[],
): void {
  if (claim !== state.claim) {
    if (messages.length > 0) effects.push({ type: "end", deliveries: [], messages });
    return;
  }
  if (messages.length > state.taking)
    throw new InvariantError("no more messages are taken than were asked for");
  state.taking = 0;
  state.failures = 0;
  if (more) state.more = true;
  for (const message of messages) state.buffer.push(message);
}

/** Messages that waited, and are none any more. */
function untried<M, V>({ waiting, opened }: SubscriberState<M, V>): M[] {
  return [...opened.splice(0), ...waiting.splice(0)];
}

function held<M, V>(state: SubscriberState<M, V>, delivery: number): void {
  const one = state.inFlight.get(delivery);
  if (one === undefined || one.isSettling) return;
  state.inFlight.delete(delivery);
  state.waiting.push(one.message);
  // Others of the queue may run meanwhile.
  state.more = true;
}

function settle<M, V>(
  state: SubscriberState<M, V>,
  event: SubscriberEvent<M, V> & { readonly type: "handled" | "unsettled" },
  effects: SubscriberEffect<M, V>[],
): void {
  const { delivery, verdict } = event;
  const one = state.inFlight.get(delivery);
  if (one === undefined || one.isSettling !== (event.type === "unsettled")) return;
  one.isSettling = true;
  let inMs = 0;
  if (event.type === "unsettled") inMs = backoffMs(state.config.again, ++one.failures, event.roll);
  effects.push({ type: "settle", delivery, message: one.message, verdict, inMs });
}

/** Most messages that wait in memory. */
const MOST_WAITING = 10_000;

/** Hands out the messages that are there, and takes more. */
function advance<M, V>(state: SubscriberState<M, V>, effects: SubscriberEffect<M, V>[]): void {
  const { config, buffer, inFlight } = state;
  if (state.phase === "stopping") {
    const messages = [...buffer.splice(0), ...untried(state)];
    if (messages.length > 0) effects.push({ type: "release", messages });
    if (inFlight.size > 0 || state.taking > 0) return;
    state.phase = "stopped";
    effects.push({ type: "stopped" });
    return;
  }
  if (state.phase !== "running") return;
  while (inFlight.size < config.concurrency) {
    // A message that waited had its place taken by others: it gets the next one.
    const isRoom = inFlight.size + buffer.length + state.taking < config.prefetch;
    const message = (isRoom ? state.opened.shift() : undefined) ?? buffer.shift();
    if (message === undefined) break;
    const delivery = state.nextDelivery++;
    inFlight.set(delivery, { message, isSettling: false, failures: 0 });
    effects.push({ type: "run", delivery, message });
  }
  const room = config.prefetch - buffer.length - inFlight.size;
  // In larger portions: else each message that is done would ask for one.
  const isLow = buffer.length === 0 || room >= config.prefetch / 2;
  if (!state.more || state.taking > 0 || room <= 0 || !isLow || state.waiting.length >= MOST_WAITING) return;
  state.more = false;
  state.taking = room;
  effects.push({ type: "take", claim: state.claim, count: room });
}
