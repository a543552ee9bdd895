// The bolt under batches and windows. It holds tuples, passes many of them to the user's function at once, and acks or
// fails them by how the function ends. The function's emits are anchored to all of these tuples.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { callable } from "../../process/options.js";
import { isThenable } from "../../process/thenable.js";
import {
  type BoltContext,
  type BoltDefinition,
  type BoltEmitOptions,
  bolt,
  type Emitters,
  type Hooks,
  type InitContext,
  type Inputs,
} from "../definition/component.js";
import { textOf } from "../definition/errors.js";
import { checkInputs, type Fields, type Streams } from "../definition/field.js";
import { runGenerator } from "../definition/generator.js";
import type { Tuple } from "../definition/tuple.js";
import { Lineage } from "../runtime/lineage.js";

const NONE: readonly Tuple[] = [];

type UserContext = BoltContext<Streams, unknown>;

/** The state of a task: the user's state, and the held tuples. */
export interface Holding<H> {
  readonly user: unknown;
  readonly held: H;
}

export type HoldingContext<H> = BoltContext<Streams, Holding<H>>;

/** The user's options of such a bolt, without the function. */
export interface HoldingOptions extends Hooks<UserContext> {
  readonly input?: Fields;
  readonly inputs?: Inputs;
  readonly streams?: Streams;
  readonly init?: (ctx: InitContext) => unknown;
}

/** The parts that batches and windows define. */
export interface HoldingParts<H> {
  /** Makes the holder of a task, which is empty at first. */
  readonly hold: (ctx: InitContext) => H;
  readonly execute: (tuple: Tuple, ctx: HoldingContext<H>) => unknown;
  /** Run every `ms` milliseconds, unless the configuration has another `tickMs`. */
  readonly tick: { readonly ms: number; readonly run: (ctx: HoldingContext<H>) => unknown } | undefined;
  readonly flush: (ctx: HoldingContext<H>) => unknown;
  /** How long the bolt holds tuples, in milliseconds, if known. */
  readonly holdsMs: number | undefined;
  /** How many tuples the bolt has to hold before it settles any, if there is such a number. */
  readonly holdsCount: number | undefined;
}

/** @throws OptionError when a part of the definition is invalid */
export function holdingBolt<H>(options: HoldingOptions, parts: HoldingParts<H>): BoltDefinition {
  const { input, inputs, streams, init, activate, deactivate, close, config = {} } = options;
  const { tick } = parts;
  const define = bolt as unknown as (options: object) => BoltDefinition;
  return define({
    input,
    inputs,
    streams,
    activate: hook(activate),
    deactivate: hook(deactivate),
    close: hook(close),
    config: tick === undefined ? config : { tickMs: tick.ms, ...config },
    tick: tick?.run,
    mode: "manual",
    oneAtATime: true,
    collects: true,
    init: (ctx: InitContext) => {
      const start = (user: unknown): Holding<H> => ({ user, held: parts.hold(ctx) });
      const made = init?.(ctx);
      return isThenable(made) ? made.then(start) : start(made);
    },
    execute: parts.execute,
    flush: parts.flush,
    holdsMs: parts.holdsMs,
    holdsCount: parts.holdsCount,
  });

  function hook<A extends readonly unknown[]>(
    run: ((ctx: UserContext, ...more: A) => unknown) | undefined,
  ): ((ctx: HoldingContext<H>, ...more: A) => unknown) | undefined {
    return run && ((ctx, ...more) => run(new GivenContext(ctx, Object.keys(streams ?? {}), []), ...more));
  }
}

/**
 * Passes tuples to the user's function and waits for it. When the function is done, the tuples that `release` returns are
 * acked; when it threw, they are failed. Tuples that the function acked or failed itself are passed to `release`, and are
 * not settled again.
 */
export function give<H>(
  ctx: HoldingContext<H>,
  streams: readonly string[],
  tuples: readonly Tuple[],
  run: (ctx: UserContext) => unknown,
  release: (done: boolean, settled: ReadonlySet<Tuple>) => readonly Tuple[],
): PromiseLike<void> | undefined {
  const given = new GivenContext(ctx, streams, tuples);
  const { settled } = given;
  const lineage = Lineage.of(ctx);
  lineage?.works(tuples);
  const returned = (): undefined => {
    // The task has ended in the meantime, and its held tuples were settled then.
    if (!ctx.process.alive) return;
    lineage?.works(NONE);
    for (const tuple of release(true, settled)) if (!settled.has(tuple)) ctx.ack(tuple);
  };
  const threw = (error: unknown): undefined => {
    // The process was ended on purpose, which is no failure of the function.
    if (!ctx.process.alive) throw error;
    lineage?.works(NONE);
    for (const tuple of release(false, settled)) if (!settled.has(tuple)) ctx.fail(tuple);
    ctx.log("error", () => `work on ${tuples.length} tuples failed: ${textOf(error)}`);
  };
  let result: unknown;
  try {
    result = runGenerator(run(given), () => ctx.ready());
  } catch (error) {
    return threw(error);
  }
  return isThenable(result) ? result.then(returned, threw) : returned();
}

/** Calls `next` when the result is there, perhaps at once, unless the task has ended in the meantime. */
export function whileAlive<H>(ctx: HoldingContext<H>, result: unknown, next: () => unknown): unknown {
  const goOn = (): unknown => (ctx.process.alive ? next() : undefined);
  return isThenable(result) ? result.then(goOn) : goOn();
}

const FUNCTIONS = ["init", "activate", "deactivate", "close"];

/**
 * Checks the names of the options, and their functions, because `bolt` only sees the wrapped ones.
 *
 * @param own - the options that other bolts of this kind do not have
 * @throws OptionError
 */
export function checkOptions(path: string, options: unknown, own: readonly string[]): void {
  if (typeof options !== "object" || options === null) throw new OptionError(path, options, "an object");
  only(path, options, ["input", "inputs", "streams", "config", "execute", ...FUNCTIONS, ...own]);
  const given = options as Readonly<Record<string, unknown>>;
  for (const name of ["execute", ...FUNCTIONS.filter((name) => given[name] !== undefined)])
    callable(name, given[name]);
  checkInputs(path, options);
}

/**
 * The period of checks whether `ms` milliseconds are over: the check is late by at most a quarter of `ms`, and by at most
 * a second.
 */
export function tickFor(ms: number): number {
  return Math.min(1_000, Math.max(1, ms / 4));
}

/** The bolt's context for the user's function, whose emits are anchored to certain tuples by default. */
class GivenContext implements UserContext {
  readonly emit: Emitters<Streams, BoltEmitOptions>;
  /** Tuples that the user's function has acked or failed itself. */
  readonly settled: Set<Tuple> = new Set();
  readonly #ctx: HoldingContext<unknown>;
  #anchors: readonly Tuple[];
  /** How many tuples were settled when the anchors were last filtered. */
  #settledAtFilter = 0;

  constructor(ctx: HoldingContext<unknown>, streams: readonly string[], tuples: readonly Tuple[]) {
    this.#ctx = ctx;
    this.#anchors = tuples;
    // The errors for other names are inherited.
    const emit = Object.create(Object.getPrototypeOf(ctx.emit));
    for (const stream of streams)
      emit[stream] = (values: Readonly<Record<string, unknown>>, options?: BoltEmitOptions) =>
        ctx.emit[stream]?.(values as never, { ...options, anchors: options?.anchors ?? this.#unsettled() });
    this.emit = emit;
  }

  get state(): unknown {
    return this.#ctx.state.user;
  }
  get component(): string {
    return this.#ctx.component;
  }
  get task(): number {
    return this.#ctx.task;
  }
  get index(): number {
    return this.#ctx.index;
  }
  get shared(): Map<unknown, unknown> {
    return this.#ctx.shared;
  }
  get process(): UserContext["process"] {
    return this.#ctx.process;
  }
  now(): number {
    return this.#ctx.now();
  }
  random(): number {
    return this.#ctx.random();
  }
  log(...args: Parameters<UserContext["log"]>): void {
    this.#ctx.log(...args);
  }
  ack(tuple: Tuple<unknown>): void {
    this.#ctx.ack(tuple);
    this.settled.add(tuple as Tuple);
  }
  fail(tuple: Tuple<unknown>): void {
    this.#ctx.fail(tuple);
    this.settled.add(tuple as Tuple);
  }
  ready(): Promise<void> | undefined {
    return this.#ctx.ready();
  }
  extend(tuple?: Tuple<unknown>): void {
    for (const one of tuple === undefined ? this.#unsettled() : [tuple]) this.#ctx.extend(one);
  }

  /** The default anchors: nothing can be anchored to a settled tuple. */
  #unsettled(): readonly Tuple[] {
    const { settled } = this;
    if (settled.size > this.#settledAtFilter) {
      this.#settledAtFilter = settled.size;
      this.#anchors = this.#anchors.filter((anchor) => !settled.has(anchor));
    }
    return this.#anchors;
  }
}
