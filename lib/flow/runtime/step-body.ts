// What runs in a step: its function, or its job elsewhere.

import { OptionError } from "../../process/errors.js";
import { JOB_PLACE, type JobPlace, placedJob } from "../../process/program-host.js";
import type { StepContext, StepOptions } from "../definition/context.js";
import { STEP_OPTIONS, type StepPlan, stepPlan } from "./step-plan.js";

/** Options of a step, of any kind. */
export type AnyStepOptions = StepOptions & Partial<JobPlace> & { readonly args?: unknown };

const JOB_OPTIONS: readonly string[] = [...STEP_OPTIONS, ...JOB_PLACE, "args"];

/** The body of a step, and its plan. @throws OptionError */
export function stepBody(
  name: string,
  body: unknown,
  options: AnyStepOptions | undefined,
): { readonly run: (step: StepContext) => unknown; readonly plan: StepPlan } {
  const placed = placedJob(`step "${name}"`, name, body, options);
  if (placed === undefined) return { run: body as (step: StepContext) => unknown, plan: stepPlan(options) };
  const plan = stepPlan(options, JOB_OPTIONS);
  const { args = [] } = options ?? {};
  if (!Array.isArray(args)) throw new OptionError("args", args, "an array of arguments");
  return { run: (step) => placed(args, step), plan };
}
