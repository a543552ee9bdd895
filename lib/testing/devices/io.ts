// Input and output that is not the library's: a fake of the outside world whose requests are steps of the simulator. A request
// takes effect in a step of its own, and its answer arrives in another; between the two, anything may happen.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, text } from "../../process/options.js";
import { inNameOf } from "../../process/origin.js";
import { isThenable } from "../../process/thenable.js";
import type { RequestOutcome } from "../report/trace.js";
import type { Actor } from "../simulator/actor.js";
import { UNDECLARED } from "../simulator/footprints.js";
import { durations } from "../simulator/options.js";
import type { World } from "../simulator/world.js";

/**
 * A failure of a request: an error, or a function of the request's arguments that returns an error. Any other value that the
 * function returns is the answer, for instance an HTTP response of status 503.
 */
export type IoFailure<Args extends readonly unknown[], Answer> = Error | ((...args: Args) => Error | Answer);

/** Options of {@link Simulation.io}. By default a request is neither late nor fails. */
export interface IoOptions<Args extends readonly unknown[], Answer> {
  /**
   * Virtual milliseconds to choose from, for the way of a request to its effect and again for the way of the answer. Default 0.
   */
  readonly latencyMs?: number | readonly number[];
  /** Failures that may strike before the effect, or after the effect: then the effect has happened, and the answer is lost. */
  readonly failures?: readonly IoFailure<Args, Answer>[];
  /** Failures that may strike only before the effect, such as a refused connection. */
  readonly refusals?: readonly IoFailure<Args, Answer>[];
  /** Most failures and refusals in one schedule: 1 or more, or Infinity. Default 1. */
  readonly atMost?: number;
  /**
   * The things that the effect of a request uses, such as the key of a row. An exhaustive search skips orders of effects that
   * share nothing. By default each effect may use everything. The keys are those of {@link Simulation.touch}.
   */
  readonly key?: (...args: Args) => string | readonly string[];
  /** Whether the effect changes these things, or only reads them. Default `write`. */
  readonly access?: "read" | "write";
}

/** Checked options. */
interface Plan<Args extends readonly unknown[], Answer> {
  readonly latencies: readonly number[];
  readonly failures: readonly IoFailure<Args, Answer>[];
  readonly refusals: readonly IoFailure<Args, Answer>[];
  readonly atMost: number;
  readonly key: ((...args: Args) => string | readonly string[]) | undefined;
  readonly access: "read" | "write";
}

/** What happens to a request: its effect with an answer, no effect, an effect without its answer, or nothing at all. */
const FATES: readonly RequestOutcome[] = ["done", "refused", "answer lost", "cut off"];

interface Fate<Args extends readonly unknown[], Answer> {
  readonly type: RequestOutcome;
  readonly failure?: IoFailure<Args, Answer>;
}

/** The result of code of a fake. */
type Ended = { readonly value: unknown } | { readonly error: unknown };

/** A request that its caller awaits. */
interface Request<Args extends readonly unknown[]> {
  readonly args: Args;
  readonly caller: Actor;
  readonly signal: AbortSignal | undefined;
  /** Settles the promise of the caller, unless the caller has aborted. */
  readonly end: (fails: boolean, value: unknown) => void;
}

/** All that requests use: an effect without keys changes it, and every other use reads it. */
const EVERYTHING = UNDECLARED;
/**
 * Footprint key of reading everything: such an effect writes it, and each change of one thing reads it. So the changes of different
 * things do not conflict; two effects that read everything do, which costs schedules and misses none.
 */
const SCAN = "io scan";

/** The running code uses everything that requests use. */
function useEverything(world: World, access: "read" | "write"): void {
  if (access === "write") {
    world.footprints.wrote(EVERYTHING);
    return;
  }
  world.footprints.read(EVERYTHING);
  world.footprints.wrote(SCAN);
}

/** The running code uses one thing that it shares outside of messages, by the key of {@link Simulation.touch}. */
export function use(world: World, key: string, access: "read" | "write"): void {
  world.footprints.read(EVERYTHING);
  if (access === "write") world.footprints.read(SCAN);
  world.footprints.touched(`u:${key}`, access);
}

/** @throws OptionError */
function planOf<Args extends readonly unknown[], Answer>(
  options: IoOptions<Args, Answer>,
): Plan<Args, Answer> {
  only("io", options, ["latencyMs", "failures", "refusals", "atMost", "key", "access"]);
  const { latencyMs = 0, key, access = "write" } = options;
  if (key !== undefined && typeof key !== "function")
    throw new OptionError("io.key", key, "a function of the arguments");
  if (access !== "read" && access !== "write")
    throw new OptionError("io.access", access, '"read" or "write"');
  return {
    latencies: durations("io.latencyMs", typeof latencyMs === "number" ? [latencyMs] : latencyMs),
    failures: failuresOf("io.failures", options.failures),
    refusals: failuresOf("io.refusals", options.refusals),
    atMost: count("io.atMost", options.atMost ?? 1, 1, true),
    key,
    access,
  };
}

function failuresOf<Failure>(path: string, given: readonly Failure[] = []): readonly Failure[] {
  if (!Array.isArray(given)) throw new OptionError(path, given, "a list of errors or functions");
  for (const [index, one] of given.entries())
    if (!(one instanceof Error) && typeof one !== "function")
      throw new OptionError(`${path}[${index}]`, one, "an error, or a function that returns an error");
  return given;
}

/** A function of the outside world. */
export class SimulatedIo<Args extends readonly unknown[], Answer> {
  readonly #world: World;
  readonly #fn: (...args: Args) => unknown;
  readonly #plan: Plan<Args, Answer>;
  /** Stands for the outside world in reports, and owns the promises that the function makes. */
  readonly #actor: Actor;
  #left: number;
  /** Calls of the function whose promise is not settled. */
  #open = 0;

  /** A request outlives the process that made it, and is lost only with its machine. */
  readonly #outlives: boolean;

  /** @throws OptionError */
  constructor(
    world: World,
    name: string,
    fn: (...args: Args) => Answer | PromiseLike<Answer>,
    options: IoOptions<Args, Answer>,
    outlives = false,
  ) {
    if (typeof fn !== "function") throw new OptionError("fn", fn, "a function");
    this.#plan = planOf(options);
    this.#world = world;
    this.#fn = fn;
    this.#left = this.#plan.atMost;
    this.#outlives = outlives;
    this.#actor = world.actors.outside(text("name", name));
  }

  /** A request of the running code. Its effect becomes a possible step at once, or after the latency. */
  call(args: Args): Promise<Answer> {
    const world = this.#world;
    const caller = world.code.current;
    const signal = signalOf(args);
    return world.gates.gated<Answer>(this.#actor.path, (resolve, reject) => {
      if (this.#isAborted(signal)) {
        reject(signal?.reason);
        return;
      }
      world.options.recorder?.requested(this.#actor, args);
      const abort = (): void => reject(signal?.reason);
      signal?.addEventListener("abort", abort);
      const request: Request<Args> = {
        args,
        caller,
        signal,
        end: (fails, value) => {
          // Whether the abort or the answer comes first matters.
          this.#isAborted(signal);
          signal?.removeEventListener("abort", abort);
          if (fails) reject(value);
          else resolve(value as never);
        },
      };
      const task = world.agenda.request(caller, this.#actor, () => this.#settle(request));
      this.#later(() => world.agenda.enable(task));
    });
  }

  #isAborted(signal: AbortSignal | undefined): boolean {
    if (signal === undefined) return false;
    // Each call of `AbortController.abort` writes this key.
    this.#world.footprints.read("abort");
    return signal.aborted;
  }

  /** The step in which a request takes effect, or does not. */
  #settle(request: Request<Args>): void {
    const { recorder } = this.#world.options;
    // The keys that a step shares must not depend on its draws, so that the search knows which keys another draw would have shared.
    this.#touch(request.args);
    const fate = this.#fate(request);
    this.#world.record.mark(FATES.indexOf(fate.type));
    recorder?.decided(this.#actor, request.caller, request.args, fate.type);
    const happens = fate.type === "done" || fate.type === "answer lost";
    const result = happens ? this.#attempt(() => this.#fn(...request.args)) : undefined;
    const { failure } = fate;
    if (failure !== undefined) this.#answer(request, this.#failing(failure, request.args));
    else if (result !== undefined) this.#answer(request, result);
  }

  #failing(failure: IoFailure<Args, Answer>, args: Args): Ended | Promise<Ended> {
    if (typeof failure !== "function") return { error: failure };
    const end = this.#attempt(() => failure(...args));
    return "value" in end && end.value instanceof Error ? { error: end.value } : end;
  }

  /** What the simulator decides about a request. */
  #fate({ caller, signal }: Request<Args>): Fate<Args, Answer> {
    const world = this.#world;
    const { failures, refusals } = this.#plan;
    if (caller !== world.actors.main) world.footprints.read(caller.state);
    const ended = !this.#outlives && caller.process !== undefined && !caller.alive;
    const gone = this.#isAborted(signal) || caller.lost || ended;
    // A request that its caller has given up may have been cut off before it was sent.
    if (gone && world.oracle.draw(2, `cut off:${this.#actor.path}`) === 1) return { type: "cut off" };
    const ways = refusals.length + 2 * failures.length;
    if (ways === 0) return { type: "done" };
    world.footprints.read(this.#budget);
    if (this.#left === 0 || !world.faults.allowed) return { type: "done" };
    const choice = world.oracle.draw(1 + ways, `io:${this.#actor.path}`) - 1;
    if (choice < 0) return { type: "done" };
    this.#left--;
    world.footprints.wrote(this.#budget);
    const before = [...refusals, ...failures];
    const failure = before[choice];
    if (failure !== undefined) return { type: "refused", failure };
    return { type: "answer lost", failure: failures[choice - before.length] as IoFailure<Args, Answer> };
  }

  get #budget(): string {
    return `io:${this.#actor.path}`;
  }

  #touch(args: Args): void {
    const { key, access } = this.#plan;
    if (key === undefined) {
      useEverything(this.#world, access);
      return;
    }
    const keys = key(...args);
    for (const one of typeof keys === "string" ? [keys] : keys) use(this.#world, one, access);
  }

  /** Calls code of the fake. */
  #attempt(fn: () => unknown): Ended | Promise<Ended> {
    try {
      const value = inNameOf(this.#actor, fn);
      if (!isThenable(value)) return { value };
      this.#actor.done = ++this.#open === 0;
      const ended = (end: Ended): Ended => {
        this.#actor.done = --this.#open === 0;
        return end;
      };
      return value.then(
        (answer) => ended({ value: answer }),
        (error: unknown) => ended({ error }),
      ) as Promise<Ended>;
    } catch (error) {
      return { error };
    }
  }

  /** Sends an answer: an error, or a value. */
  #answer(request: Request<Args>, end: Ended | Promise<Ended>): void {
    if (isThenable(end)) {
      void (end as Promise<Ended>).then((one) => this.#answer(request, one));
      return;
    }
    const fails = "error" in end;
    const value = fails ? end.error : end.value;
    this.#world.options.recorder?.answered(value, fails);
    this.#later(() => request.end(fails, value));
  }

  /** Calls `fn` at once, or after a latency. */
  #later(fn: () => void): void {
    const { latencies } = this.#plan;
    const ms = latencies[this.#world.oracle.draw(latencies.length, `latency:${this.#actor.path}`)] as number;
    if (ms === 0) fn();
    else this.#world.time.after(ms, { fire: fn });
  }
}

/** An AbortSignal among the arguments, or in an object among them, as in `fetch(url, { signal })`. */
function signalOf(args: readonly unknown[]): AbortSignal | undefined {
  for (const arg of args) {
    if (arg instanceof AbortSignal) return arg;
    if (typeof arg !== "object" || arg === null) continue;
    const { signal } = arg as { signal?: unknown };
    if (signal instanceof AbortSignal) return signal;
  }
  return undefined;
}
