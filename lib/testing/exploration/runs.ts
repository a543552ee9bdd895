// The runs of one scenario: under a strategy's choices, or under choices played back.

import type { Fingerprints } from "../kit/fingerprints.js";
import { UncontrolledAwaitError } from "../report/errors.js";
import { encodeToken } from "../report/token.js";
import { Script } from "../simulator/oracle.js";
import type { Recorder } from "../simulator/recorder.js";
import type { Chooser } from "../strategies/strategy.js";
import type { ExplorePlan } from "./options.js";
import { runSchedule, type Scenario, type ScheduleResult } from "./schedule.js";

export class Runs {
  readonly plan: ExplorePlan;
  private readonly scenario: Scenario;

  constructor(scenario: Scenario, plan: ExplorePlan) {
    this.scenario = scenario;
    this.plan = plan;
  }

  /** @param seen - the states that earlier schedules have seen, if the schedule counts in a search */
  under(chooser: Chooser, recorder?: Recorder, seen?: Fingerprints): Promise<ScheduleResult> {
    const { settings, strategy } = this.plan;
    const observe = strategy.observes === true && chooser.ran !== undefined;
    // What is played back ends with ordinary choices anyway; what is enumerated has no others.
    const given = chooser instanceof Script || strategy.enumerates === true;
    const all = given ? { ...settings, fairAfter: Number.POSITIVE_INFINITY } : settings;
    return runSchedule(this.scenario, all, chooser, observe, recorder, seen);
  }

  of(choices: readonly number[], recorder?: Recorder): Promise<ScheduleResult> {
    return this.under(new Script(choices), recorder);
  }

  /** Runs the choices as a schedule that is cut off after `maxSteps` steps. */
  shortly(choices: readonly number[], maxSteps: number): Promise<ScheduleResult> {
    const settings = { ...this.plan.settings, maxSteps, fairAfter: Number.POSITIVE_INFINITY };
    return runSchedule(this.scenario, settings, new Script(choices), false);
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
