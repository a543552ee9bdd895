// The queue of a group as a state machine: the dispatches that wait for a consumer, and which of them is next. Higher
// priority goes first; among equals, dispatches that lost a consumer; among these, first come, first served. A dispatch
// keeps its place until it is served or ends: an offered slot that it cannot use does not send it to the end of the queue.
//
//   wait ──▶ waiting ──slot, member──▶ woken ──▶ served, ended: leave
//                ▲                       │
//                └──────── wait ─────────┘ its routing function chose otherwise: the slot is offered on
//
// A free slot is offered to one dispatch at a time, and to each once, and is reserved for that dispatch until it has chosen.
// Most routing functions take any free consumer, so the first dispatch takes the slot, and n slots cost O(n),
// however many dispatches wait. Dispatches that insist on their consumer wait in a line of that consumer, and are not woken
// for others. A consumer that leaves or joins wakes the dispatches for which that makes a difference: a crash costs what it
// concerns, not what waits.
//
// For speed the state changes in place, the consumers' `reserved` included: a group has one state, and no code keeps an old
// one. The same state and event always give the same effects.

import { invariant } from "../process/invariant.js";

/**
 * What a dispatch takes: `any` free consumer; only the consumer that it `insists` on; or what its routing function
 * `chooses`, which is not known before.
 */
export type Takes = "any" | "insists" | "chooses";

/** The facts about a consumer that the queue needs. */
export interface Slots {
  readonly inFlight: number;
  readonly maxInFlight: number;
  /** Slots reserved for dispatches that were woken for them and have not chosen yet. Written by this machine alone. */
  reserved: number;
  /** The consumer has left: it has no slots. Written by this machine alone. */
  hasLeft: boolean;
}

/** How a dispatch waits. */
export interface Demand<C> {
  /** From 0 to {@link HIGHEST_PRIORITY}. */
  readonly priority: number;
  /** The dispatch lost a consumer. */
  readonly urgent: boolean;
  readonly takes: Takes;
  /** The full consumer that the dispatch chose; undefined when there was none to choose. */
  readonly at: C | undefined;
  /** Consumers that the dispatch does not go to any more. */
  readonly excluded: readonly C[];
}

/** `D` is a dispatch, `C` a consumer. */
export type Event<D, C> =
  /** The dispatch waits, or goes on waiting in its place: then the slot that it was offered is offered on. */
  | { readonly type: "wait"; readonly dispatch: D; readonly demand: Demand<C> }
  /** The dispatch is served, or has ended. If its slot is free, the slot is offered on. */
  | { readonly type: "leave"; readonly dispatch: D }
  /** One more slot of the consumer is free. */
  | { readonly type: "freed"; readonly consumer: C }
  | { readonly type: "joined"; readonly consumer: C }
  /** `isLast`: its system has no other consumer of this group. */
  | { readonly type: "left"; readonly consumer: C; readonly isLast: boolean };

export type Effect<D, C> =
  /** The dispatch is to choose again. `offer`: the consumer that reserves a slot for it until it has. */
  | { readonly type: "wake"; readonly dispatch: D; readonly offer: C | undefined }
  /** The queue is full: the dispatch may not wait. */
  | { readonly type: "turn-away"; readonly dispatch: D };

/** Highest priority of an envelope; the lowest is 0. */
export const HIGHEST_PRIORITY = 9;

const RANKS = 2 * (HIGHEST_PRIORITY + 1);

/** Places in the order of their rank, then of their arrival. */
interface Line<D, C> {
  readonly heads: (Place<D, C> | undefined)[];
  readonly tails: (Place<D, C> | undefined)[];
  size: number;
}

interface Place<D, C> {
  readonly dispatch: D;
  readonly rank: number;
  /** Its number in the order of arrival. */
  readonly arrived: number;
  demand: Demand<C>;
  line: Line<D, C> | undefined;
  /** The dispatch was woken and has not chosen yet. */
  woken: boolean;
  offer: C | undefined;
  /** Number of the last slot that the dispatch was offered. */
  offered: number;
  next: Place<D, C> | undefined;
  previous: Place<D, C> | undefined;
}

export interface State<D, C> {
  /** Dispatches that may have a place, woken ones included. */
  readonly capacity: number;
  readonly places: Map<D, Place<D, C>>;
  readonly common: Line<D, C>;
  /** The lines of consumers that dispatches insist on. */
  readonly own: Map<C, Line<D, C>>;
  /** Places to which any new consumer matters: they have none to wait for, or one of their own choice. */
  readonly choosy: Set<Place<D, C>>;
  /** Places to which the end of a consumer matters, although there are others. */
  readonly at: Map<C, Set<Place<D, C>>>;
  arrivals: number;
  /** Slots that have come free so far: each has a number. */
  slots: number;
}

type Effects<D, C> = readonly Effect<D, C>[];

export function initial<D, C extends Slots>(capacity: number): State<D, C> {
  return {
    capacity,
    places: new Map(),
    common: lineOfNone(),
    own: new Map(),
    choosy: new Set(),
    at: new Map(),
    arrivals: 0,
    slots: 0,
  };
}

/** The consumer that reserves a slot for this dispatch. */
export function offerTo<D, C>(state: State<D, C>, dispatch: D): C | undefined {
  return state.places.get(dispatch)?.offer;
}

export function decide<D, C extends Slots>(
  state: State<D, C>,
  event: Event<D, C>,
): readonly [State<D, C>, Effects<D, C>] {
  switch (event.type) {
    case "wait":
      return [state, wait(state, event.dispatch, event.demand)];
    case "leave":
      return [state, leave(state, event.dispatch)];
    case "freed":
      return [state, freed(state, event.consumer)];
    case "joined":
      return [state, joined(state, event.consumer)];
    case "left":
      return [state, left(state, event.consumer, event.isLast)];
    default:
      return event satisfies never;
  }
}

function wait<D, C extends Slots>(state: State<D, C>, dispatch: D, demand: Demand<C>): Effects<D, C> {
  let place = state.places.get(dispatch);
  if (place === undefined) {
    if (state.places.size >= state.capacity) return [{ type: "turn-away", dispatch }];
    place = placeOf(dispatch, demand, ++state.arrivals);
    state.places.set(dispatch, place);
  }
  place.woken = false;
  const { takes, at } = demand;
  const line = takes === "insists" && at !== undefined ? lineOf(state, at) : state.common;
  if (place.line !== line) {
    takeOut(state, place);
    append(line, place);
  }
  unlist(state, place);
  place.demand = demand;
  list(state, place);
  return passOn(state, place);
}

function leave<D, C extends Slots>(state: State<D, C>, dispatch: D): Effects<D, C> {
  const place = state.places.get(dispatch);
  if (place === undefined) return [];
  const effects = passOn(state, place);
  state.places.delete(dispatch);
  unlist(state, place);
  takeOut(state, place);
  return effects;
}

/** The dispatch has chosen. If the slot that it was offered is free, the slot goes to the next dispatch. */
function passOn<D, C extends Slots>(state: State<D, C>, place: Place<D, C>): Effects<D, C> {
  const { offer: consumer } = place;
  if (consumer === undefined) return [];
  invariant(consumer.reserved > 0, "the consumer of an offered slot has a reserved slot");
  place.offer = undefined;
  consumer.reserved--;
  return freeSlots(consumer) > 0 ? offer(state, consumer, 1, place.offered, place) : [];
}

function freed<D, C extends Slots>(state: State<D, C>, consumer: C): Effects<D, C> {
  if (state.places.size === 0 || consumer.hasLeft) return [];
  return offer(state, consumer, 1, ++state.slots, undefined);
}

/**
 * Wakes as many dispatches that take any consumer as the new member has slots. All others choose again, and so do those
 * that had no consumer to choose.
 */
function joined<D, C extends Slots>(state: State<D, C>, consumer: C): Effects<D, C> {
  const taking = offer(state, consumer, freeSlots(consumer), ++state.slots, undefined);
  return [...taking, ...wakeAll(state.choosy)];
}

/**
 * Those that had chosen this consumer choose again. To a dispatch that takes any it makes no difference, while there is
 * another one.
 */
function left<D, C extends Slots>(state: State<D, C>, consumer: C, isLast: boolean): Effects<D, C> {
  consumer.hasLeft = true;
  const places = isLast
    ? [...state.places.values()].filter(({ demand }) => demand.at !== undefined)
    : (state.at.get(consumer) ?? []);
  return wakeAll(places);
}

function freeSlots({ maxInFlight, inFlight, reserved, hasLeft }: Slots): number {
  return hasLeft ? 0 : maxInFlight - inFlight - reserved;
}

function wakeAll<D, C extends Slots>(places: Iterable<Place<D, C>>): Effects<D, C> {
  const chosen = [...places].filter(({ woken }) => !woken);
  chosen.sort((a, b) => a.rank - b.rank || a.arrived - b.arrived);
  return chosen.map((place) => wake(place, undefined));
}

/** Notes which consumers matter to a place, by its demand. */
function list<D, C>({ choosy, at }: State<D, C>, place: Place<D, C>): void {
  const { takes, at: consumer, excluded } = place.demand;
  if (takes !== "any" || consumer === undefined) choosy.add(place);
  if (consumer === undefined || (takes === "any" && excluded.length === 0)) return;
  const here = at.get(consumer);
  if (here === undefined) at.set(consumer, new Set([place]));
  else here.add(place);
}

function unlist<D, C>({ choosy, at }: State<D, C>, place: Place<D, C>): void {
  const { at: consumer } = place.demand;
  choosy.delete(place);
  if (consumer === undefined) return;
  const here = at.get(consumer);
  if (here?.delete(place) && here.size === 0) at.delete(consumer);
}

function wake<D, C extends Slots>(place: Place<D, C>, consumer: C | undefined): Effect<D, C> {
  place.woken = true;
  place.offer = consumer;
  if (consumer !== undefined) consumer.reserved++;
  return { type: "wake", dispatch: place.dispatch, offer: consumer };
}

/** Offers slots to dispatches that have not been offered this one: first to those behind `after`. */
function offer<D, C extends Slots>(
  state: State<D, C>,
  consumer: C,
  slots: number,
  number: number,
  after: Place<D, C> | undefined,
): Effects<D, C> {
  const woken: Effect<D, C>[] = [];
  let from = after;
  while (woken.length < slots) {
    const place = find(state, consumer, number, from) ?? (after && find(state, consumer, number, undefined));
    if (place === undefined) break;
    place.offered = number;
    woken.push(wake(place, consumer));
    from = place;
  }
  return woken;
}

function find<D, C>(
  state: State<D, C>,
  consumer: C,
  slot: number,
  after: Place<D, C> | undefined,
): Place<D, C> | undefined {
  const { common } = state;
  const own = state.own.get(consumer);
  const isHere = after !== undefined && (after.line === own || after.line === common);
  const begun = isHere ? after.rank : -1;
  let place = isHere ? untried(after.next, consumer, slot) : undefined;
  for (let rank = Math.max(begun, 0); place === undefined && rank < RANKS; rank++) {
    if (rank > begun) place = untried(own?.heads[rank], consumer, slot);
    if (rank > begun || after?.line === own) place ??= untried(common.heads[rank], consumer, slot);
  }
  return place;
}

/** The first place from here on that is not woken already, and may be offered this slot. */
function untried<D, C>(first: Place<D, C> | undefined, consumer: C, slot: number): Place<D, C> | undefined {
  let place = first;
  while (
    place !== undefined &&
    (place.woken || place.offered >= slot || place.demand.excluded.includes(consumer))
  )
    place = place.next;
  return place;
}

// ── lines ─────────────────────────────────────────────────────────────────────────────────────────────────────────

function lineOfNone<D, C>(): Line<D, C> {
  return { heads: [], tails: [], size: 0 };
}

function placeOf<D, C>(dispatch: D, demand: Demand<C>, arrived: number): Place<D, C> {
  return {
    dispatch,
    rank: 2 * (HIGHEST_PRIORITY - demand.priority) + (demand.urgent ? 0 : 1),
    arrived,
    demand,
    line: undefined,
    woken: false,
    offer: undefined,
    offered: 0,
    next: undefined,
    previous: undefined,
  };
}

function lineOf<D, C>(state: State<D, C>, consumer: C): Line<D, C> {
  let line = state.own.get(consumer);
  if (line === undefined) {
    line = lineOfNone();
    state.own.set(consumer, line);
  }
  return line;
}

function append<D, C>(line: Line<D, C>, place: Place<D, C>): void {
  const last = line.tails[place.rank];
  place.previous = last;
  if (last === undefined) line.heads[place.rank] = place;
  else last.next = place;
  line.tails[place.rank] = place;
  place.line = line;
  line.size++;
}

function takeOut<D, C>(state: State<D, C>, place: Place<D, C>): void {
  const { line, next, previous, rank, demand } = place;
  if (line === undefined) return;
  if (previous === undefined) line.heads[rank] = next;
  else previous.next = next;
  if (next === undefined) line.tails[rank] = previous;
  else next.previous = previous;
  place.next = place.previous = undefined;
  line.size--;
  if (line.size === 0 && demand.at !== undefined && state.own.get(demand.at) === line)
    state.own.delete(demand.at);
}
