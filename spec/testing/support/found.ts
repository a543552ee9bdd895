// What an exploration ended with, for tests that expect it to fail.

import type { ExploreOptions, Scenario } from "signalbox/testing";
import { explore, ScheduleFailedError } from "signalbox/testing";

/** The failure of an exploration that has to find one. */
export async function failureOf(
  scenario: Scenario,
  options: ExploreOptions = {},
): Promise<ScheduleFailedError> {
  const error = await errorOf(explore(scenario, options));
  if (!(error instanceof ScheduleFailedError)) throw error;
  return error;
}

/** What the failing schedule failed with. */
export async function causeOf(scenario: Scenario, options: ExploreOptions = {}): Promise<unknown> {
  return (await failureOf(scenario, options)).cause;
}

/** What a promise is rejected with. */
export function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error("nothing failed");
    },
    (error: unknown) => error,
  );
}
