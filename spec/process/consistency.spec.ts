// Invariants of a whole system: each check notices when the rule that it is about is broken by hand.

import { explore, ScheduleFailedError } from "signalbox/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { checkConsistency } from "../../lib/process/consistency.js";
import { InvariantError } from "../../lib/process/errors.js";
import type { Process } from "../../lib/process/process.js";
import { System } from "../../lib/system.js";
import { puppet } from "../support/puppet.js";

let system: System;
let clerk: Process;
let shelf: Process;

/** A system in which a clerk has a name, and is linked to a shelf that it monitors. */
beforeEach(async () => {
  system = new System({ report: false });
  const one = puppet(system, { name: "clerk" });
  const other = puppet(system);
  await one.do((ctx) => ctx.link(other.pid));
  await one.do((ctx) => ctx.monitor(other.pid));
  [clerk, shelf] = [one.pid.process as Process, other.pid.process as Process];
});
afterEach(() => system.stop());

describe("a system is consistent", () => {
  test("with links, monitors and names", () => {
    expect(() => checkConsistency(system.kernel)).not.toThrow();
  });

  test.each<[rule: string, damage: () => () => void]>([
    ["a link is known at both ends", () => without(shelf, "links")],
    ["a monitor is known to its target", () => without(shelf, "watchers")],
    ["a monitor is known to its watcher", () => without(clerk, "watching")],
    [
      "the population is the number of living processes",
      () => {
        system.kernel.population++;
        return () => void system.kernel.population--;
      },
    ],
    [
      "a process holds the name that it has",
      () => {
        const { extras } = clerk;
        extras.name = "shelf";
        return () => {
          extras.name = "clerk";
        };
      },
    ],
    [
      "the pid of a living process leads to it",
      () => {
        shelf.pid.process = undefined;
        return () => {
          shelf.pid.process = shelf;
        };
      },
    ],
  ])("unless it is broken that %s", (rule, damage) => {
    const repair = damage();
    expect(() => checkConsistency(system.kernel)).toThrow(expect.objectContaining({ invariant: rule }));
    repair();
  });
});

function without(process: Process, key: "links" | "watchers" | "watching"): () => void {
  const value = process[key];
  process[key] = undefined;
  return () => Object.assign(process, { [key]: value });
}

test("under the simulator, a schedule fails when a system is inconsistent at a quiet moment [V34]", async () => {
  const error: unknown = await explore(
    async (sim) => {
      const simulated = sim.system();
      simulated.spawn({ handle: () => undefined });
      simulated.kernel.population++;
      await sim.quiet();
    },
    { schedules: 1 },
  ).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ScheduleFailedError);
  expect((error as Error).cause).toBeInstanceOf(InvariantError);
});
