// The runs of one scenario: under a strategy's choices, or under choices played back.

import type { Fingerprints } from "../kit/fingerprints.js";
import { UncontrolledAwaitError } from "../report/errors.js";
import { encodeToken } from "../report/token.js";
import { Script } from "../simulator/oracle.js";
import { Progress } from "../simulator/progress.js";
import type { Recorder } from "../simulator/recorder.js";
import type { WorldRun } from "../simulator/world.js";
import type { Chooser } from "../strategies/strategy.js";
import type { ExplorePlan } from "./options.js";
import { runSchedule, type Scenario, type ScheduleResult } from "./schedule.js";

interface RunOptions extends Pick<WorldRun, "recorder" | "observe" | "deadline"> {
  /** The states that earlier schedules have seen, if the schedule counts in a search. */
  readonly seen?: Fingerprints;
  /** Steps after which the schedule is cut off, if fewer than usual. */
  readonly maxSteps?: number | undefined;
}

export class Runs {
  readonly plan: ExplorePlan;
  readonly #scenario: Scenario;

  constructor(scenario: Scenario, plan: ExplorePlan) {
    this.#scenario = scenario;
    this.plan = plan;
  }

  under(chooser: Chooser, { seen, maxSteps, ...run }: RunOptions = {}): Promise<ScheduleResult> {
    const { settings, strategy } = this.plan;
    return runSchedule(this.#scenario, maxSteps === undefined ? settings : { ...settings, maxSteps }, {
      ...run,
      chooser,
      // A schedule that is played back ends with ordinary choices anyway; an enumerated one has no others.
      fairTail: seen !== undefined && strategy.enumerates !== true,
      progress: seen && new Progress(seen),
    });
  }

  of(choices: readonly number[], recorder?: Recorder): Promise<ScheduleResult> {
    return this.under(new Script(choices), { recorder });
  }

  token(result: ScheduleResult): string {
    const { choices, sizes, digest } = result;
    return encodeToken({ scenario: this.plan.title, choices, sizes, digest: digest >>> 0, settings: 0 });
  }
}

/** Identifies a failure by its check or error class. Texts do not count, since they may contain other numbers. */
export function kindOf({ failure }: ScheduleResult): string | undefined {
  if (failure === undefined) return undefined;
  const { error } = failure;
  if (!(error instanceof Error)) return typeof error;
  const { code, invariant, monitor } = error as Partial<Record<"code" | "invariant" | "monitor", unknown>>;
  return [error.name, code, invariant, monitor].join(" ");
}

/** Whether two runs of the same choices came to the same. */
export function alike(a: ScheduleResult, b: ScheduleResult): boolean {
  // Real work of the host ends at any time, so the code may or may not have gone on.
  if (a.failure?.error instanceof UncontrolledAwaitError) return kindOf(a) === kindOf(b);
  if (a.digest !== b.digest || a.steps !== b.steps || kindOf(a) !== kindOf(b)) return false;
  // A failing schedule may have been cut off in the middle of an action.
  return a.failure !== undefined || a.state === b.state;
}
