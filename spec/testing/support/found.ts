// What an exploration ended with, for tests that expect it to fail.

import type { ExploreOptions, Scenario } from "signalbox/testing";
import { explore, ScheduleFailedError } from "signalbox/testing";
import { macrotask } from "../../support/host.js";

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

/** What the host would have ended the program with while `work` ran, and just after it. */
export async function hostErrors(work: () => Promise<unknown>): Promise<unknown[]> {
  const events = ["unhandledRejection", "uncaughtException"] as const;
  const others = events.map((event) => process.listeners(event as "uncaughtException"));
  const seen: unknown[] = [];
  const note = (error: unknown): void => void seen.push(error);
  for (const event of events) process.removeAllListeners(event);
  process.on("uncaughtException", note);
  try {
    await work();
    await macrotask();
  } finally {
    process.off("uncaughtException", note);
    for (const [i, event] of events.entries())
      for (const other of others[i] ?? []) process.on(event as "uncaughtException", other);
  }
  return seen;
}
