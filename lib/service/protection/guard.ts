// Policies: functions that put a guard around a function. The guarded function can be guarded again: `retry(breaker(limit(fn)))`.

import { OptionError, SystemStoppedError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { type Attempt, CallScope, type GuardOptions, type Scope, Wait } from "./scope.js";

/** A function that a policy can guard: it gets the attempt, and then the arguments of the caller. */
export type Work<A extends readonly unknown[], R> = (attempt: Attempt, ...args: A) => R;

/** Key of what a policy needs of a guarded function. */
export const guarded: unique symbol = Symbol("signalbox.guarded");

/** A function behind one or more policies. */
export interface Guarded<A extends readonly unknown[], R> {
  /** Calls the function, as the policies allow. */
  (...args: A): Promise<R>;
  /**
   * The same function with an AbortSignal, or on behalf of a process.
   *
   * @example
   * const size = circuitBreaker().local(system)((_attempt, word: string) => word.length);
   * await size.with({ signal, from: ctx })("word");
   */
  with(options: GuardOptions): (...args: A) => Promise<R>;
  /** Internal. The types of arguments and result are inferred from this member. */
  readonly [guarded]: Work<A, Promise<R>>;
}

/** Puts a guard around a function. */
export interface Policy {
  <A extends readonly unknown[], R>(inner: {
    /** The function that another policy returned. */
    readonly [guarded]: Work<A, Promise<R>>;
  }): Guarded<A, R>;
  <A extends readonly unknown[], R>(work: Work<A, R>): Guarded<A, Awaited<R>>;
}

type Run = (scope: Scope, args: readonly unknown[]) => Promise<unknown>;

/** The work of a policy around a call. `run` calls the inner function, in the scope that it gets. */
export type Layer = (
  scope: Scope,
  run: (scope: Scope) => Promise<unknown>,
  args: readonly unknown[],
) => Promise<unknown>;

/** @throws OptionError */
export function guard(kernel: Kernel, inner: unknown, layer: Layer): Guarded<never, never> {
  const run = runOf(kernel, inner);
  const whole: Run = (scope, args) => layer(scope, (own) => run(own, args), args);
  const call = async (options: GuardOptions, args: readonly unknown[]): Promise<unknown> => {
    const { from } = options;
    if (from !== undefined && !from.alive) throw from.signal.reason;
    kernel.shared?.stopping("read");
    if (kernel.stopped) throw new SystemStoppedError(kernel.node.name);
    const scope = new CallScope(kernel, options);
    scope.begin();
    try {
      if (scope.cancelled !== undefined) throw scope.cancelled.reason;
      return await whole(scope, args);
    } finally {
      scope.end();
    }
  };
  return Object.assign((...args: readonly unknown[]) => call({}, args), {
    with: (options: GuardOptions) => {
      only("", options, ["signal", "from"]);
      return (...args: readonly unknown[]) => call(options, args);
    },
    [guarded]: whole,
  }) as unknown as Guarded<never, never>;
}

function runOf(kernel: Kernel, inner: unknown): Run {
  if (typeof inner !== "function") throw new OptionError("work", inner, "a function, guarded or not");
  if (guarded in inner) return inner[guarded] as Run;
  return (scope, args) => attempt(kernel, scope, inner as Work<readonly unknown[], unknown>, args);
}

/** Calls the user's function. The end of the scope ends the wait at once; a later result of the function is ignored. */
export function attempt(
  kernel: Kernel,
  scope: Scope,
  work: Work<readonly unknown[], unknown>,
  args: readonly unknown[],
): Promise<unknown> {
  const wait = new Wait<unknown>(kernel, scope, "a guarded function");
  if (!wait.open) return wait.promise;
  // The promise takes any value that the function returns or throws, also a thenable that throws.
  const settled = new Promise((resolve) => resolve(work(scope, ...args)));
  scope.track?.(settled);
  settled.then(
    (value) => wait.fulfil(value),
    (error) => wait.fail(error),
  );
  return wait.promise;
}
