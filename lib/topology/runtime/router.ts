// The router chooses the task that gets a tuple, for each subscription of the stream. The outlet sends the tuple.

import type { Envelope } from "../../dispatch/envelope.js";
import type { ConsumerView } from "../../dispatch/member.js";
import type { RouteContext, RoutingFunction } from "../../dispatch/route.js";
import type { Environment } from "../../process/environment.js";

/** A task that a grouping can choose. */
export interface Target extends ConsumerView {
  readonly task: number;
}

/** The emitted tuple as the grouping sees it: an envelope. The object is used again for the next tuple. */
export class Emission implements Envelope<object> {
  payload: object = NOTHING;
  /** The task that a direct emit named. */
  directTask: number | undefined = undefined;
  readonly publisher: string;
  readonly schema: string;
  readonly node: string;
  private readonly env: Environment;

  constructor(component: string, stream: string, node: string, env: Environment) {
    this.publisher = component;
    this.schema = stream;
    this.node = node;
    this.env = env;
  }

  get id(): string {
    return this.env.id();
  }

  get timestamp(): number {
    return this.env.wallTime();
  }
}

const NOTHING = Object.freeze({});

/** The most keys for which a sticky grouping remembers the task. The oldest are forgotten first. */
const MOST_AFFINITIES = 100_000;

/** No task of the bolt runs. */
export const UNREACHABLE: unique symbol = Symbol("unreachable");

/** The choices along one subscription for one emitting task. Each emitting task has its own memory of choices. */
export class Router<T extends Target> {
  private readonly grouping: RoutingFunction<object>;
  private readonly context: Context;
  private readonly affinities: Map<string, T> | undefined;
  /** A direct grouping also chooses tasks that are down. When it chooses none, the tuple goes nowhere. */
  private readonly direct: boolean;

  /** @param firstTurn - the first turn, so that emitting tasks do not all begin with the same task */
  constructor(grouping: RoutingFunction<never>, firstTurn: number, env: Environment) {
    this.grouping = grouping as RoutingFunction<object>;
    this.context = new Context(firstTurn, env);
    this.affinities = grouping.affinityKey === undefined ? undefined : new Map();
    this.direct = (grouping as { readonly direct?: boolean }).direct === true;
  }

  /** The chosen task; undefined when the grouping chooses none. @param targets - the tasks of the bolt */
  choose(emission: Emission, targets: readonly T[]): T | undefined | typeof UNREACHABLE {
    const { grouping, context, affinities } = this;
    const key = affinities === undefined ? undefined : grouping.affinityKey?.(emission);
    if (key !== undefined) {
      const previous = affinities?.get(key);
      context.previous = previous !== undefined && targets.includes(previous) ? previous : undefined;
    }
    const choice = grouping(emission, targets, context);
    context.turn++;
    const target =
      typeof choice === "string" ? targets.find(({ id }) => id === choice) : (choice as T | undefined);
    if (target === undefined)
      return this.direct || targets.some(({ pressure }) => pressure !== "reject") ? undefined : UNREACHABLE;
    if (key !== undefined) this.remember(key, target);
    return target;
  }

  private remember(key: string, target: T): void {
    const affinities = this.affinities as Map<string, T>;
    affinities.delete(key);
    affinities.set(key, target);
    if (affinities.size <= MOST_AFFINITIES) return;
    for (const oldest of affinities.keys()) {
      affinities.delete(oldest);
      return;
    }
  }
}

/** One object for all choices, so that a choice does not allocate. */
class Context implements RouteContext {
  turn: number;
  previous: ConsumerView | undefined = undefined;
  private readonly env: Environment;

  constructor(turn: number, env: Environment) {
    this.turn = turn;
    this.env = env;
  }

  get roll(): number {
    return this.env.random();
  }
}
