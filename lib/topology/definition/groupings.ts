// Groupings choose the task of a bolt that gets a tuple. Each is a routing function of dispatch. Its consumers are the
// bolt's tasks: `delivered` counts their tuples, and the pressure of a task that is down is "reject".

import type { Envelope } from "../../dispatch/envelope.js";
import type { ConsumerView, Pressure } from "../../dispatch/member.js";
import { Ranking, type RoutingFunction } from "../../dispatch/route.js";
import { text } from "../../process/options.js";
import { GROUPING, type GroupingForm, type GroupingKind } from "./grouping-form.js";
import { keyHash } from "./key-hash.js";

/** An emit, besides its values. */
interface Emission {
  /** The task that the emit names. */
  readonly directTask?: number | undefined;
  /** The node of the emitting task. */
  readonly node?: string | undefined;
}

/**
 * Chooses the task with the fewest tuples queued and in work; equal tasks take turns. Tasks of the same speed get the same
 * share. A slow task gets as many tuples as it can work on, and a task that hangs gets no more. Tasks that run and have
 * buffer space come first; when none has, all that run.
 *
 * @example const choice = grouping.shuffle();
 */
export function shuffle<T>(): RoutingFunction<T> {
  return leastInTurn("shuffle");
}

function leastInTurn<T>(label: "shuffle" | "none"): RoutingFunction<T> {
  const route: RoutingFunction<T> = (_envelope, consumers, { turn }) => least(consumers, turn, undefined);
  return Object.assign(route, { label, interchangeable: true, ...form(label) });
}

/** One of the least loaded that have buffer space; if none has, of those that run. @param node - only tasks of this node */
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
 * Chooses the same task for the same values of these fields. When a task is added, it takes over its share, and all other
 * keys stay where they are. While a task is down, its tuples fail, and are retried until the task is up.
 *
 * Values of different types are different. Objects are the same when their JSON is the same, so the order of their
 * properties counts. A value that cannot be written as JSON makes the emit throw.
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
  return Object.assign(route, {
    label: `fields(${names.join(", ")})`,
    fields: names,
    ...form("fields", names),
  });
}

/**
 * Chooses one of two tasks for the same values of these fields: the one that got fewer tuples so far. This evens out the
 * load when some keys are much more frequent than others. For bolts whose results per key are combined by the next bolt.
 * While one of the two tasks is down, the other gets all tuples. Values are compared as by {@link fields}.
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
    // The paper takes a second hash. The second of the same ranking is never the same task.
    const other = ranking.first(consumers, key, one);
    return one === undefined || other === undefined ? one : freer(one, other);
  };
  return Object.assign(route, {
    label: `partial key(${names.join(", ")})`,
    fields: names,
    ...form("partialKey", names),
  });
}

/**
 * Every task gets a copy of every tuple. Each copy is acked or failed by itself.
 *
 * @example const choice = grouping.all();
 */
export function all<T>(): RoutingFunction<T> {
  const route: RoutingFunction<T> = () => undefined;
  return Object.assign(route, { label: "all", everyone: true, ...form("all") });
}

/**
 * Chooses the task with the lowest id, always.
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
  return Object.assign(route, { label: "global", ...form("global") });
}

/**
 * Chooses the task that the emit names by its option `task`, and no task when the emit names none. A tuple for a task that
 * is not among the subscribers of its stream fails, for instance after scaling took the task out.
 *
 * @example const choice = grouping.direct();
 */
export function direct<T>(): RoutingFunction<T> {
  const route: RoutingFunction<T> = (envelope, consumers) => {
    const { directTask } = envelope as Envelope<T> & Emission;
    return directTask === undefined ? undefined : consumers.find((one) => taskOf(one) === directTask);
  };
  return Object.assign(route, { label: "direct", direct: true, ...form("direct") });
}

/**
 * Chooses as {@link shuffle} does, among the tasks with buffer space on the node of the emitting task, so that tuples stay on the
 * node. When none of these has any, among all tasks.
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
  return Object.assign(route, {
    label: "local or shuffle",
    interchangeable: true,
    ...form("localOrShuffle"),
  });
}

/**
 * Chooses as {@link shuffle} does. In Storm it says that any task will do.
 *
 * @example const choice = grouping.none();
 */
export function none<T>(): RoutingFunction<T> {
  return leastInTurn("none");
}

/** Marks a built-in grouping. */
function form(kind: GroupingKind, fields: readonly string[] = []): { readonly [GROUPING]: GroupingForm } {
  return { [GROUPING]: { kind, fields } };
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
