// The bolt under batches and windows. It holds tuples, gives many of them to the user's function at once, and
// settles them by how that ends: what the function emits joins the trees of them all.

import { OptionError } from "../../process/errors.js";
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
import type { Fields, Streams } from "../definition/field.js";
import { runGenerator } from "../definition/generator.js";
import type { Tuple } from "../definition/tuple.js";

type UserContext = BoltContext<Streams, unknown>;

/** The state of a task: its user's, and what it holds. */
export interface Holding<H> {
  readonly user: unknown;
  readonly held: H;
}

export type HoldingContext<H> = BoltContext<Streams, Holding<H>>;

/** What users say of such a bolt, besides its function. */
export interface HoldingOptions extends Hooks<UserContext> {
  readonly input?: Fields;
  readonly inputs?: Inputs;
  readonly streams?: Streams;
  readonly init?: (ctx: InitContext) => unknown;
}

/** What batches and windows make of it. */
export interface HoldingParts<H> {
  /** What a task holds when it starts: nothing. */
  readonly hold: (ctx: InitContext) => H;
  readonly execute: (tuple: Tuple, ctx: HoldingContext<H>) => unknown;
  /** Run every so many milliseconds, unless the user says otherwise. */
  readonly tick: { readonly ms: number; readonly run: (ctx: HoldingContext<H>) => unknown } | undefined;
  readonly flush: (ctx: HoldingContext<H>) => unknown;
  /** For how many milliseconds it holds tuples, if that is known. */
  readonly holdsMs: number | undefined;
  /** How many tuples it has to hold before it settles any, if so. */
  readonly holdsCount: number | undefined;
}

/** @throws OptionError when a part of the definition is not what it has to be */
export function holdingBolt<H>(options: HoldingOptions, parts: HoldingParts<H>): BoltDefinition {
  const { input, inputs, streams, init, activate, deactivate, close, config = {} } = options;
  const { tick } = parts;
  const define = bolt as unknown as (options: object) => BoltDefinition;
  return define({
    ...(input !== undefined && { input }),
    ...(inputs !== undefined && { inputs }),
    ...(streams !== undefined && { streams }),
    ...(activate !== undefined && { activate: hook(activate) }),
    ...(deactivate !== undefined && { deactivate: hook(deactivate) }),
    ...(close !== undefined && { close: hook(close) }),
    config: tick === undefined ? config : { tickMs: tick.ms, ...config },
    ...(tick !== undefined && { tick: tick.run }),
    mode: "manual",
    oneAtATime: true,
    init: (ctx: InitContext) => {
      const start = (user: unknown): Holding<H> => ({ user, held: parts.hold(ctx) });
      const made = init?.(ctx);
      return isThenable(made) ? made.then(start) : start(made);
    },
    execute: parts.execute,
    flush: parts.flush,
    ...(parts.holdsMs !== undefined && { holdsMs: parts.holdsMs }),
    ...(parts.holdsCount !== undefined && { holdsCount: parts.holdsCount }),
  });

  function hook<A extends readonly unknown[]>(
    run: (ctx: UserContext, ...more: A) => unknown,
  ): (ctx: HoldingContext<H>, ...more: A) => unknown {
    return (ctx, ...more) => run(new GivenContext(ctx, Object.keys(streams ?? {}), []), ...more);
  }
}

/**
 * Gives tuples to the user's function, waits for it, and acks what `release` returns; or, when it threw,
 * fails that. Tuples that the function has acked or failed itself are left alone, and `release` is told of
 * them.
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
  const returned = (): undefined => {
    // It ended meanwhile, and what it held was settled for it.
    if (!ctx.process.alive) return;
    for (const tuple of release(true, settled)) if (!settled.has(tuple)) ctx.ack(tuple);
  };
  const threw = (error: unknown): undefined => {
    // Whoever ends the process means no failure.
    if (!ctx.process.alive) throw error;
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

/** Goes on when a result is there, which may be at once, unless the task has ended meanwhile. */
export function whileAlive<H>(ctx: HoldingContext<H>, result: unknown, next: () => unknown): unknown {
  const goOn = (): unknown => (ctx.process.alive ? next() : undefined);
  return isThenable(result) ? result.then(goOn) : goOn();
}

/** The functions among the options, which are wrapped before `bolt` can see them. @throws OptionError */
export function checkOptions(path: string, options: unknown, functions: readonly string[]): void {
  if (typeof options !== "object" || options === null) throw new OptionError(path, options, "an object");
  const given = options as Readonly<Record<string, unknown>>;
  const optional = ["init", "activate", "deactivate", "close", ...functions];
  for (const name of ["execute", ...optional.filter((name) => given[name] !== undefined)])
    if (typeof given[name] !== "function") throw new OptionError(name, given[name], "a function");
}

/**
 * How often to look whether something that takes `ms` is over: it is found at most a quarter of it too late,
 * and at most a second.
 */
export function tickFor(ms: number): number {
  return Math.min(1_000, Math.max(1, ms / 4));
}

/** The bolt's context, as it is while certain tuples are at hand. */
class GivenContext implements UserContext {
  readonly emit: Emitters<Streams, BoltEmitOptions>;
  /** What the user's function has acked or failed itself. */
  readonly settled: Set<Tuple> = new Set();
  readonly #ctx: HoldingContext<unknown>;
  #anchors: readonly Tuple[];
  /** How many were settled when the anchors were last looked through. */
  #looked = 0;

  constructor(ctx: HoldingContext<unknown>, streams: readonly string[], tuples: readonly Tuple[]) {
    this.#ctx = ctx;
    this.#anchors = tuples;
    // What it says of other names, it inherits.
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

  /** Nothing can be anchored to a tuple that is settled. */
  #unsettled(): readonly Tuple[] {
    const { settled } = this;
    if (settled.size > this.#looked) {
      this.#looked = settled.size;
      this.#anchors = this.#anchors.filter((anchor) => !settled.has(anchor));
    }
    return this.#anchors;
  }
}
