// Routing functions: pure choices of one consumer for one envelope. One type, shared with a topology's groupings.

import { OptionError } from "../process/errors.js";
import type { Envelope } from "./envelope.js";
import type { IsolatedRoute } from "./isolated.js";
import type { ConsumerView } from "./member.js";
import { checkPredicate, evaluate, type Predicate } from "./predicate.js";
import type { Takes } from "./queue-machine.js";

/** What a routing function may go by besides envelope and consumers, so that it needs no memory of its own. */
export interface RouteContext {
  /** Number of this choice within its group, from 0. */
  readonly turn: number;
  /** A number in [0, 1), drawn for this choice. */
  readonly roll: number;
  /** The consumer that last took an envelope with the same key, if it is a candidate (see `affinityKey`). */
  readonly previous: ConsumerView | undefined;
}

/**
 * Chooses a consumer, itself or by id; undefined when none fits. `consumers` are the candidates: those that joined,
 * without those on which this envelope has failed already. One that is at its limit may be chosen (the dispatch then
 * waits for it): look at `pressure` to avoid that.
 */
export interface RoutingFunction<T = unknown> {
  (
    envelope: Envelope<T>,
    consumers: readonly ConsumerView[],
    context: RouteContext,
  ): ConsumerView | string | undefined;
  /** When given, the group remembers who took the last envelope of each key, and tells the function. */
  readonly affinityKey?: (envelope: Envelope<T>) => string;
  /** What to call it in graphs. Default: the function's name. */
  readonly label?: string;
  /**
   * `true`: any candidate is as good, so that what waits for one may go to another. `false`: the choice goes by the
   * envelope and the members alone, so that what waits for one is not asked again when another is free.
   */
  readonly interchangeable?: boolean;
  /** The fields of the payload that it goes by. */
  readonly fields?: readonly string[];
  /**
   * @internal A function of the library: it changes neither the list of candidates nor the context, and keeps neither, so
   * that a group may give it the same ones at each choice.
   */
  readonly isTrusted?: boolean;
  /** Every candidate gets the message, and the function is not asked. For topologies: a dispatch has one consumer. */
  readonly everyone?: boolean;
}

/** Those that accept, or else those that would let the dispatch wait; never those that reject. */
export function available(consumers: readonly ConsumerView[]): readonly ConsumerView[] {
  let accepting = 0;
  for (const consumer of consumers) if (consumer.pressure === "accept") accepting++;
  if (accepting === consumers.length) return consumers;
  const wanted = accepting > 0 ? "accept" : "defer";
  return consumers.filter((consumer) => consumer.pressure === wanted);
}

/**
 * The one with the fewest envelopes in flight, relative to its weight; the one that joined first among equals. One of
 * weight 0 is given nothing.
 */
export function leastLoaded<T>(): RoutingFunction<T> {
  const route: RoutingFunction<T> = (_envelope, consumers) => {
    let best: ConsumerView | undefined;
    let bestLoad = 0;
    let bestRank = 0;
    for (let i = 0; i < consumers.length; i++) {
      const consumer = consumers[i] as ConsumerView;
      const pressure = consumer.pressure;
      if (pressure === "reject" || consumer.weight === 0) continue;
      const rank = pressure === "accept" ? 0 : 1;
      const load = consumer.inFlight / consumer.weight;
      if (best === undefined || rank < bestRank || (rank === bestRank && load < bestLoad)) {
        best = consumer;
        bestLoad = load;
        bestRank = rank;
      }
    }
    return best;
  };
  return trusted(Object.assign(route, { label: "least loaded", interchangeable: true }));
}

/** Each in turn. */
export function roundRobin<T>(): RoutingFunction<T> {
  const route: RoutingFunction<T> = (_envelope, consumers, { turn }) => {
    const candidates = available(consumers);
    return candidates[turn % candidates.length];
  };
  return trusted(Object.assign(route, { label: "round robin", interchangeable: true }));
}

/** By chance, in proportion to `weight`. One of weight 0 is given nothing. */
export function weighted<T>(): RoutingFunction<T> {
  const route: RoutingFunction<T> = (_envelope, consumers, { roll }) => {
    const candidates = available(consumers).filter((consumer) => consumer.weight > 0);
    let left = roll * candidates.reduce((sum, consumer) => sum + consumer.weight, 0);
    for (const consumer of candidates) {
      left -= consumer.weight;
      if (left < 0) return consumer;
    }
    return candidates.at(-1);
  };
  return trusted(Object.assign(route, { label: "weighted", interchangeable: true }));
}

/**
 * Always the same consumer for the same key, whoever asks, in any node: highest random weight, so that a member that
 * comes or goes moves only its own share of the keys. Envelopes of a key wait for their consumer when it is at its limit.
 *
 * @see Thaler and Ravishankar, "A Name-Based Mapping Scheme for Rendezvous", 1996
 */
export function rendezvous<T>(key: (envelope: Envelope<T>) => string): RoutingFunction<T> {
  checkKey("rendezvous", key);
  const ranking = new Ranking();
  const route: RoutingFunction<T> = (envelope, consumers) => ranking.first(consumers, hash(key(envelope)));
  return trusted(Object.assign(route, { label: "rendezvous", interchangeable: false }));
}

/**
 * @internal Ranks consumers for a key: each has a number of its own for each key, made from the hashes of both, and the
 * highest is first. These numbers are compared and never counted, so nobody moves up or down when another leaves.
 */
export class Ranking {
  // Hashes of ids by place in the array, where the same consumer mostly stands the next time too. A memory that cannot
  // be wrong: it is looked at only for an id that is still there.
  readonly #ids: string[] = [];
  readonly #hashes: number[] = [];

  /** The first for a key with this hash, `except` left out; undefined when there is none. */
  first(consumers: readonly ConsumerView[], key: number, except?: ConsumerView): ConsumerView | undefined {
    let best: ConsumerView | undefined;
    let bestScore = 0;
    for (let place = 0; place < consumers.length; place++) {
      const consumer = consumers[place] as ConsumerView;
      if (consumer === except) continue;
      const score = mix(key ^ this.#hashAt(place, consumer.id));
      if (best === undefined || score > bestScore || (score === bestScore && precedes(consumer, best, key))) {
        best = consumer;
        bestScore = score;
      }
    }
    return best;
  }

  #hashAt(place: number, id: string): number {
    if (this.#ids[place] !== id) {
      this.#ids[place] = id;
      this.#hashes[place] = hash(id) | 0;
    }
    return this.#hashes[place] as number;
  }
}

/** Two ids with the same hash would tie for every key, and one of them get nothing: they are hashed anew for each. */
function precedes(one: ConsumerView, other: ConsumerView, key: number): boolean {
  const [a, b] = [hash(one.id, key), hash(other.id, key)];
  return a === b ? one.id < other.id : a > b;
}

/** The consumer that took the last envelope of the same key, for as long as it stays; else what `first` chooses. */
export function sticky<T>(
  key: (envelope: Envelope<T>) => string,
  first: RoutingFunction<T> = leastLoaded(),
): RoutingFunction<T> {
  checkKey("sticky", key);
  const route: RoutingFunction<T> = (envelope, consumers, context) =>
    context.previous ?? first(envelope, consumers, context);
  const named = Object.assign(route, { affinityKey: key, label: "sticky" });
  return first.isTrusted === true ? trusted(named) : named;
}

/** Only consumers for which the predicate holds, among which `then` chooses. @throws OptionError */
export function where<T>(predicate: Predicate, then: RoutingFunction<T> = leastLoaded()): RoutingFunction<T> {
  checkPredicate("where(predicate)", predicate);
  if (then.everyone === true)
    throw new OptionError("where(then)", then.label, "a function that chooses one, not all");
  const route: RoutingFunction<T> = (envelope, consumers, context) =>
    then(
      envelope,
      consumers.filter((consumer) => evaluate(predicate, envelope, consumer)),
      context,
    );
  for (const trait of TRAITS) if (then[trait] !== undefined) Object.assign(route, { [trait]: then[trait] });
  return then.isTrusted === true ? trusted(route) : route;
}

/** @internal What a dispatch with this routing function takes. */
export function takesOf(route: RoutingFunction<never> | IsolatedRoute<never>): Takes {
  if (typeof route !== "function" || route.interchangeable === undefined) return "chooses";
  return route.interchangeable ? "any" : "insists";
}

/** Not enumerable: whoever copies the traits of a function to another one copies no trust. */
function trusted<T>(route: RoutingFunction<T>): RoutingFunction<T> {
  return Object.defineProperty(route, "isTrusted", { value: true });
}

const TRAITS = ["affinityKey", "label", "interchangeable", "fields"] as const;

function checkKey(name: string, key: unknown): void {
  if (typeof key !== "function")
    throw new OptionError(`${name}(key)`, key, "a function from an envelope to its key");
}

/** FNV-1a with a final mix: even over short, similar texts. 32 bits. @param seed - another, and it is another hash */
export function hash(text: string, seed = 0x811c9dc5): number {
  let h = seed;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return mix(h) >>> 0;
}

/** Spreads each bit of a number over all 32; two numbers are never mixed into the same one. */
export function mix(bits: number): number {
  let h = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
