// Builds a topology: components are added one after the other. The type of the builder has the streams so far, so that a
// subscription to a stream that no component emits, or that lacks a field, does not compile.

import { OptionError } from "../process/errors.js";
import { only } from "../process/known-options.js";
import { text } from "../process/options.js";
import { type ProgramHost, programHost } from "../process/program-host.js";
import type { Blueprint, ComponentPlan, Grouping, Subscription } from "./definition/blueprint.js";
import { findProblems } from "./definition/check.js";
import type { BoltDefinition, Definition, Inputs, SpoutDefinition } from "./definition/component.js";
import {
  COMPONENT_OPTIONS,
  type ComponentConfig,
  checkConfig,
  checkTopologyConfig,
  fullConfig,
  type TopologyConfig,
} from "./definition/config.js";
import { type Problem, TopologyError } from "./definition/errors.js";
import { checkName, type Fields, type Streams, type ValuesOf } from "./definition/field.js";
import { shuffle } from "./definition/groupings.js";
import { placedBolt } from "./multilang/host/placed-bolt.js";
import { type Topology, topologyOf } from "./topology.js";

/** The streams of a topology, each under `component.stream`. */
export type KnownStreams = Readonly<Record<string, Fields>>;

/** The streams of one component, as keys of subscriptions. */
export type StreamKeys<N extends string, S extends Streams> = {
  readonly [K in keyof S & string as `${N}.${K}`]: S[K];
};

/** Whether a bolt with inputs `I` can read the stream `Key` with fields `F`. */
type Reads<I extends Inputs, Key extends string, F extends Fields> = "*" extends keyof I
  ? Carries<F, I["*"]>
  : Key extends `${string}.${infer S}`
    ? S extends keyof I
      ? Carries<F, I[S]>
      : false
    : false;

type Carries<F, Wanted> = ValuesOf<F> extends ValuesOf<Wanted> ? true : false;

/** The streams that a bolt with inputs `I` can read. */
export type ReadableBy<K extends KnownStreams, I extends Inputs> = {
  [Key in keyof K & string]: Reads<I, Key, K[Key]> extends true ? Key : never;
}[keyof K & string];

/** A subscription: its grouping, and whether its tuples join the trees of the tuples that they were emitted for. */
export interface SubscriptionOptions<V> {
  /** Default {@link shuffle}. */
  readonly grouping?: Grouping<V>;
  /** Default true. */
  readonly anchored?: boolean;
}

/** Why a bolt cannot read a stream, as a text that the compiler shows. */
type Lack<I extends Inputs, Key extends string, F extends Fields> = "*" extends keyof I
  ? LackingField<F, I["*"]>
  : Key extends `${string}.${infer S}`
    ? S extends keyof I
      ? LackingField<F, I[S]>
      : `it reads only streams called ${keyof I & string}`
    : never;

type LackingField<F, Wanted> = {
  [Name in keyof Wanted & string]: Name extends keyof F
    ? ValuesOf<F>[Name] extends (Name extends keyof ValuesOf<Wanted> ? ValuesOf<Wanted>[Name] : never)
      ? never
      : `the field ${Name} is of another type`
    : `the field ${Name} is missing`;
}[keyof Wanted & string];

/**
 * The subscriptions of a bolt: a grouping, or more options, for each stream `component.stream`. For a stream that the bolt
 * cannot read, the type is a text that says why, for the compiler to show.
 */
export type Subscriptions<K extends KnownStreams, I extends Inputs> = [keyof K] extends [never]
  ? // A type without properties would accept any property.
    Readonly<Record<string, never>>
  : {
      readonly [Key in keyof K & string]?: Reads<I, Key, K[Key]> extends true
        ? Grouping<ValuesOf<K[Key]>> | SubscriptionOptions<ValuesOf<K[Key]>>
        : `cannot read ${Key}: ${Lack<I, Key, K[Key]>}`;
    };

/** The tasks and executors of a component, and its configuration. */
export interface Placement extends ComponentConfig {
  /** The number of tasks. Each is a process. Default 1. */
  readonly tasks?: number;
  /** The number of supervisors that the tasks are spread over. Default: one for each task. */
  readonly executors?: number;
}

export interface BoltPlacement<K extends KnownStreams, I extends Inputs> extends Placement {
  /**
   * Where the tasks have their work done: the result of `threads`, or of `joinCluster`. The module there has the bolt among its programs,
   * by `boltProgram`. Default: here.
   */
  readonly on?: ProgramHost;
  /** The name of the program there. Default: the name of the component. */
  readonly program?: string;
  /** The streams that the bolt reads. */
  readonly from?: Subscriptions<K, I>;
}

/** The options of a spout beside its definition; a bolt has its subscriptions, too. */
const PLACEMENT: readonly string[] = ["tasks", "executors", ...COMPONENT_OPTIONS];

/** A component that was added, not yet checked against the others. */
export interface Draft {
  /** Name under which the component was added. */
  readonly name: string;
  /** The result of `spout()` or `bolt()`. */
  readonly definition: Definition;
  /** The tasks, executors and configuration, as given. */
  readonly placement: Placement;
}

/** A subscription that was added, not yet checked. */
export interface DraftSubscription {
  /** `component.stream`. */
  readonly from: string;
  /** Name of the bolt that subscribes. */
  readonly to: string;
  /** The grouping or the options, as given; undefined when neither was given. */
  readonly how: Grouping<never> | SubscriptionOptions<never> | undefined;
}

/**
 * Builds a topology. Every method returns a new builder. `build()` checks the whole.
 *
 * `K`: the streams; `B`: the inputs of the bolts.
 */
export class TopologyBuilder<
  K extends KnownStreams = Record<never, never>,
  B extends Readonly<Record<string, Inputs>> = Record<never, never>,
> {
  /** Name of the topology. */
  readonly name: string;
  /** Exists only as a type, for the types of later subscriptions. */
  declare readonly known?: {
    /** The streams of all components added so far, by `component.stream`. */
    readonly streams: K;
    /** The inputs of the bolts added so far, by the name of the bolt. */
    readonly bolts: B;
  };
  readonly #config: TopologyConfig;
  readonly #drafts: readonly Draft[];
  readonly #subscriptions: readonly DraftSubscription[];

  /** @internal */
  constructor(
    name: string,
    config: TopologyConfig,
    drafts: readonly Draft[] = [],
    subscriptions: readonly DraftSubscription[] = [],
  ) {
    this.name = name;
    this.#config = config;
    this.#drafts = drafts;
    this.#subscriptions = subscriptions;
  }

  /** Adds a spout under a name. @throws OptionError when the definition is not a spout's */
  spout<N extends string, S extends Streams>(
    name: N,
    definition: SpoutDefinition<S>,
    placement: Placement = {},
  ): TopologyBuilder<K & StreamKeys<N, S>, B> {
    checkKind(name, definition, "spout");
    return this.#with([{ name, definition, placement: given(placement) }], []);
  }

  /**
   * Adds a bolt under a name, with its subscriptions.
   *
   * @example
   * const lines = spoutFrom([{ text: "to be" }], { fields: { text: field.text } });
   * const print = bolt({ input: { text: field.text }, execute: ({ values }) => console.log(values.text) });
   * topology("lines")
   *   .spout("lines", lines)
   *   .bolt("print", print, { tasks: 2, from: { "lines.items": grouping.shuffle() } });
   */
  bolt<N extends string, I extends Inputs, S extends Streams>(
    name: N,
    definition: BoltDefinition<I, S>,
    placement: BoltPlacement<K, I> = {},
  ): TopologyBuilder<K & StreamKeys<N, S>, B & { readonly [name in N]: I }> {
    checkKind(name, definition, "bolt");
    const { from = {}, ...rest } = given(placement);
    const subscriptions = Object.entries(from).map(([key, how]) => ({
      from: key,
      to: name,
      how: how as DraftSubscription["how"],
    }));
    return this.#with([{ name, definition, placement: rest }], subscriptions);
  }

  /** Adds a subscription to a bolt that was added before: for cycles, and for subscriptions between merged topologies. */
  subscribe<N extends keyof B & string, Key extends ReadableBy<K, B[N]>>(
    from: Key,
    to: N,
    how?: Grouping<ValuesOf<K[Key]>> | SubscriptionOptions<ValuesOf<K[Key]>>,
  ): TopologyBuilder<K, B> {
    text("from", from);
    return this.#with([], [{ from, to, how: how as DraftSubscription["how"] }]);
  }

  /** Adds the components of another topology, under the name and configuration of this one. */
  merge<K2 extends KnownStreams, B2 extends Readonly<Record<string, Inputs>>>(
    other: TopologyBuilder<K2, B2>,
  ): TopologyBuilder<K & K2, B & B2> {
    if (!(other instanceof TopologyBuilder))
      throw new OptionError("other", other, "a topology made by topology()");
    // Components and subscriptions that both have from the same builder are added once.
    const drafts = other.#drafts.filter((draft) => !this.#drafts.includes(draft));
    const subscriptions = other.#subscriptions.filter(
      (subscription) => !this.#subscriptions.includes(subscription),
    );
    return this.#with(drafts, subscriptions);
  }

  /** Checks the whole and makes the topology. @throws TopologyError that names every problem and its component */
  build(): Topology {
    const problems: Problem[] = [];
    const plans = this.#drafts.map((draft) => planOf(draft, this.#config, problems));
    const subscriptions = this.#subscriptions.flatMap((subscription) =>
      subscriptionOf(subscription, plans, problems),
    );
    const blueprint: Blueprint = {
      name: this.name,
      config: fullConfig(this.#config),
      components: plans,
      subscriptions,
    };
    problems.push(...findProblems(blueprint));
    if (problems.length > 0) throw new TopologyError(this.name, problems);
    return topologyOf(blueprint);
  }

  #with<K2 extends KnownStreams, B2 extends Readonly<Record<string, Inputs>>>(
    drafts: readonly Draft[],
    subscriptions: readonly DraftSubscription[],
  ): TopologyBuilder<K2, B2> {
    return new TopologyBuilder<K2, B2>(
      this.name,
      this.#config,
      [...this.#drafts, ...drafts],
      [...this.#subscriptions, ...subscriptions],
    );
  }
}

/**
 * Begins a topology.
 *
 * @param config - the options of the topology, and the defaults of its components; see TOPOLOGY_DEFAULTS
 * @throws OptionError
 * @example
 * const sentences = spoutFrom([{ text: "to be or not" }], { fields: { text: field.text } });
 * const split = bolt({
 *   input: { text: field.text },
 *   streams: { words: { word: field.text } },
 *   execute: ({ values }, { emit }) => {
 *     for (const word of values.text.split(" ")) emit.words({ word });
 *   },
 * });
 * const count = bolt({ input: { word: field.text }, execute: ({ values }) => console.log(values.word) });
 * const counted = topology("word-count", { maxPending: 1_000 })
 *   .spout("sentences", sentences)
 *   .bolt("split", split, { tasks: 2, from: { "sentences.items": grouping.shuffle() } })
 *   .bolt("count", count, { tasks: 2, from: { "split.words": grouping.fields("word") } })
 *   .build();
 * await system.start(counted);
 */
export function topology(name: string, config: TopologyConfig = {}): TopologyBuilder {
  return new TopologyBuilder(
    checkName("topology(name)", name),
    checkTopologyConfig("topology(config)", config),
  );
}

/** Checks only that options were given: the options themselves are checked when the topology is built. @throws OptionError */
function given<T extends object>(placement: T): T {
  if (typeof placement === "object" && placement !== null && !Array.isArray(placement)) return placement;
  throw new OptionError("placement", placement, "an object of tasks, executors and the like");
}

function planOf(
  { name, definition, placement }: Draft,
  config: TopologyConfig,
  problems: Problem[],
): ComponentPlan {
  const { tasks = 1, executors = tasks, on, program, ...own } = placement as BoltPlacement<never, never>;
  const attempt = <T>(fn: () => T, otherwise: T): T => {
    try {
      return fn();
    } catch (error) {
      problems.push({
        component: String(name),
        text: (error as Error).message,
      });
      return otherwise;
    }
  };
  attempt(() => checkName("its name", name), name);
  const known = definition.kind === "bolt" ? [...PLACEMENT, "from", "on", "program"] : PLACEMENT;
  const inherent = definition.options.config ?? {};
  const full = fullConfig(
    attempt(() => {
      only("its configuration", own, known);
      return checkConfig("its configuration", own);
    }, {}),
    inherent,
    config,
  );
  const plan = {
    name,
    kind: definition.kind,
    streams: definition.streams,
    tasks,
    executors,
  };
  if (on === undefined && program === undefined) return { ...plan, definition, config: full };
  return attempt(
    () => {
      if (definition.kind !== "bolt")
        throw new OptionError("on", on, "left out for a spout, which runs here");
      const place = {
        host: programHost("on", on),
        program: text("program", program ?? name),
        config: full,
      };
      // The program has the limit of its time and the clock of its ticks.
      return {
        ...{
          ...plan,
          definition: placedBolt(definition as BoltDefinition, place),
        },
        config: { ...full, executeTimeoutMs: undefined, tickMs: undefined },
      };
    },
    { ...plan, definition, config: full },
  );
}

/** Checked at once, since no other check makes sense without it. @throws OptionError */
function checkKind(name: unknown, definition: Definition | undefined, kind: Definition["kind"]): void {
  if (definition?.kind !== kind || typeof definition.options !== "object")
    throw new OptionError(String(name), definition, `a definition that ${kind}() or the like has made`);
}

function subscriptionOf(
  { from, to, how }: DraftSubscription,
  plans: readonly ComponentPlan[],
  problems: Problem[],
): Subscription[] {
  const [component = "", stream = ""] = from.split(".");
  const source = plans.find((plan) => plan.name === component);
  const fields = source?.streams[stream];
  if (fields === undefined) {
    const known = plans.flatMap((plan) => Object.keys(plan.streams).map((name) => `${plan.name}.${name}`));
    problems.push({
      component: to,
      text: `reads ${from}, which no component emits; there are ${known.join(", ")}`,
    });
    return [];
  }
  const options: SubscriptionOptions<never> =
    typeof how === "function" ? { grouping: how } : how === undefined ? {} : how;
  const refuse = (text: string): [] => {
    problems.push({
      component: to,
      text: `its subscription to ${from} ${text}`,
    });
    return [];
  };
  const allowed = "must be a grouping, such as shuffle(), or { grouping, anchored }";
  try {
    only("", options, ["grouping", "anchored"]);
  } catch (error) {
    return refuse(`${allowed}: ${(error as Error).message}`);
  }
  const { grouping = shuffle(), anchored = true } = options;
  if (typeof grouping !== "function" || typeof anchored !== "boolean") return refuse(allowed);
  return [{ from: component, stream, to, fields, grouping, anchored }];
}
