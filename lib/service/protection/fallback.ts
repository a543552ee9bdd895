// Fallbacks: a policy that answers in place of a call that failed.

import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { kernelOf } from "../../process/options.js";
import type { ProcessSystem } from "../../process/system.js";
import { attempt, type Guarded, guard, type guarded, type Work } from "./guard.js";

/** A call that failed, for the function that answers in its place. */
export interface FailedCall {
  /** The error with which the call rejected. */
  readonly error: unknown;
  /** The arguments of the call. */
  readonly args: readonly unknown[];
  /** Aborted when the caller gives up. */
  readonly signal: AbortSignal;
}

/** Options of a fallback. */
export interface FallbackOptions {
  /** Whether to answer in place of a call that failed with this error. Default: always. */
  readonly when?: (error: unknown) => boolean;
}

/** A fallback: put it around functions. */
export interface Fallback<F> {
  <A extends readonly unknown[], R>(inner: {
    /** The function that another policy returned. */
    readonly [guarded]: Work<A, Promise<R>>;
  }): Guarded<A, R | Awaited<F>>;
  <A extends readonly unknown[], R>(work: Work<A, R>): Guarded<A, Awaited<R> | Awaited<F>>;
}

/** The result of `fallback`. */
export interface FallbackDefinition<F> {
  /** The policy for one system. */
  local(system: ProcessSystem): Fallback<F>;
}

/**
 * Defines a fallback: when a call fails, `use` answers in its place, with a value of a cache or a default. Put it around the other
 * policies: `fallback(retry(breaker(fn)))`. It does not answer for a caller that gave up, and the call rejects with what `use` throws.
 *
 * @throws OptionError
 * @example
 * const known = fallback(({ error }) => ({ price: 5, stale: error instanceof CircuitOpenError })).local(system);
 * const price = known(circuitBreaker().local(system)(async (_attempt, item: string) => ({ price: item.length, stale: false })));
 * await price("tea");
 */
export function fallback<F>(
  use: (call: FailedCall) => F,
  options: FallbackOptions = {},
): FallbackDefinition<F> {
  if (typeof use !== "function") throw new OptionError("use", use, "a function of the call that failed");
  only("", options, ["when"]);
  const { when = () => true } = options;
  if (typeof when !== "function") throw new OptionError("when", when, "a function of the error");
  const policyOf =
    (kernel: Kernel): unknown =>
    (inner: unknown) =>
      guard(kernel, inner, async (scope, run, args) => {
        try {
          return await run(scope);
        } catch (error) {
          if (scope.cancelled !== undefined || !when(error)) throw error;
          const answer = ({ signal }: { readonly signal: AbortSignal }): F => use({ error, args, signal });
          return attempt(kernel, scope, answer, []);
        }
      });
  return { local: (system) => policyOf(kernelOf(system)) as Fallback<F> };
}
