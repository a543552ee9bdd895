// A guarded call is cancelled by an AbortSignal, the exit of the process that asked, the stop of the system, or a timeout. A scope
// cancels the wait that its call is in at that moment, and aborts the `signal` that the function got.

import { type Abortable, unwatchAbort, watchAbort } from "../../process/abort.js";
import type { Context } from "../../process/context.js";
import type { Resumption } from "../../process/environment.js";
import type { WatchedProcess } from "../../process/intercepted.js";
import type { Settler } from "../../process/interception.js";
import type { Kernel } from "../../process/kernel.js";
import { exclude, include } from "../../process/one-or-many.js";
import { origin } from "../../process/origin.js";
import type { Abandonable, Process } from "../../process/process.js";
import { processSignal } from "../../process/process-signal.js";
import { AttemptTimeoutError } from "./errors.js";

/** The first argument of a guarded function, before its own arguments. */
export interface Attempt {
  /**
   * Aborted when the attempt takes too long, the caller gives up or the calling process exits. Pass it on to `fetch` and the
   * like: an attempt that does not listen is abandoned, but goes on working.
   */
  readonly signal: AbortSignal;
  /** Which attempt of the nearest retry policy this is, from 1. */
  readonly number: number;
}

/** On whose behalf a guarded function is called, and what ends the call early. */
export interface GuardOptions {
  /** Ends the call early: it rejects with the signal's reason, and the attempt under way is cancelled. */
  readonly signal?: AbortSignal;
  /** The process that calls. When it exits, its calls are cancelled, and no longer wait. */
  readonly from?: Context<never> | Context<unknown>;
}

interface Cancellable {
  cancel(reason: unknown): void;
}

/** One level of a guarded call. */
export class Scope implements Attempt, Cancellable {
  readonly number: number;
  readonly from: GuardOptions["from"];
  /** The present wait of the call. */
  inner: Cancellable | undefined = undefined;
  cancelled: { readonly reason: unknown } | undefined = undefined;
  /** Gets a promise for each call of the user's function. It settles with the function, also when the call was given up before. */
  track: ((settled: Promise<unknown>) => void) | undefined = undefined;
  #controller: AbortController | undefined = undefined;
  /** The process that calls. It may have exited. */
  readonly owner: Process | undefined;

  constructor(from: GuardOptions["from"], owner: Process | undefined, number: number) {
    this.from = from;
    this.owner = owner;
    this.number = number;
  }

  /** Made when it is asked for: most functions do without. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const { owner } = this;
      this.#controller =
        owner === undefined ? new AbortController() : processSignal((listener) => owner.perform(listener));
      if (this.cancelled !== undefined) this.#controller.abort(this.cancelled.reason);
    }
    return this.#controller.signal;
  }

  /** A scope that ends with this one, or before. */
  child(number: number = this.number): Scope {
    const child = new Scope(this.from, this.owner, number);
    child.track = this.track;
    if (this.cancelled !== undefined) child.cancel(this.cancelled.reason);
    this.inner = child;
    return child;
  }

  cancel(reason: unknown): void {
    if (this.cancelled !== undefined) return;
    this.cancelled = { reason };
    this.#controller?.abort(reason);
    this.inner?.cancel(reason);
  }
}

/** The scope of a whole call. */
export class CallScope extends Scope implements Abandonable, Abortable {
  readonly #kernel: Kernel;
  readonly #outer: AbortSignal | undefined;

  constructor(kernel: Kernel, { signal, from }: GuardOptions) {
    super(from, from?.self.process, 1);
    this.#kernel = kernel;
    this.#outer = signal;
  }

  begin(): void {
    const { owner } = this;
    const kernel = this.#kernel;
    const outer = this.#outer;
    if (outer !== undefined) kernel.shared?.signals();
    if (outer?.aborted) this.cancel(outer.reason);
    else if (outer !== undefined) watchAbort(outer, this);
    if (owner === undefined) kernel.waits = include(kernel.waits, this);
    else owner.extras.waits = include(owner.extras.waits, this);
  }

  end(): void {
    const { owner } = this;
    const kernel = this.#kernel;
    const outer = this.#outer;
    if (outer !== undefined) unwatchAbort(outer, this);
    if (owner?.rare !== undefined) owner.rare.waits = exclude(owner.rare.waits, this);
    else kernel.waits = exclude(kernel.waits, this);
  }

  abandon(error: Error): void {
    this.cancel(error);
  }

  aborted(reason: unknown): void {
    this.cancel(reason);
  }
}

/** A promise that a scope can end. */
export class Wait<T> implements Settler, Resumption, Cancellable {
  readonly promise: Promise<T>;
  readonly owner: Process | undefined;
  resolve: ((value: never) => void) | undefined;
  reject: ((error: unknown) => void) | undefined;
  /** Cleans up once, however the wait ends. */
  onEnd: (() => void) | undefined = undefined;
  #ending: { readonly ok: boolean; readonly with: unknown } | undefined = undefined;
  readonly #kernel: Kernel;

  constructor(kernel: Kernel, scope: Scope, what: string) {
    this.#kernel = kernel;
    this.owner = scope.owner;
    this.promise = new Promise<T>((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    kernel.interception?.gate(this.owner as WatchedProcess | undefined, what, this);
    scope.inner = this;
    if (scope.cancelled !== undefined) this.fail(scope.cancelled.reason);
    origin.settledHere = this.promise;
  }

  get open(): boolean {
    return this.#ending === undefined;
  }

  fulfil(value: T): void {
    this.#end(true, value);
  }

  fail(error: unknown): void {
    this.#end(false, error);
  }

  cancel(reason: unknown): void {
    this.fail(reason);
  }

  resume(): void {
    if (this.#ending?.ok) this.resolve?.(this.#ending.with as never);
    else this.reject?.(this.#ending?.with);
  }

  #end(ok: boolean, value: unknown): void {
    if (this.#ending !== undefined) return;
    this.#ending = { ok, with: value };
    this.onEnd?.();
    this.#kernel.scheduler.resume(this);
  }
}

/** Waits for `delayMs`, or until the scope ends. */
export function sleep(kernel: Kernel, scope: Scope, delayMs: number): Promise<void> {
  const wait = new Wait<void>(kernel, scope, "a retry");
  if (wait.open) {
    const timer = kernel.addTimer(delayMs, { fire: () => wait.fulfil() });
    wait.onEnd = () => kernel.cancelTimer(timer);
  }
  return wait.promise;
}

/** Runs `inner` in a scope of its own, which is cancelled with `error()` after `timeoutMs`. */
export async function within<R>(
  kernel: Kernel,
  scope: Scope,
  timeoutMs: number,
  error: (() => unknown) | undefined,
  inner: (scope: Scope) => Promise<R>,
  number?: number,
): Promise<R> {
  const own = scope.child(number);
  const fire = (): void => own.cancel(error === undefined ? new AttemptTimeoutError(timeoutMs) : error());
  const timer = timeoutMs === Number.POSITIVE_INFINITY ? undefined : kernel.addTimer(timeoutMs, { fire });
  try {
    return await inner(own);
  } finally {
    if (timer !== undefined) kernel.cancelTimer(timer);
    scope.inner = undefined;
  }
}

/** Waits so many milliseconds by the system's clock. Rejects with the reason of the signal. */
export async function pause(kernel: Kernel, ms: number, signal: AbortSignal): Promise<void> {
  const scope = new CallScope(kernel, { signal });
  scope.begin();
  try {
    await sleep(kernel, scope, ms);
  } finally {
    scope.end();
  }
}
