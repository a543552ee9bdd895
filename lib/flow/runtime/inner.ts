// Idempotent parts: several steps as one, without a journal of their own. Corda's idempotent and timed subflows.

import type { Context } from "../../process/context.js";
import { duration } from "../../process/duration.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count } from "../../process/options.js";
import { orAborted } from "../../process/or-aborted.js";
import type { InnerContext, StepContext, TimedOptions } from "../definition/context.js";
import { named } from "../definition/names.js";
import { type AnyStepOptions, stepBody } from "./step-body.js";
import { retryWait, type StepPlan } from "./step-plan.js";

/** Corda's timed flows: 30 s, 6 restarts, each 1.8 times as long. */
export const TIMED_DEFAULTS: {
  readonly timeout: number;
  readonly restarts: number;
  readonly factor: number;
} = {
  timeout: 30_000,
  restarts: 6,
  factor: 1.8,
};

/** @throws OptionError */
export function timedPlan(options: TimedOptions): StepPlan {
  only("", options, ["timeout", "restarts", "factor"]);
  const timeoutMs = duration("timeout", options.timeout ?? TIMED_DEFAULTS.timeout, 1);
  const factor = options.factor ?? TIMED_DEFAULTS.factor;
  if (typeof factor !== "number" || !(factor >= 1))
    throw new OptionError("factor", factor, "a number, 1 or more");
  return {
    attempts: 1 + count("restarts", options.restarts ?? TIMED_DEFAULTS.restarts, 0),
    backoff: { minMs: 1, maxMs: 1, jitter: 0 },
    timeoutMs,
    timeoutFactor: factor,
  };
}

/** Runs an idempotent part. Its steps run at once; nothing of them is recorded. */
export function runInner<T>(
  ctx: Context<never>,
  step: StepContext,
  body: (inner: InnerContext) => Promise<T>,
): Promise<T> {
  const pause = async (ms: number): Promise<void> => {
    let cancel: (() => void) | undefined;
    const due = new Promise<void>((done) => {
      const timer = ctx.runAfter(ms, () => done());
      cancel = () => ctx.alive && ctx.cancel(timer);
    });
    await orAborted(due, step.signal).finally(cancel);
  };
  const inner: InnerContext = {
    flowId: step.flowId,
    key: step.key,
    idempotencyKey: step.idempotencyKey,
    attempt: step.attempt,
    token: step.token,
    signal: step.signal,
    lastHeartbeat: step.lastHeartbeat,
    heartbeat: (progress) => step.heartbeat(progress),
    giveUp: (reason, cause) => step.giveUp(reason, cause),
    sleep: (time) => pause(duration("duration", time)),
    async step<T>(name: string, stepped: unknown, options?: AnyStepOptions): Promise<Awaited<T>> {
      named("name", name);
      const { run, plan } = stepBody(name, stepped, options);
      for (let attempt = 1; ; attempt++) {
        try {
          return (await run({ ...inner, attempt })) as Awaited<T>;
        } catch (error) {
          const wait = retryWait(plan, attempt, error, ctx.random(), ctx.wallTime());
          if (wait === undefined || step.signal.aborted) throw error;
          await pause(wait);
        }
      }
    },
  };
  return body(inner);
}
