// Circuit breakers: a definition, local breakers, and breakers that are processes and shared by name.

import { type Refusal, refuse } from "../../behaviour/server/replies.js";
import { defineServer } from "../../behaviour/server/server.js";
import type { ServerRef } from "../../behaviour/server/server-ref.js";
import { CalleeExitedError, CallTimeoutError, OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import { launch, type Startable } from "../../process/start.js";
import type { ProcessSystem } from "../../process/system.js";
import {
  type BreakerEffect,
  type BreakerEvent,
  type BreakerState,
  decide,
  initial,
  type Permit,
  type Verdict,
} from "./breaker-machine.js";
import {
  type BreakerOptions,
  type BreakerSettings,
  type CallOutcome,
  checkBreaker,
} from "./breaker-options.js";
import { AttemptTimeoutError, CircuitOpenError, isA } from "./errors.js";
import { guard, type Policy } from "./guard.js";
import { type Scope, within } from "./scope.js";

/** A circuit breaker at one moment. */
export interface BreakerStatus {
  /** Whether calls pass. An open breaker whose time is over is `open` until a call asks. */
  readonly state: BreakerState;
  /** Calls in the window. */
  readonly calls: number;
  /** How many of them failed. */
  readonly failed: number;
  /** How many of them were slow. */
  readonly slow: number;
  /** After this many milliseconds an open breaker admits a probe; 0 in other states. */
  readonly retryAfterMs: number;
}

/** A circuit breaker: put it around functions that use one service. */
export interface CircuitBreaker extends Policy {
  /** What the breaker counts now. */
  status(): Promise<BreakerStatus>;
}

/**
 * The result of `circuitBreaker`: a child of a supervisor, shared by name, or a local breaker in the memory of one system.
 */
export interface BreakerDefinition extends Startable<readonly [], CircuitBreaker> {
  /** A breaker without a process, for one system. */
  local(system: ProcessSystem): CircuitBreaker;
  /**
   * The breaker of a running process, by its pid or by its registered name. While there is no such process, calls pass and are
   * not counted: a breaker that restarts must not stop the service.
   */
  at(system: ProcessSystem, address: Pid<never> | string): CircuitBreaker;
}

/** A permit, and the breaker that gave it: the process may have been restarted since. */
interface Admission {
  readonly by: BreakerCore;
  readonly permit: Permit;
}

/** The machine of one breaker, and the effects of its decisions. */
class BreakerCore {
  #machine;
  readonly #kernel: Kernel;
  readonly #label: string;
  readonly #pid: Pid | undefined;

  constructor(kernel: Kernel, { label, config }: BreakerSettings, pid: Pid | undefined) {
    this.#kernel = kernel;
    this.#label = label;
    this.#pid = pid;
    this.#machine = initial(config);
    kernel.shared?.created(this);
  }

  /** @throws CircuitOpenError */
  ask(): Admission {
    const answer = this.#decide({ type: "ask", ...this.#moment() });
    if (answer?.type === "admit") return { by: this, permit: answer.permit };
    throw new CircuitOpenError(this.#label, answer?.state ?? "open", answer?.retryAfterMs ?? 0);
  }

  settled({ by, permit }: Admission, verdict: Verdict, durationMs: number): void {
    if (by !== this) return;
    this.#decide({ type: "settled", permit, verdict, durationMs, ...this.#moment() });
  }

  status(): BreakerStatus {
    this.#kernel.shared?.object(this, "read");
    const { state, window, reopenAt } = this.#machine;
    const now = this.#kernel.env.now();
    const { total, failed, slow } = window.tally(now);
    const retryAfterMs = state === "open" ? Math.max(0, reopenAt - now) : 0;
    return { state, calls: total, failed, slow, retryAfterMs };
  }

  #moment(): { readonly now: number; readonly roll: number } {
    return { now: this.#kernel.env.now(), roll: this.#kernel.env.random() };
  }

  /** Emits changes of state, and returns the answer to a call that asks. */
  #decide(event: BreakerEvent): Extract<BreakerEffect, { type: "admit" | "reject" }> | undefined {
    this.#kernel.shared?.object(this, "write");
    const [machine, effects] = decide(this.#machine, event);
    this.#machine = machine;
    let answer: Extract<BreakerEffect, { type: "admit" | "reject" }> | undefined;
    for (const effect of effects) {
      if (effect.type === "changed") this.#publish(effect);
      else answer = effect;
    }
    return answer;
  }

  #publish({ from, to, tally, openMs }: Extract<BreakerEffect, { type: "changed" }>): void {
    const { events, shared } = this.#kernel;
    shared?.listeners("read");
    if (!events.wants.breaker) return;
    const { total: calls, failed, slow } = tally;
    events.publish("breaker", {
      breaker: this.#label,
      pid: this.#pid,
      from,
      to,
      openMs,
      calls,
      failed,
      slow,
    });
  }
}

/** Where a breaker asks and reports: its own machine, or a process. */
interface Port {
  /** Undefined when there is nobody to ask. */
  ask(scope: Scope): Promise<Admission | undefined>;
  settled(admission: Admission, verdict: Verdict, durationMs: number): void;
  status(): Promise<BreakerStatus>;
}

function localPort(core: BreakerCore): Port {
  return {
    ask: async () => core.ask(),
    settled: (...args) => core.settled(...args),
    status: async () => core.status(),
  };
}

type Calls = {
  ask(core: BreakerCore): Admission | Refusal;
  status(core: BreakerCore): BreakerStatus;
};
type Casts = {
  settled(core: BreakerCore, admission: Admission, verdict: Verdict, durationMs: number): void;
};

function processPort(ref: ServerRef<Calls, Casts>): Port {
  return {
    ask: async (scope) => {
      const { from } = scope;
      try {
        return await ref.with({ signal: scope.signal, ...(from === undefined ? {} : { from }) }).call.ask();
      } catch (error) {
        if (isA(error, CalleeExitedError) || isA(error, CallTimeoutError)) return undefined;
        throw error;
      }
    },
    settled: (...args) => ref.cast.settled(...args),
    status: () => ref.call.status(),
  };
}

function breakerOf(kernel: Kernel, { timeoutMs, judge }: BreakerSettings, port: Port): CircuitBreaker {
  const layer = async (scope: Scope, run: (scope: Scope) => Promise<unknown>): Promise<unknown> => {
    const admission = await port.ask(scope);
    const began = kernel.env.now();
    const settle = (outcome: CallOutcome): void => {
      if (admission === undefined) return;
      const { durationMs } = outcome;
      let verdict: Verdict = "failure";
      try {
        verdict = wasGivenUp(scope) ? "ignore" : checkVerdict(judge(outcome));
      } finally {
        port.settled(admission, verdict, durationMs);
      }
    };
    let value: unknown;
    try {
      value = await within(kernel, scope, timeoutMs, undefined, run);
    } catch (error) {
      settle({ ok: false, error, durationMs: kernel.env.now() - began });
      throw error;
    }
    settle({ ok: true, value, durationMs: kernel.env.now() - began });
    return value;
  };
  return Object.assign((inner: unknown) => guard(kernel, inner, layer), {
    status: () => port.status(),
  }) as unknown as CircuitBreaker;
}

/** A call that its caller gave up says nothing about the service, unless a policy around the breaker gave up on its slowness. */
function wasGivenUp({ cancelled }: Scope): boolean {
  return cancelled !== undefined && !isA(cancelled.reason, AttemptTimeoutError);
}

/** @throws OptionError */
function checkVerdict(verdict: Verdict): Verdict {
  if (verdict === "success" || verdict === "failure" || verdict === "ignore") return verdict;
  throw new OptionError("judge", verdict, 'a function that returns "success", "failure" or "ignore"');
}

/**
 * Defines a circuit breaker. While calls fail or are slow too often, it rejects further ones at once with CircuitOpenError, and
 * tries again with a few probes after a time.
 *
 * @throws OptionError
 * @see M. Nygard, "Release It!", chapter "Circuit Breaker"
 * @example
 * const Bank = circuitBreaker({ failureRate: 0.5, timeoutMs: 2_000 });
 * const breaker = Bank.local(system);
 * const balance = breaker(async ({ signal }, account: string) => fetch(`https://bank.example/${account}`, { signal }));
 * await balance("42");
 */
export function circuitBreaker(options: BreakerOptions = {}): BreakerDefinition {
  const settings = checkBreaker(options);
  const server = defineServer<[], BreakerCore, Calls, Casts>({
    label: settings.label,
    init: (ctx) => new BreakerCore((ctx.self.process as { kernel: Kernel }).kernel, settings, ctx.self),
    calls: {
      ask: (core) => {
        try {
          return core.ask();
        } catch (error) {
          return refuse(error as Error);
        }
      },
      status: (core) => core.status(),
    },
    casts: {
      settled: (core, admission, verdict, durationMs) => core.settled(admission, verdict, durationMs),
    },
  });
  const shared = (kernel: Kernel, ref: ServerRef<Calls, Casts>): CircuitBreaker =>
    breakerOf(kernel, settings, processPort(ref));
  return {
    local: ({ kernel }) =>
      breakerOf(kernel, settings, localPort(new BreakerCore(kernel, settings, undefined))),
    at: (system, address) => shared(system.kernel, server.at(system, address)),
    [launch]: () => {
      const launched = server[launch]([]);
      return { ...launched, ref: (pid, kernel) => shared(kernel, launched.ref(pid, kernel)) };
    },
  };
}
