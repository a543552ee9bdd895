// Circuit breakers: a definition, local breakers, and breakers that are processes and shared by name.

import { type Refusal, refuse } from "../../behaviour/server/replies.js";
import { defineServer } from "../../behaviour/server/server.js";
import type { ServerRef } from "../../behaviour/server/server-ref.js";
import { CalleeExitedError, CallTimeoutError, OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { kernelOf } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import { launch, type Startable } from "../../process/start.js";
import type { ProcessSystem } from "../../process/system.js";
import { type Admission, BreakerCore, type BreakerStatus } from "./breaker-core.js";
import type { Verdict } from "./breaker-machine.js";
import {
  type BreakerOptions,
  type BreakerSettings,
  type CallOutcome,
  checkBreaker,
} from "./breaker-options.js";
import { AttemptTimeoutError, isA } from "./errors.js";
import { guard, type Policy } from "./guard.js";
import { type Scope, within } from "./scope.js";

/** A circuit breaker: put it around functions that use one service. */
export interface CircuitBreaker extends Policy {
  /** The present counts of the breaker. */
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

/** Where a breaker asks and reports: its own machine, or a process. */
interface Port {
  /** Undefined when there is no breaker to ask. */
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
    local: (system) => {
      const kernel = kernelOf(system);
      return breakerOf(kernel, settings, localPort(new BreakerCore(kernel, settings, undefined)));
    },
    at: (system, address) => shared(kernelOf(system), server.at(system, address)),
    [launch]: () => {
      const launched = server[launch]([]);
      return { ...launched, ref: (pid, kernel) => shared(kernel, launched.ref(pid, kernel)) };
    },
  };
}
