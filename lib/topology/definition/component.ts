// What a spout and a bolt are, as their author writes them, and what they are given to work with.

import type { Context } from "../../process/context.js";
import { OptionError } from "../../process/errors.js";
import { oneOf } from "../../process/options.js";
import { type ComponentConfig, checkConfig } from "./config.js";
import {
  type AnyValues,
  checkFields,
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

/** What every task of a component can do and know. */
export interface TaskContext<State = unknown> {
  /** What `init` made. */
  readonly state: State;
  /** Name of the component. */
  readonly component: string;
  /** Id of this task: whole numbers from 1, unique within the topology. */
  readonly task: number;
  /** Which of the component's tasks this is, from 0. */
  readonly index: number;
  /**
   * Kept for the component while the topology runs: its tasks share it, and it outlives them. What is disposable is
   * disposed of when the topology has ended.
   */
  readonly shared: Map<unknown, unknown>;
  /** The process that this task is: to call servers, start helpers, use timers. */
  readonly process: Context<never>;
  /** Milliseconds of the system's clock. */
  now(): number;
  /** A number in [0, 1). */
  random(): number;
  /** Writes to the topology's log. A function is called only when somebody wants the line. */
  log(level: LogLevel, line: string | (() => string)): void;
}

/** Options of an emit, for spouts and bolts. */
export interface EmitOptions {
  /** Which task gets it, on subscriptions with the grouping `direct()`. If none of these leads to that task, the tuple fails. */
  readonly task?: number;
  /** Is told the ids of the tasks that it was sent to: at once, or, under another host, when that has answered. */
  readonly onTasks?: (tasks: readonly number[]) => void;
}

export interface SpoutEmitOptions<Id> extends EmitOptions {
  /** Makes the tuple reliable: `ack` or `fail` is called with this, once. */
  readonly id?: Id;
}

export interface BoltEmitOptions extends EmitOptions {
  /** The tuples it comes from, whose trees it joins. Default: the one at hand; an empty array for none. */
  readonly anchors?: Tuple<unknown> | readonly Tuple<unknown>[];
}

/** One function for each stream: emits a tuple on it. */
export type Emitters<S, Options> = {
  readonly [K in keyof S]: (values: ValuesOf<S[K]>, options?: Options) => void;
};

/** Why a reliable tuple failed for good. */
export interface Failure {
  /** `failed`: a bolt failed it, or ended; `expired`: nobody acked it in time; `stopped`: the topology stops. */
  readonly type: "failed" | "expired" | "stopped";
  /** How often it was emitted. */
  readonly attempts: number;
  /** Whether a bolt that reads the stream `dead` has taken care of it. */
  readonly deadLettered: boolean;
}

export interface SpoutContext<S, State, Id = unknown> extends TaskContext<State> {
  readonly emit: Emitters<S, SpoutEmitOptions<Id>>;
  /** Asks for `next` at once, when there may be something new before the spout's wait is over. */
  wake(): void;
  /** There is no more to come from this task: `next` is not called again. See `finished` of a running topology. */
  done(): void;
}

export interface BoltContext<S, State> extends TaskContext<State> {
  readonly emit: Emitters<S, BoltEmitOptions>;
  /** Done with a tuple: for bolts of mode `manual`. @throws SettledError when it was acked or failed before */
  ack(tuple: Tuple<unknown>): void;
  /** Could not do it: its spout hears of it, or tries again. @throws SettledError when it was acked or failed before */
  fail(tuple: Tuple<unknown>): void;
  /**
   * Whether the bolts that it emits to have room: undefined when they do, else a promise of it. To be awaited between the
   * emits of one tuple that emits very many. Time spent waiting for room is not counted by `executeTimeoutMs`.
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
   * Work on a tuple takes long: its message timeout and `executeTimeoutMs` begin anew. Default: the tuple at hand.
   *
   * @throws OptionError when no tuple is at hand and none is given
   */
  extend(tuple?: Tuple<unknown>): void;
}

/** Hooks of spouts and bolts alike. Each may be asynchronous, and is awaited before anything else. */
export interface Hooks<C> {
  /** The topology runs, or goes on after a pause: bolts first, then spouts. */
  readonly activate?: (ctx: C) => unknown;
  /** The topology pauses or stops. A bolt still works on what is under way. */
  readonly deactivate?: (ctx: C) => unknown;
  /**
   * The task ends in order: release what `init` took. Not called when it crashes. `final`: for good, as the topology
   * stops or the task is taken out; else it is restarted, with others.
   */
  readonly close?: (ctx: C, final: boolean) => unknown;
  /** Configuration of its own; what the topology says for this component comes first. */
  readonly config?: ComponentConfig;
}

/** What `init` is given: there is no state yet, and nothing may be emitted. */
export type InitContext = Omit<TaskContext<never>, "state">;

export interface SpoutOptions<S extends Streams, State, Id> extends Hooks<SpoutContext<S, State, Id>> {
  /** What it emits. */
  readonly streams: S;
  /** Makes the state of a task, at every start and restart. */
  readonly init?: (ctx: InitContext) => State | Promise<State>;
  /** Called while there is room for more: emits what there is. Nothing emitted: asked again after `spoutWaitMs`. */
  readonly next: (ctx: SpoutContext<S, State, Id>) => unknown;
  // Methods, so that the type that is stated for `id` here need not be known before `next` is read.
  /** @internal It emits nothing with an id. */
  readonly loose?: boolean;
  /** A reliable tuple and all that came of it are done. */
  ack?(id: Id, ctx: SpoutContext<S, State, Id>): unknown;
  /** A reliable tuple has failed for good, all retries included. */
  fail?(id: Id, ctx: SpoutContext<S, State, Id>, failure: Failure): unknown;
}

/** How a bolt settles the tuples it is given: `ack` when `execute` is done, `fail` always, or by its own calls. */
export type BoltMode = "ack" | "fail" | "manual";

export interface BoltOptions<S extends Streams, State, In> extends Hooks<BoltContext<S, State>> {
  /** What it emits. */
  readonly streams?: S;
  /** Default `ack`: acked when `execute` is done, failed when it throws. */
  readonly mode?: BoltMode;
  /** Makes the state of a task, at every start and restart. */
  readonly init?: (ctx: InitContext) => State | Promise<State>;
  /**
   * Called for each tuple. It may return a promise, which is awaited, or be a generator function, sync or async: then the
   * next step is asked for when the bolts that it emits to have room, so that one tuple may emit any number.
   */
  readonly execute: (tuple: In, ctx: BoltContext<S, State>) => unknown;
  /** Called every `tickMs` milliseconds of the configuration. */
  readonly tick?: (ctx: BoltContext<S, State>) => unknown;
  /** @internal It has one tuple in work at a time, whatever `concurrency` says: it goes by their order. */
  readonly oneAtATime?: boolean;
  /** @internal A stop without time to drain waits for its `close` all the same: something of it runs outside. */
  readonly closes?: boolean;
  /** For how many milliseconds, at most, it holds tuples back before it settles them: less than they take to expire. */
  readonly holdsMs?: number;
  /** How many tuples a task of it must hold before it settles any, if nothing else makes it do so. */
  readonly holdsCount?: number;
  /** The topology drains, and all that came is done: settle what is held back, emit what was summed up. */
  readonly flush?: (ctx: BoltContext<S, State>) => unknown;
}

/** The streams a bolt reads, by name; or, under the name `*`, what every stream must carry it subscribes to. */
export type Inputs = Streams;

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

/** Fields of the stream `dead`, of tuples with such values and ids. */
export type DeadFields<Values, Id> = {
  readonly id: Field<Id>;
  readonly stream: Field<string>;
  readonly values: Field<Values>;
  readonly attempts: Field<number>;
  readonly reason: Field<Failure["type"]>;
};

/** The stream that every spout has besides its own: its reliable tuples that failed for good, where a bolt reads it. */
export type DeadStream<S = Streams, Id = unknown> = {
  readonly dead: DeadFields<{ readonly [K in keyof S]: ValuesOf<S[K]> }[keyof S], Id>;
};

declare const reads: unique symbol;

/** What `spout()` makes: the definition of a component that brings tuples into a topology. */
export interface SpoutDefinition<S extends Streams = Streams> {
  readonly kind: "spout";
  readonly streams: S;
  /** @internal */
  readonly options: SpoutOptions<Streams, unknown, unknown>;
}

/** What `bolt()` makes: the definition of a component that works on tuples. */
export interface BoltDefinition<I extends Inputs = Inputs, S extends Streams = Streams> {
  readonly kind: "bolt";
  readonly inputs: Inputs;
  readonly streams: S;
  /** @internal */
  readonly options: BoltOptions<Streams, unknown, Tuple>;
  /** Never there: what the check of subscriptions hangs on. */
  readonly [reads]?: (inputs: I) => void;
}

/** A component, whatever it emits and reads. */
export type Definition = SpoutDefinition | BoltDefinition<never>;

/**
 * Defines a spout. Emitted with an `id`, a tuple is reliable: it is tracked until all that came of it is done, tried
 * again when it fails, and `ack` or `fail` is called with the id once. Without, it is emitted and forgotten.
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
  const streams = checkStreams("streams", options.streams);
  if ("dead" in streams)
    throw new OptionError(
      "streams.dead",
      "dead",
      "a stream of another name: every spout has one called `dead`",
    );
  checkFunction("next", options.next);
  checkFunctions(options, [...HOOKS, "ack", "fail"]);
  return Object.freeze({
    kind: "spout",
    streams: { ...streams, dead: DEAD_FIELDS } as unknown as S & DeadStream<S, Id>,
    options: options as unknown as SpoutDefinition["options"],
  });
}

/**
 * Defines a bolt. It states what it reads: `input`, for streams of any name that carry these fields, or `inputs`, for
 * streams of these names, told apart by `tuple.stream`. What it emits joins the trees of the tuple at hand.
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
  options: BoltOptions<S, State, Tuple<ValuesOf<F>>> & { readonly input: F },
): BoltDefinition<{ readonly "*": F }, S>;
export function bolt<I extends Inputs, S extends Streams = Record<never, never>, State = undefined>(
  options: BoltOptions<S, State, TupleOf<I>> & { readonly inputs: I },
): BoltDefinition<I, S>;
export function bolt(
  options: BoltOptions<Streams, unknown, never> & { readonly input?: Fields; readonly inputs?: Inputs },
): BoltDefinition<Inputs, Streams> {
  checkObject("bolt(options)", options);
  if ((options.input === undefined) === (options.inputs === undefined))
    throw new OptionError("bolt(options)", Object.keys(options), "given either `input` or `inputs`");
  const inputs =
    options.input === undefined
      ? checkStreams("inputs", options.inputs)
      : Object.freeze({ "*": checkFields("input", options.input) });
  const streams = checkStreams("streams", options.streams ?? {});
  checkFunction("execute", options.execute);
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

function checkFunctions(options: object, names: readonly string[]): void {
  for (const name of names) {
    const value = (options as Record<string, unknown>)[name];
    if (value !== undefined) checkFunction(name, value);
  }
  checkConfig("config", (options as { config?: unknown }).config ?? {});
}

function checkFunction(path: string, value: unknown): void {
  if (typeof value !== "function") throw new OptionError(path, value, "a function");
}

function checkObject(path: string, value: unknown): void {
  if (typeof value !== "object" || value === null) throw new OptionError(path, value, "an object");
}
