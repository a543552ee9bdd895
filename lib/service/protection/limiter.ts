// Rate limiters: a definition, local limiters, and limiters that are processes and shared by name.

import { type Caller, type Deferred, defer } from "../../behaviour/server/replies.js";
import { defineServer } from "../../behaviour/server/server.js";
import type { ServerRef } from "../../behaviour/server/server-ref.js";
import { type Backoff, backoffMs } from "../../process/backoff.js";
import type { Context } from "../../process/context.js";
import { CalleeExitedError, OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { kernelOf, word } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import { launch, type Startable } from "../../process/start.js";
import type { ProcessSystem } from "../../process/system.js";
import { isA, RateLimitError } from "./errors.js";
import { type Guarded, guard, guarded, type Work } from "./guard.js";
import { type After, LimiterCore, type LimiterStatus } from "./limiter-core.js";
import {
  checkLimiter,
  checkWanted,
  type LimiterOptions,
  type LimiterSettings,
  type Wanted,
} from "./limiter-options.js";
import { type GuardOptions, type Scope, sleep, Wait } from "./scope.js";

/** The share of a guarded function in its limiter. */
export interface LimitOptions<A extends readonly unknown[]> {
  /** Which bucket a call uses, from its arguments. Default: one for all calls. */
  readonly key?: (...args: A) => string;
  /** How many permits a call takes, 1 up to the burst of the limiter. Default 1. */
  readonly permits?: number | ((...args: A) => number);
}

/** Options of {@link RateLimiter.acquire}. */
export interface AcquireOptions extends GuardOptions {
  /** Which bucket the permits come from. Default: the one of all calls without a key. */
  readonly key?: string;
  /** How many permits, 1 up to the burst of the limiter. Default 1. */
  readonly permits?: number;
}

/** A rate limiter: put it around functions, or take permits from it. */
export interface RateLimiter {
  <A extends readonly unknown[], R>(
    inner: {
      /** The function that another policy returned. */
      readonly [guarded]: Work<A, Promise<R>>;
    },
    options?: LimitOptions<A>,
  ): Guarded<A, R>;
  <A extends readonly unknown[], R>(work: Work<A, R>, options?: LimitOptions<A>): Guarded<A, Awaited<R>>;
  /**
   * Waits for permits, behind those that came before.
   *
   * @throws RateLimitError when too many wait or the wait is too long
   * @example
   * const limit = rateLimiter({ permits: 10, perMs: 1_000 }).local(system);
   * await limit.acquire({ key: "eu", from: ctx });
   */
  acquire(options?: AcquireOptions): Promise<void>;
  /** How the limiter stands, for one key. */
  status(key?: string): Promise<LimiterStatus>;
}

/** The result of `rateLimiter`: a child of a supervisor, shared by name, or a local limiter in the memory of one system. */
export interface LimiterDefinition extends Startable<readonly [], RateLimiter> {
  /** A limiter without a process, for one system. */
  local(system: ProcessSystem): RateLimiter;
  /**
   * The limiter of a running process, by its pid or by its registered name. Callers wait `patienceMs` for a process that
   * restarts. It starts with full buckets.
   */
  at(system: ProcessSystem, address: Pid<never> | string): RateLimiter;
}

/** Where permits come from: a machine of its own, or a process. */
interface Port {
  acquire(scope: Scope, wanted: Wanted): Promise<void>;
  status(key: string): Promise<LimiterStatus>;
}

function localPort(kernel: Kernel, settings: LimiterSettings): Port {
  const core = new LimiterCore(kernel, settings, (delayMs, fire) => {
    const timer = kernel.addTimer(delayMs, { fire });
    return () => kernel.cancelTimer(timer);
  });
  return {
    acquire: (scope, wanted) => {
      const wait = new Wait<void>(kernel, scope, "a permit");
      if (!wait.open) return wait.promise;
      const leave = core.ask(wanted, {
        get open() {
          return wait.open;
        },
        granted: () => wait.fulfil(),
        refused: (error) => wait.fail(error),
      });
      if (wait.open) wait.onEnd = leave;
      return wait.promise;
    },
    status: async (key) => core.status(key),
  };
}

/** Names one request, so that its client can take it back. */
type Ticket = object;

interface Office {
  readonly core: LimiterCore;
  readonly leaving: Map<Ticket, () => void>;
}

type Calls = {
  acquire(office: Office, wanted: Wanted, ticket: Ticket): Deferred<void>;
  status(office: Office, key: string): LimiterStatus;
};
type Casts = { leave(office: Office, ticket: Ticket): void };

function apply({ core, leaving }: Office, wanted: Wanted, ticket: Ticket, caller: Caller<void>): void {
  const answered = (answer: () => void) => (): void => {
    leaving.delete(ticket);
    answer();
  };
  const leave = core.ask(wanted, {
    get open() {
      return caller.open;
    },
    granted: answered(() => caller.reply(undefined)),
    refused: (error) => answered(() => caller.refuse(error))(),
  });
  if (caller.open) leaving.set(ticket, leave);
}

function timersOf(ctx: Context<unknown>): After {
  return (delayMs, fn) => {
    const timer = ctx.runAfter(delayMs, fn);
    return () => ctx.cancel(timer);
  };
}

/** How long a caller first waits for the process of a limiter to be there, and how long at most before it looks again. */
const LOOK_AGAIN: Backoff = { minMs: 5, maxMs: 500 };

function processPort(kernel: Kernel, settings: LimiterSettings, ref: ServerRef<Calls, Casts>): Port {
  const { timeoutMs, patienceMs } = settings;
  // The limiter answers in time. This is for a limiter that hangs.
  const limitMs = timeoutMs + kernel.limits.callTimeoutMs;
  const ask = async (scope: Scope, wanted: Wanted): Promise<CalleeExitedError | undefined> => {
    const ticket: Ticket = {};
    const from = scope.from === undefined ? {} : { from: scope.from };
    try {
      const { call } = ref.with({ signal: scope.signal, timeoutMs: limitMs, ...from });
      await call.acquire(wanted, ticket);
      return undefined;
    } catch (error) {
      if (isA(error, CalleeExitedError)) return error;
      if (!isA(error, RateLimitError)) ref.cast.leave(ticket);
      throw error;
    }
  };
  return {
    acquire: async (scope, wanted) => {
      let absentSince = kernel.env.now();
      for (let look = 1; ; look++) {
        const gone = await ask(scope, wanted);
        if (gone === undefined) return;
        const now = kernel.env.now();
        if (gone.reason.type !== "noproc") {
          absentSince = now;
          look = 1;
        }
        if (now - absentSince >= patienceMs) throw gone;
        await sleep(kernel, scope, backoffMs(LOOK_AGAIN, look, kernel.env.random()));
      }
    },
    status: (key) => ref.call.status(key),
  };
}

function limiterOf(kernel: Kernel, { burst }: LimiterSettings, port: Port): RateLimiter {
  const limit = (inner: unknown, options: LimitOptions<readonly unknown[]> = {}): unknown => {
    only("", options, ["key", "permits"]);
    const { key, permits = 1 } = options;
    if (key !== undefined && typeof key !== "function")
      throw new OptionError("key", key, "a function of the arguments");
    if (typeof permits !== "function") checkWanted("", permits, burst);
    return guard(kernel, inner, async (scope, run, args) => {
      const count = typeof permits === "function" ? permits(...args) : permits;
      await port.acquire(scope, checkWanted(key === undefined ? "" : key(...args), count, burst));
      return run(scope);
    });
  };
  return Object.assign(limit, {
    acquire: async (given: AcquireOptions = {}): Promise<void> => {
      only("", given, ["key", "permits", "signal", "from"]);
      const { key = "", permits = 1, ...options } = given;
      const wanted = checkWanted(key, permits, burst);
      const work = guard(
        kernel,
        () => undefined,
        async (scope) => port.acquire(scope, wanted),
      );
      await work.with(options)(...([] as never));
    },
    status: async (key = "") => port.status(word("key", key)),
  }) as unknown as RateLimiter;
}

/**
 * Defines a rate limiter: a token bucket for each key. A call takes a permit or waits for one, in order of arrival; it leaves when
 * its caller gives up or exits.
 *
 * @throws OptionError
 * @see J. Turner, "New Directions in Communications", IEEE Communications Magazine, 1986
 * @example
 * const Mail = rateLimiter({ permits: 10, perMs: 1_000, burst: 20 });
 * const limit = Mail.local(system);
 * const send = limit(async (_attempt, to: string) => log(`to ${to}`), { key: (to) => to });
 * await send("ada@example.com");
 */
export function rateLimiter(options: LimiterOptions): LimiterDefinition {
  const settings = checkLimiter(options);
  const server = defineServer<[], Office, Calls, Casts>({
    label: settings.label,
    init: (ctx) => {
      const { kernel } = ctx.self.process as { readonly kernel: Kernel };
      return { core: new LimiterCore(kernel, settings, timersOf(ctx), ctx.self), leaving: new Map() };
    },
    calls: {
      acquire: (office, wanted, ticket) => defer<void>((caller) => apply(office, wanted, ticket, caller)),
      status: ({ core }, key) => core.status(key),
    },
    casts: {
      leave: ({ leaving }, ticket) => {
        leaving.get(ticket)?.();
        leaving.delete(ticket);
      },
    },
  });
  const shared = (kernel: Kernel, ref: ServerRef<Calls, Casts>): RateLimiter =>
    limiterOf(kernel, settings, processPort(kernel, settings, ref));
  return {
    local: (system) => {
      const kernel = kernelOf(system);
      return limiterOf(kernel, settings, localPort(kernel, settings));
    },
    at: (system, address) => shared(kernelOf(system), server.at(system, address)),
    [launch]: () => {
      const launched = server[launch]([]);
      return { ...launched, ref: (pid, kernel) => shared(kernel, launched.ref(pid, kernel)) };
    },
  };
}
