// The job as the functions of a worker file see it, and the types of these functions from outside.

/**
 * The job that a function of a worker file works on: its `this`, if the function asks for it. Callers do not see this parameter.
 *
 * @example
 * async function download(this: PoolJob, url: string) {
 *   const response = await fetch(url, { signal: this.signal });
 *   this.progress(0.5);
 *   return await response.text();
 * }
 */
export interface PoolJob {
  /** Aborted when the result is not needed any more. For asynchronous functions: a busy thread gets no events. */
  readonly signal: AbortSignal;
  /** Whether the job is aborted: its result is not needed any more. Asks the pool, so that a long loop without awaits sees it too. */
  readonly aborted: boolean;
  /** Reports progress to the caller's `onProgress`. The value is cloned. */
  progress(value: unknown): void;
  /** Marks an object of the result, such as an ArrayBuffer, to be moved to the caller instead of being cloned. Returns it. */
  transfer<T extends object>(object: T): T;
}

/** A function that a worker file may export. */
export type JobFunction = (this: never, ...args: never[]) => unknown;

/** The functions of a worker file whose type `pool` is not given. */
export type AnyFunctions = Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;

/** A function of a worker file as callers see it. */
export type Remote<F> = F extends (this: never, ...args: infer A) => infer R
  ? (...args: A) => Promise<Awaited<R>>
  : never;

/** The functions of a worker file as callers see them. The default function is `run` itself, and `run.default`. */
export type Run<M> = {
  readonly [K in keyof M as M[K] extends JobFunction ? K : never]: Remote<M[K]>;
} & ("default" extends keyof M
  ? M["default"] extends JobFunction
    ? Remote<M["default"]>
    : unknown
  : unknown);
