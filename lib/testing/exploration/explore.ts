// Exploration: runs a scenario under one schedule after another, and makes the first failing schedule as simple as possible.

import { OptionError } from "../../process/errors.js";
import { host } from "../simulator/host.js";
import { exclusively } from "./exclusive.js";
import { Explorer } from "./explorer.js";
import type { Exploration } from "./findings.js";
import { keeping } from "./keeping.js";
import { type ExploreOptions, planExploration, planSimulation, type SimulateOptions } from "./options.js";
import type { Scenario } from "./schedule.js";
import { THREAD } from "./thread.js";

/**
 * Runs a scenario under many schedules, each with its own order of steps and its own faults. Fails with the simplest failing
 * schedule found. The first schedule is the ordinary one: first come, first served, no faults.
 *
 * @throws ScheduleFailedError when a schedule fails; OptionError; InvalidTokenError and ReplayOutdatedError for a token that
 * does not fit; NondeterminismError when the same choices lead to different runs; NeverReachedError; UnmatchedRuleError
 * @example
 * await explore(async (sim) => {
 *   const system = sim.system({ name: "shop" });
 *   const stock = await system.start(Stock, 100);
 *   const taken = await Promise.all([stock.call.take(60), stock.call.take(60)]);
 *   sim.finally("the sum is right", () => taken[0] !== taken[1]);
 * });
 */
export function explore(scenario: Scenario, options: ExploreOptions = {}): Promise<Exploration> {
  if (host.work !== undefined) return Promise.reject(nested());
  return exclusively(async () => {
    const plan = planExploration(options);
    const explorer = new Explorer(checked(scenario), plan);
    const result = plan.replay === undefined ? explorer.explore() : explorer.replay(plan.replay);
    return plan.keep === undefined ? result : keeping(result, plan.keep);
  });
}

/**
 * Runs one schedule: the ordinary one, or the one of the given choices. Use it in properties that also vary the input; see
 * {@link arbitrarySchedules}.
 *
 * @throws ScheduleFailedError when the schedule fails
 * @example
 * const twoClerks = async (sim: Simulation): Promise<void> => {
 *   const stock = await sim.system({ name: "shop" }).start(Stock, 100);
 *   await Promise.all([stock.call.take(60), stock.call.take(40)]);
 * };
 * await simulate(twoClerks); // the ordinary schedule
 * await simulate(twoClerks, { choices: [0, 1] }); // the second alternative at the second choice
 */
export function simulate(
  scenario: Scenario,
  options: SimulateOptions & {
    /**
     * The decisions of the schedule, in order: the index of the chosen alternative, from 0. A missing one is 0, the ordinary
     * outcome, and so is one for which there is no alternative. Default: none.
     */
    readonly choices?: readonly number[];
  } = {},
): Promise<Exploration> {
  return exclusively(() =>
    new Explorer(checked(scenario), planSimulation(options)).one(options.choices ?? []),
  );
}

/** In a thread of an exploration, the module of the scenario must not explore as it is loaded. */
function nested(): OptionError {
  return new OptionError("source.module", THREAD, "a module that does not explore as it is loaded");
}

/** @throws OptionError */
function checked(scenario: Scenario): Scenario {
  if (typeof scenario === "function") return scenario;
  throw new OptionError("scenario", scenario, "a function of the simulation");
}
