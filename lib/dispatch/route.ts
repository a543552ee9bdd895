// Routing functions: pure functions that choose one consumer for one envelope. A topology's groupings have the same type.

import { OptionError } from "../process/errors.js";
import { callable } from "../process/options.js";
import { show } from "../process/show.js";
import { hash, mix } from "../process/stable-hash.js";
import { isThenable } from "../process/thenable.js";
import type { Envelope } from "./envelope.js";
import type { ConsumerView } from "./member.js";
import { checkPredicate, evaluate, type Predicate } from "./predicate.js";
import type { Takes } from "./queue-machine.js";

/** The third argument of a routing function, besides the envelope and the consumers, so that it needs no memory of its own. */
export interface RouteContext {
  /** Number of this choice in its group, from 0. */
  readonly turn: number;
  /** A random number in [0, 1), drawn for this choice. */
  readonly roll: number;
  /** The consumer that took the last envelope with the same `affinityKey`, if that consumer is a candidate now. */
  readonly previous: ConsumerView | undefined;
}

/**
 * Chooses a consumer: returns one of `consumers` or its id, or undefined when none fits. `consumers` are the candidates: the
 * members of the group without those on which this envelope has failed already. If the function chooses a consumer at its
 * limit, the dispatch waits for that consumer; read `pressure` to avoid that.
 *
 * @example
 * const specialist: RoutingFunction<Order> = (order, consumers) =>
 *   consumers.find((one) => one.tags["item"] === order.payload.item && one.pressure === "accept");
 */
export interface RoutingFunction<T = unknown> {
  (
    envelope: Envelope<T>,
    consumers: readonly ConsumerView[],
    context: RouteContext,
  ): ConsumerView | string | undefined;
  /** The key of an envelope. The group remembers the last consumer of each key, and passes it as `context.previous`. */
  readonly affinityKey?: (envelope: Envelope<T>) => string;
  /** Name of the function in graphs. Default: the name of the JavaScript function. */
  readonly label?: string;
  /**
   * `true`: all candidates are equally good, so a dispatch that waits for one of them may go to another. `false`: the choice
   * depends on the envelope and the members alone, so a dispatch that waits for one consumer does not choose again when
   * another one is free. Default: a waiting dispatch chooses again whenever a slot is free.
   */
  readonly interchangeable?: boolean;
  /** The fields of the payload that the function reads. */
  readonly fields?: readonly string[];
  /**
   * @internal A function of the library: it changes neither the list of candidates nor the context, and keeps neither, so
   * that a group may give it the same ones at each choice.
   */
  readonly isTrusted?: boolean;
  /** @internal A trusted function that calls no code of its user: it may run anywhere. */
  readonly isPure?: boolean;
  /** Every candidate gets the message, and the function is not called. For topologies only: a dispatch has one consumer. */
  readonly everyone?: boolean;
}

/**
 * The consumers that accept. If there are none, the consumers that defer. Never the consumers that reject.
 *
 * @example const route: RoutingFunction = (_envelope, consumers) => available(consumers)[0];
 */
export function available(consumers: readonly ConsumerView[]): readonly ConsumerView[] {
  if (!Array.isArray(consumers)) throw new OptionError("consumers", consumers, "an array of consumers");
  let accepting = 0;
  for (const consumer of consumers) if (consumer.pressure === "accept") accepting++;
  if (accepting === consumers.length) return consumers;
  const wanted = accepting > 0 ? "accept" : "defer";
  return consumers.filter((consumer) => consumer.pressure === wanted);
}

/**
 * Chooses the consumer with the fewest envelopes in flight, relative to its weight. Among equals the one that joined first.
 * A consumer of weight 0 gets nothing.
 *
 * @example new ConsumerGroup<Order>({ route: leastLoaded() });
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
  return pure(Object.assign(route, { label: "least loaded", interchangeable: true }));
}

/**
 * Chooses the consumers in turn.
 *
 * @example new ConsumerGroup<Order>({ route: roundRobin() });
 */
export function roundRobin<T>(): RoutingFunction<T> {
  const route: RoutingFunction<T> = (_envelope, consumers, { turn }) => {
    const candidates = available(consumers);
    return candidates[turn % candidates.length];
  };
  return pure(Object.assign(route, { label: "round robin", interchangeable: true }));
}

/**
 * Chooses at random, in proportion to `weight`. A consumer of weight 0 gets nothing.
 *
 * @example new ConsumerGroup<Order>({ route: weighted() });
 */
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
  return pure(Object.assign(route, { label: "weighted", interchangeable: true }));
}

/**
 * Chooses the same consumer for the same key, in every node (highest random weight). When a member comes or goes, only the
 * keys of that member move. If the consumer of a key is at its limit, the envelopes of the key wait for it.
 *
 * @see Thaler and Ravishankar, "A Name-Based Mapping Scheme for Rendezvous", 1996
 * @example new ConsumerGroup<Order>({ route: rendezvous((order) => order.payload.item) });
 */
export function rendezvous<T>(key: (envelope: Envelope<T>) => string): RoutingFunction<T> {
  checkKey("rendezvous", key);
  const ranking = new Ranking();
  const route: RoutingFunction<T> = (envelope, consumers) => ranking.first(consumers, hash(key(envelope)));
  return trusted(Object.assign(route, { label: "rendezvous", interchangeable: false }));
}

/**
 * @internal Ranks consumers for a key. Each consumer has a number for each key, made from the hashes of both, and the highest
 * number is first. The numbers are only compared, so no consumer changes its rank when another one leaves.
 */
export class Ranking {
  // Hashes of ids, by the index of the consumer, which is mostly the same the next time. The hash is used only if the id at
  // that index is still the same.
  readonly #ids: string[] = [];
  readonly #hashes: number[] = [];

  /** The first consumer for a key with this hash, without `except`; undefined when there is none. */
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

/** Two ids with the same hash would tie for every key, and one of them would get nothing: each key hashes them anew. */
function precedes(one: ConsumerView, other: ConsumerView, key: number): boolean {
  const [a, b] = [hash(one.id, key), hash(other.id, key)];
  return a === b ? one.id < other.id : a > b;
}

/**
 * Chooses the consumer that took the last envelope of the same key, as long as that consumer stays. For a new key `first`
 * chooses. A group remembers the last 100,000 keys.
 *
 * @example new ConsumerGroup<Order>({ route: sticky((order) => order.payload.item, roundRobin()) });
 */
export function sticky<T>(
  key: (envelope: Envelope<T>) => string,
  first: RoutingFunction<T> = leastLoaded(),
): RoutingFunction<T> {
  checkKey("sticky", key);
  callable("sticky(first)", first, "a routing function");
  const route: RoutingFunction<T> = (envelope, consumers, context) =>
    context.previous ?? first(envelope, consumers, context);
  const named = Object.assign(route, { affinityKey: key, label: "sticky" });
  return first.isTrusted === true ? trusted(named) : named;
}

/**
 * Keeps the consumers for which the predicate is true. `then` chooses among these.
 *
 * @throws OptionError when the predicate is not valid
 * @example
 * const sameItem = match.compare(match.payload("item"), "eq", match.tag("item"));
 * new ConsumerGroup<Order>({ route: where(sameItem, leastLoaded()) });
 */
export function where<T>(predicate: Predicate, then: RoutingFunction<T> = leastLoaded()): RoutingFunction<T> {
  checkPredicate("where(predicate)", predicate);
  callable("where(then)", then, "a routing function");
  if (then.everyone === true)
    throw new OptionError("where(then)", then.label, "a function that chooses one, not all");
  const route: RoutingFunction<T> = (envelope, consumers, context) =>
    then(
      envelope,
      consumers.filter((consumer) => evaluate(predicate, envelope, consumer)),
      context,
    );
  for (const trait of TRAITS) if (then[trait] !== undefined) Object.assign(route, { [trait]: then[trait] });
  if (then.isPure === true) return pure(route);
  return then.isTrusted === true ? trusted(route) : route;
}

/** @internal The candidate that the answer of a routing function is, or whose id it is. */
export function findChosen<C extends ConsumerView>(candidates: readonly C[], chosen: unknown): C | undefined {
  if (typeof chosen === "string") return candidates.find((one) => one.id === chosen);
  return candidates.includes(chosen as C) ? (chosen as C) : undefined;
}

/** @internal The answer of a routing function as text, for an error. */
export function describeChosen(chosen: unknown): string {
  if (isThenable(chosen)) return "a promise (a routing function answers at once)";
  const id = typeof chosen === "object" && chosen !== null ? (chosen as { id?: unknown }).id : undefined;
  return show(typeof id === "string" ? id : chosen);
}

/** @internal Which slots a dispatch with this routing function takes. */
export function takesOf(route: object): Takes {
  const { interchangeable } = route as Pick<RoutingFunction, "interchangeable">;
  if (interchangeable === undefined) return "chooses";
  return interchangeable ? "any" : "insists";
}

/** Not enumerable, so that code which copies the traits of a function to another one does not copy the trust. */
function trusted<T>(route: RoutingFunction<T>): RoutingFunction<T> {
  return Object.defineProperty(route, "isTrusted", { value: true });
}

/** @internal A trusted function that also runs outside of a process. */
export function pure<T>(route: RoutingFunction<T>): RoutingFunction<T> {
  return Object.defineProperty(trusted(route), "isPure", { value: true });
}

const TRAITS = ["affinityKey", "label", "interchangeable", "fields"] as const;

function checkKey(name: string, key: unknown): void {
  if (typeof key !== "function")
    throw new OptionError(`${name}(key)`, key, "a function from an envelope to its key");
}
