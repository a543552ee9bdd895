// The report of a failing schedule: the simplest schedule that fails in the same way, step by step.

import { EndlessStepError, NondeterminismError } from "../report/errors.js";
import { type FoundSchedule, ScheduleFailedError } from "../report/failure.js";
import { enoughSteps } from "../simulator/livelock.js";
import { Script } from "../simulator/oracle.js";
import { Recorder } from "../simulator/recorder.js";
import { type Minimized, minimize } from "./minimize.js";
import { alike, kindOf, type Runs } from "./runs.js";
import type { ScheduleResult } from "./schedule.js";
import { shrinkChoices, trimmed } from "./shrink.js";
import { StepLimit } from "./step-limit.js";

/** The error for a failing schedule. */
export async function failureOf(runs: Runs, result: ScheduleResult, schedule: number): Promise<Error> {
  const { shrink, strategy } = runs.plan;
  const again = await runs.of(result.choices);
  if (!alike(result, again)) return divergence(runs, result, again);
  const { choices, tried, others } =
    shrink === 0 || result.failure?.error instanceof EndlessStepError
      ? { choices: result.choices, tried: 0, others: [] }
      : await (result.bounded ? minimizeEndless(runs, result) : minimize(runs, result, again));
  const { cycle } = result.bounded ? await runs.of(choices) : result;
  const recorder = new Recorder(cycle === undefined ? undefined : enoughSteps(cycle));
  const simplest = await runs.of(choices, recorder);
  if (simplest.failure === undefined) return divergence(runs, result, simplest);
  return failed(runs, simplest, recorder, {
    schedule,
    strategy: strategy.name,
    steps: result.steps,
    tried,
    others: others.map(({ error, result }) => ({ failure: textOf(error), token: runs.token(result) })),
  });
}

/** Simplifies a schedule that did not end. */
async function minimizeEndless(runs: Runs, result: ScheduleResult): Promise<Minimized> {
  const { shrink, settings } = runs.plan;
  const what = kindOf(result);
  let tried = 0;
  const shrunk = async (limit: StepLimit): Promise<readonly number[]> => {
    const fails = async (candidate: readonly number[]): Promise<boolean> => {
      tried++;
      const one = await runs.under(new Script(candidate), { maxSteps: limit.steps });
      return kindOf(one) === what && limit.accepts(one);
    };
    return shrinkChoices(result.choices, fails, shrink);
  };
  let choices = await shrunk(new StepLimit(settings.maxSteps, true));
  // A schedule that was cut off early may end later after all.
  if (kindOf(await runs.of(choices)) !== what)
    choices = await shrunk(new StepLimit(settings.maxSteps, false));
  return { choices, tried, others: [] };
}

/** The error for a failing schedule that ran with a recorder. */
export function failed(
  runs: Runs,
  result: ScheduleResult,
  recorder: Recorder,
  how: Omit<FoundSchedule, "seed">,
): Error {
  const error = result.failure?.error;
  const found: FoundSchedule = { seed: runs.plan.seed, ...how };
  const trace = { steps: recorder.steps, failure: textOf(error) };
  return new ScheduleFailedError(error, runs.token(result), trace, trimmed(result.choices), found);
}

function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

/** The error for two runs of the same choices that came to different results. */
export async function divergence(
  runs: Runs,
  result: ScheduleResult,
  second: ScheduleResult,
): Promise<NondeterminismError> {
  const [one, other] = [new Recorder(), new Recorder()];
  await runs.of(result.choices, one);
  await runs.of(result.choices, other);
  const apart = (a: readonly number[], b: readonly number[]): number => {
    const step = a.findIndex((digest, index) => digest !== b[index]);
    return step >= 0 ? step : Math.max(0, Math.min(a.length, b.length) - 1);
  };
  const step = apart(result.digests, second.digests);
  const [first, then] = [one.line(step), other.line(step)];
  const { error } = result.failure ?? { error: undefined };
  return new NondeterminismError(step + 1, first, then, runs.token(result), error);
}
