// The answer to page 03 of the course: restarts after crashes, an end after too many, and an end with the system.

import { formatReason, System } from "signalbox";
import { testClock } from "signalbox/testing";
import { expect, it } from "vitest";
import { keepRunning } from "../../../examples/course/03-links-and-monitors.js";

/** Crashes this many times, and then ends normally. */
function clumsy(crashes: number): { readonly work: () => void; readonly starts: () => number } {
  let starts = 0;
  const work = (): void => {
    starts += 1;
    if (starts <= crashes) throw new Error(`crash ${starts}`);
  };
  return { work, starts: () => starts };
}

it.each([
  { crashes: 0, starts: 1, reason: "normal" },
  { crashes: 2, starts: 3, reason: "normal" },
  { crashes: 3, starts: 3, reason: "crash, Error: crash 3" },
])("starts again at most twice: $crashes crashes", async ({ crashes, starts, reason }) => {
  await using system = new System({ report: false });
  const one = clumsy(crashes);
  expect(formatReason(await system.exited(keepRunning(system, one.work, 2)))).toBe(reason);
  expect(one.starts()).toBe(starts);
});

it("ends with the system, and leaves no worker behind", async () => {
  const clock = testClock();
  const system = new System({ environment: clock.environment });
  let starts = 0;
  keepRunning(
    system,
    () => {
      starts += 1;
      return new Promise(() => undefined);
    },
    2,
  );
  await clock.settle();
  await clock.until(system.stop());
  expect({ starts, processes: system.population, now: clock.now }).toEqual({
    starts: 1,
    processes: 0,
    now: 0,
  });
});
