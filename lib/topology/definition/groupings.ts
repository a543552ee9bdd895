// Groupings: which task of a bolt gets a tuple. Each is a routing function of dispatch; a topology gives it the bolt's
// tasks as consumers, whose `delivered` counts tuples, and whose pressure is "reject" while a task is down.

import type { Envelope } from "../../dispatch/envelope.js";
import type { ConsumerView, Pressure } from "../../dispatch/member.js";
import { Ranking, type RoutingFunction } from "../../dispatch/route.js";
import { text } from "../../process/options.js";
import { keyHash } from "./key-hash.js";

/** What a topology says of an emit besides the values. */
interface Emission {
  /** The task that the emit names. */
  readonly directTask?: number | undefined;
  /** The node that it is made on. */
  readonly node?: string | undefined;
}

/**
 * The task with the fewest tuples in front of it and in work, each in turn among equals: even among tasks that are
 * equally fast, while one that is slow gets what it can do, and one that hangs gets nothing more. Tasks that are up and
 * have room come first; when none has room, those that are up.
 *
 * @example const choice = grouping.shuffle();
 */
export function shuffle<T>(): RoutingFunction<T> {
  return leastInTurn("shuffle");
}

function leastInTurn<T>(label: string): RoutingFunction<T> {
  const route: RoutingFunction<T> = (_envelope, consumers, { turn }) => least(consumers, turn, undefined);
  return Object.assign(route, { label, interchangeable: true });
}

/** One of the least loaded that have room, or else of those that would wait. @param node - where it has to be, if given */
function least(
  consumers: readonly ConsumerView[],
  turn: number,
  node: string | undefined,
): ConsumerView | undefined {
  let wanted: Pressure = "defer";
  let load = Number.POSITIVE_INFINITY;
  let best: ConsumerView | undefined;
  let equals = 0;
  for (const one of consumers) {
    if (node !== undefined && one.tags.node !== node) continue;
    const { pressure, inFlight } = one;
    if (pressure !== wanted) {
      if (pressure !== "accept") continue;
      wanted = pressure;
      load = Number.POSITIVE_INFINITY;
    }
    if (inFlight < load) {
      load = inFlight;
      best = one;
      equals = 1;
    } else if (inFlight === load) equals++;
  }
  if (equals < 2) return best;
  let before = turn % equals;
  for (const one of consumers) {
    if (node !== undefined && one.tags.node !== node) continue;
    if (one.inFlight === load && one.pressure === wanted && before-- === 0) return one;
  }
  return undefined;
}

/**
 * The same task for the same values of these fields. A task more takes over its share and leaves the rest where it was.
 * In a topology, tuples of a task that is down fail and are tried again until it is up.
 *
 * Values of different types are different. Objects are the same when their JSON is, so the order of their properties
 * counts; one that cannot be written as JSON makes the emit throw.
 *
 * @throws OptionError when a name is not a text
 * @example const choice = grouping.fields("word", "file");
 */
export function fields<K extends string>(
  first: K,
  ...more: K[]
): RoutingFunction<Readonly<Record<K, unknown>>> {
  const names = checkNames("fields", [first, ...more]);
  const keyOf = keyHash(names);
  const ranking = new Ranking();
  const route: RoutingFunction<Readonly<Record<K, unknown>>> = (envelope, consumers) =>
    ranking.first(consumers, keyOf(envelope.payload));
  return Object.assign(route, { label: `fields(${names.join(", ")})`, fields: names });
}

/**
 * One of two tasks for the same values of these fields: whichever was given less so far, of all keys. Evens out the load
 * when some keys are much more frequent than others. For bolts whose results per key can be put together by the next
 * bolt. While one of the two is down, the other gets all. Values are compared as by {@link fields}.
 *
 * @throws OptionError when a name is not a text
 * @see Nasir et al., "The Power of Both Choices: Practical Load Balancing for Distributed Stream Processing Engines",
 * ICDE 2015
 * @example const choice = grouping.partialKey("word");
 */
export function partialKey<K extends string>(
  first: K,
  ...more: K[]
): RoutingFunction<Readonly<Record<K, unknown>>> {
  const names = checkNames("partialKey", [first, ...more]);
  const keyOf = keyHash(names);
  const ranking = new Ranking();
  const route: RoutingFunction<Readonly<Record<K, unknown>>> = (envelope, consumers) => {
    const key = keyOf(envelope.payload);
    const one = ranking.first(consumers, key);
    // The second of the same ranking, where the paper has a second hash: never the same task twice.
    const other = ranking.first(consumers, key, one);
    return one === undefined || other === undefined ? one : freer(one, other);
  };
  return Object.assign(route, { label: `partial key(${names.join(", ")})`, fields: names });
}

/**
 * Every task gets every tuple: each a copy, acked or failed by itself.
 *
 * @example const choice = grouping.all();
 */
export function all<T>(): RoutingFunction<T> {
  const route: RoutingFunction<T> = () => undefined;
  return Object.assign(route, { label: "all", everyone: true });
}

/**
 * Always the task with the lowest id.
 *
 * @example const choice = grouping.global();
 */
export function global<T>(): RoutingFunction<T> {
  const route: RoutingFunction<T> = (_envelope, consumers) => {
    let lowest: ConsumerView | undefined;
    for (const consumer of consumers) {
      if (lowest === undefined || taskOf(consumer) < taskOf(lowest)) lowest = consumer;
    }
    return lowest;
  };
  return Object.assign(route, { label: "global" });
}

/**
 * The task that the emit names, by its option `task`; none when it names none. A tuple for a task that no such subscription of
 * its stream leads to fails: it never existed, or was taken out by scaling.
 *
 * @example const choice = grouping.direct();
 */
export function direct<T>(): RoutingFunction<T> {
  const route: RoutingFunction<T> = (envelope, consumers) => {
    const { directTask } = envelope as Envelope<T> & Emission;
    return directTask === undefined ? undefined : consumers.find((one) => taskOf(one) === directTask);
  };
  return Object.assign(route, { label: "direct", direct: true });
}

/**
 * As {@link shuffle} among the tasks with room on the node of the emitting task, so that tuples need not travel; when
 * none of these has room, among all.
 *
 * @example const choice = grouping.localOrShuffle();
 */
export function localOrShuffle<T>(): RoutingFunction<T> {
  const route: RoutingFunction<T> = (envelope, consumers, { turn }) => {
    const { node } = envelope as Envelope<T> & Emission;
    const local = least(consumers, turn, node);
    if (local?.pressure === "accept") return local;
    const anywhere = least(consumers, turn, undefined);
    return anywhere?.pressure === "accept" ? anywhere : (local ?? anywhere);
  };
  return Object.assign(route, { label: "local or shuffle", interchangeable: true });
}

/**
 * The author does not care which: as {@link shuffle}, as it is in Storm.
 *
 * @example const choice = grouping.none();
 */
export function none<T>(): RoutingFunction<T> {
  return leastInTurn("none");
}

function taskOf(consumer: ConsumerView): number {
  return consumer.tags.task as number;
}

const RANKS = { accept: 0, defer: 1, reject: 2 } as const;

function freer(one: ConsumerView, other: ConsumerView): ConsumerView {
  const [a, b] = [RANKS[one.pressure], RANKS[other.pressure]];
  if (a !== b) return a < b ? one : other;
  return one.delivered <= other.delivered ? one : other;
}

function checkNames<K extends string>(grouping: string, names: readonly K[]): readonly K[] {
  for (const name of names) text(`a field's name in ${grouping}(…)`, name);
  return names;
}
