// Spouts and bolts as their author writes them, and the contexts that their functions get.

import type { Context } from "../../process/context.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { callable, oneOf } from "../../process/options.js";
import { type ComponentConfig, checkConfig } from "./config.js";
import {
  type AnyValues,
  checkFields,
  checkInputs,
  checkStreams,
  type Field,
  type Fields,
  field,
  type Streams,
  type ValuesOf,
} from "./field.js";
import type { Tuple } from "./tuple.js";

/** Levels of a log line, the least urgent first. */
export type LogLevel = "trace" | "debug" | "info" | "warn" | "error";

/** The part of the context that all tasks have. */
export interface TaskContext<State = unknown> {
  /** The value that `init` returned. */
  readonly state: State;
  /** Name of the component. */
  readonly component: string;
  /** Id of this task: whole numbers from 1, unique within the topology. */
  readonly task: number;
  /** Which of the component's tasks this is, from 0. */
  readonly index: number;
  /**
   * Shared by all tasks of the component. It outlives the tasks: it lives as long as the topology runs. Disposable values
   * in it are disposed of when the topology has ended.
   */
  readonly shared: Map<unknown, unknown>;
  /** The context of the task's process: for calls to servers, helper processes and timers. */
  readonly process: Context<never>;
  /** Milliseconds of the system's clock. */
  now(): number;
  /** A number in [0, 1). */
  random(): number;
  /** Writes to the topology's log. A function is called only when the line is written. */
  log(level: LogLevel, line: string | (() => string)): void;
}

/** Options of an emit, for spouts and bolts. */
export interface EmitOptions {
  /**
   * The task that gets the tuple, on subscriptions with the grouping `direct()`. If none of these leads to that task, the
   * tuple fails.
   */
  readonly task?: number;
  /** Called with the ids of the tasks that got the tuple: at once or, under another host, when the host has answered. */
  readonly onTasks?: (tasks: readonly number[]) => void;
}

/** Options of an emit of a spout. */
export interface SpoutEmitOptions<Id> extends EmitOptions {
  /** Makes the tuple reliable: `ack` or `fail` is called with this, once. */
  readonly id?: Id;
}

/** Options of an emit of a bolt. */
export interface BoltEmitOptions extends EmitOptions {
  /**
   * The tuples whose trees the new tuple joins. Default: the tuple that the task is working on. An empty array: none.
   * After an `await`, the task may be working on another tuple by then. Emit first, or pass `anchors`.
   */
  readonly anchors?: Tuple<unknown> | readonly Tuple<unknown>[];
}

/** One function for each stream. It emits a tuple on the stream. */
export type Emitters<S, Options> = {
  readonly [K in keyof S]: (values: ValuesOf<S[K]>, options?: Options) => void;
};

/** Why a reliable tuple failed for good. */
export interface Failure {
  /** `failed`: a bolt failed the tuple, or ended; `expired`: it was not acked in time; `stopped`: the topology stopped. */
  readonly type: "failed" | "expired" | "stopped";
  /** How often the tuple was emitted. */
  readonly attempts: number;
  /** Whether a bolt that subscribes to the stream `dead` has acked its dead letter. */
  readonly deadLettered: boolean;
}

/** The context that the functions of a spout get. */
export interface SpoutContext<S, State, Id = unknown> extends TaskContext<State> {
  /** One function for each stream of the spout. It emits a tuple on the stream. */
  readonly emit: Emitters<S, SpoutEmitOptions<Id>>;
  /** Has `next` called now. For a source that has something new before the spout's wait is over. */
  wake(): void;
  /** This task emits no more: `next` is not called again. See `finished` of a running topology. */
  done(): void;
}

/** The context that the functions of a bolt get. */
export interface BoltContext<S, State> extends TaskContext<State> {
  /** One function for each stream of the bolt. It emits a tuple on the stream. */
  readonly emit: Emitters<S, BoltEmitOptions>;
  /** Acks a tuple. For bolts of mode `manual`. @throws SettledError when the tuple was acked or failed before */
  ack(tuple: Tuple<unknown>): void;
  /** Fails a tuple: its spout retries it, or is notified. @throws SettledError when the tuple was acked or failed before */
  fail(tuple: Tuple<unknown>): void;
  /**
   * Undefined when the bolts that this bolt emits to have buffer space; else a promise that resolves when they do. Await it between
   * the emits when one tuple emits very many. `executeTimeoutMs` does not count the time spent waiting.
   *
   * @example
   * const words = bolt({
   *   input: { text: field.text },
   *   streams: { words: { word: field.text } },
   *   execute: async ({ values }, { emit, ready }) => {
   *     for (const word of values.text.split(" ")) {
   *       emit.words({ word });
   *       await ready();
   *     }
   *   },
   * });
   */
  ready(): Promise<void> | undefined;
  /**
   * Restarts the message timeout and `executeTimeoutMs` of a tuple. For work that takes long. Default: the tuple that the
   * task is working on.
   *
   * @throws OptionError when the task is working on no tuple and none is given
   */
  extend(tuple?: Tuple<unknown>): void;
}

/** Hooks of spouts and bolts. Each may be asynchronous, and is awaited before the task does anything else. */
export interface Hooks<C> {
  /** Called when the topology runs, and when it resumes after a pause: bolts first, then spouts. */
  readonly activate?: (ctx: C) => unknown;
  /** Called when the topology pauses or stops. A bolt still works on tuples that are in flight. */
  readonly deactivate?: (ctx: C) => unknown;
  /**
   * Called when the task ends without a crash: release what `init` acquired. `final` is true when the topology stops or
   * the task is taken out, and false when the task is about to be restarted together with others.
   */
  readonly close?: (ctx: C, final: boolean) => unknown;
  /** Defaults for the component's configuration. The topology's settings for this component override them. */
  readonly config?: ComponentConfig;
}

/** The context of `init`. There is no state yet, and nothing can be emitted. */
export type InitContext = Omit<TaskContext<never>, "state">;

/** The definition of a spout, as its author writes it. */
export interface SpoutOptions<S extends Streams, State, Id> extends Hooks<SpoutContext<S, State, Id>> {
  /** The streams that the spout emits on, each with its fields. */
  readonly streams: S;
  /** Makes the state of a task, at every start and restart. */
  readonly init?: (ctx: InitContext) => State | Promise<State>;
  /**
   * Emits the tuples that there are. Called again and again while more tuples may be in flight. After a call that emitted
   * nothing, the next call follows after `spoutWaitMs`.
   */
  readonly next: (ctx: SpoutContext<S, State, Id>) => unknown;
  // Methods, so that the type that is stated for `id` here need not be known before `next` is read.
  /** @internal The spout emits no tuple with an id. */
  readonly loose?: boolean;
  /** Called when a reliable tuple and all tuples that descend from it are acked. */
  ack?(id: Id, ctx: SpoutContext<S, State, Id>): unknown;
  /** Called when a reliable tuple has failed and no retry is left. */
  fail?(id: Id, ctx: SpoutContext<S, State, Id>, failure: Failure): unknown;
}

/**
 * How a bolt settles its tuples. `ack`: acked when `execute` has ended, failed when it throws. `fail`: always failed.
 * `manual`: by the bolt's own calls of `ack` and `fail`.
 */
export type BoltMode = "ack" | "fail" | "manual";

/** The definition of a bolt, as its author writes it. */
export interface BoltOptions<S extends Streams, State, In> extends Hooks<BoltContext<S, State>> {
  /** The streams that the bolt emits on, each with its fields. */
  readonly streams?: S;
  /** Default `ack`: acked when `execute` is done, failed when it throws. */
  readonly mode?: BoltMode;
  /** Makes the state of a task, at every start and restart. */
  readonly init?: (ctx: InitContext) => State | Promise<State>;
  /**
   * Called for each tuple. It may return a promise, which is awaited. It may be a generator function, synchronous or
   * asynchronous: each next step runs when the bolts that this bolt emits to have buffer space, so that one tuple may emit any
   * number of tuples.
   */
  readonly execute: (tuple: In, ctx: BoltContext<S, State>) => unknown;
  /** Called once in every `tickMs` of the configuration. */
  readonly tick?: (ctx: BoltContext<S, State>) => unknown;
  /** @internal The bolt works on one tuple at a time, even with a higher `concurrency`: it depends on their order. */
  readonly oneAtATime?: boolean;
  /** @internal The bolt collects tuples, and works only on those that it reports by `Lineage.works`. */
  readonly collects?: boolean;
  /** @internal Even a stop without time to drain waits for its `close`: the bolt has a program outside of this host. */
  readonly closes?: boolean;
  /** How many milliseconds the bolt may hold a tuple before it settles it. Must be less than the tuple takes to expire. */
  readonly holdsMs?: number;
  /** How many tuples a task must hold before it settles the first, unless something else makes it settle them. */
  readonly holdsCount?: number;
  /** Called when the topology drains and no tuple is in work: settle the tuples that are held, emit the sums. */
  readonly flush?: (ctx: BoltContext<S, State>) => unknown;
}

/** The streams that a bolt reads, by name; under the name `*`, the fields that every stream must carry. */
export type Inputs = Streams;

/** The inputs of a bolt that reads any streams with the fields `F`. */
export type AnyStream<F> = {
  /** The fields that every stream must carry. */
  readonly "*": F;
};

/** States the inputs of a bolt once for all streams that it reads. */
export interface InputOption<F> {
  /** The fields that every stream that the bolt reads must carry. */
  readonly input: F;
}

/** States the inputs of a bolt by stream. */
export interface InputsOption<I> {
  /** The streams that the bolt reads, by name, each with the fields that it must carry. */
  readonly inputs: I;
}

/** The tuples of a bolt with these inputs. */
export type TupleOf<I> = {
  [K in keyof I & string]: Tuple<ValuesOf<I[K]>, K extends "*" ? string : K>;
}[keyof I & string];

/** Fields of a spout's stream `dead`. */
export const DEAD_FIELDS: DeadFields<AnyValues, unknown> = {
  id: field.of(),
  stream: field.text,
  values: field.of(),
  attempts: field.number,
  reason: field.of(),
};

/** Fields of the stream `dead` for tuples with these values and ids. */
export type DeadFields<Values, Id> = {
  /** The id that the spout gave to the tuple. */
  readonly id: Field<Id>;
  /** Name of the stream on which the tuple was emitted. */
  readonly stream: Field<string>;
  /** The values of the tuple. */
  readonly values: Field<Values>;
  /** How often the tuple was emitted, from 0. Tries that failed by no fault of the tuple do not count. */
  readonly attempts: Field<number>;
  /** The reason why the tuple failed for good, as in {@link Failure.type}. */
  readonly reason: Field<Failure["type"]>;
};

/** The stream `dead` of every spout: its reliable tuples that failed for good, when a bolt subscribes to the stream. */
export type DeadStream<S = Streams, Id = unknown> = {
  /** The reliable tuples of the spout that failed for good. */
  readonly dead: DeadFields<{ readonly [K in keyof S]: ValuesOf<S[K]> }[keyof S], Id>;
};

declare const reads: unique symbol;

/** The definition of a component that brings tuples into a topology. `spout()` makes it. */
export interface SpoutDefinition<S extends Streams = Streams> {
  readonly kind: "spout";
  /** The streams that the spout emits on, each with its fields; `dead` is one of them. */
  readonly streams: S;
  /** @internal */
  readonly options: SpoutOptions<Streams, unknown, unknown>;
}

/** The definition of a component that works on tuples. `bolt()` makes it. */
export interface BoltDefinition<I extends Inputs = Inputs, S extends Streams = Streams> {
  readonly kind: "bolt";
  /** The streams that the bolt reads, by name. `*` stands for every stream. */
  readonly inputs: Inputs;
  /** The streams that the bolt emits on, each with its fields. */
  readonly streams: S;
  /** @internal */
  readonly options: BoltOptions<Streams, unknown, Tuple>;
  /** Exists only as a type, for the check of subscriptions. */
  readonly [reads]?: (inputs: I) => void;
}

/** The definition of any component. */
export type Definition = SpoutDefinition | BoltDefinition<never>;

/**
 * Defines a spout. A tuple that is emitted with an `id` is reliable: it is tracked until all tuples that descend from it
 * are acked, it is retried when it fails, and `ack` or `fail` is called with the id once. A tuple without an `id` is not
 * tracked.
 *
 * @throws OptionError when a part of the definition is not what it has to be
 * @example
 * const numbers = spout({
 *   streams: { numbers: { n: field.number } },
 *   init: () => ({ next: 1 }),
 *   next: ({ emit, state }) => {
 *     if (state.next <= 100) emit.numbers({ n: state.next }, { id: state.next++ });
 *   },
 *   ack: (id: number) => console.log(`${id} is done`),
 * });
 */
export function spout<S extends Streams, State = undefined, Id = unknown>(
  options: SpoutOptions<S, State, Id>,
): SpoutDefinition<S & DeadStream<S, Id>> {
  checkObject("spout(options)", options);
  only("", options, ["streams", "next", "ack", "fail", "loose", ...HOOKS, "config"]);
  const streams = checkStreams("streams", options.streams);
  if ("dead" in streams)
    throw new OptionError(
      "streams.dead",
      "dead",
      "a stream of another name: every spout has one called `dead`",
    );
  callable("next", options.next);
  checkFunctions(options, [...HOOKS, "ack", "fail"]);
  return Object.freeze({
    kind: "spout",
    streams: { ...streams, dead: DEAD_FIELDS } as unknown as S & DeadStream<S, Id>,
    options: options as unknown as SpoutDefinition["options"],
  });
}

/**
 * Defines a bolt. `input` states the fields that every stream it reads must carry; `inputs` states the streams it reads
 * by name, which `tuple.stream` tells apart. The tuples that it emits join the trees of the tuple that it is working on.
 *
 * @throws OptionError when a part of the definition is not what it has to be
 * @example
 * const split = bolt({
 *   input: { text: field.text },
 *   streams: { words: { word: field.text } },
 *   execute: ({ values }, { emit }) => {
 *     for (const word of values.text.split(" ")) emit.words({ word });
 *   },
 * });
 */
export function bolt<F extends Fields, S extends Streams = Record<never, never>, State = undefined>(
  options: BoltOptions<S, State, Tuple<ValuesOf<F>>> & InputOption<F>,
): BoltDefinition<AnyStream<F>, S>;
export function bolt<I extends Inputs, S extends Streams = Record<never, never>, State = undefined>(
  options: BoltOptions<S, State, TupleOf<I>> & InputsOption<I>,
): BoltDefinition<I, S>;
export function bolt(
  options: BoltOptions<Streams, unknown, never> & { readonly input?: Fields; readonly inputs?: Inputs },
): BoltDefinition<Inputs, Streams> {
  checkObject("bolt(options)", options);
  only("", options, BOLT_OPTIONS);
  checkInputs("bolt(options)", options);
  const inputs =
    options.input === undefined
      ? checkStreams("inputs", options.inputs)
      : Object.freeze({ "*": checkFields("input", options.input) });
  const streams = checkStreams("streams", options.streams ?? {});
  callable("execute", options.execute);
  checkFunctions(options, [...HOOKS, "tick", "flush"]);
  oneOf("mode", options.mode ?? "ack", ["ack", "fail", "manual"]);
  return Object.freeze({
    kind: "bolt",
    inputs,
    streams,
    options: options as unknown as BoltDefinition["options"],
  });
}

const HOOKS = ["init", "activate", "deactivate", "close"] as const;
/** With those that only bolts of the library set. */
const BOLT_OPTIONS = [
  ...[
    "input",
    "inputs",
    "streams",
    "mode",
    "execute",
    "tick",
    "flush",
    "holdsMs",
    "holdsCount",
    ...HOOKS,
    "config",
  ],
  ...["oneAtATime", "closes", "collects"],
];

function checkFunctions(options: object, names: readonly string[]): void {
  for (const name of names) {
    const value = (options as Record<string, unknown>)[name];
    if (value !== undefined) callable(name, value);
  }
  checkConfig("config", (options as { config?: unknown }).config ?? {});
}

function checkObject(path: string, value: unknown): void {
  if (typeof value !== "object" || value === null) throw new OptionError(path, value, "an object");
}
