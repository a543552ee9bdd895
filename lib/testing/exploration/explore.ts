// Exploration: runs a scenario under one schedule after another, and makes the first failing schedule as simple as possible.

import { OptionError, ProcessExitedError } from "../../process/errors.js";
import { runningOwner } from "../../process/origin.js";
import { Pid } from "../../process/pid.js";
import { production } from "../../process/production.js";
import { HostIoError, HostTimerError } from "../report/errors.js";
import { placeOf } from "../report/place.js";
import { Actor } from "../simulator/actor.js";
import { host } from "../simulator/host.js";
import { isSimulated } from "../simulator/interceptor.js";
import { Explorer } from "./explorer.js";
import type { Exploration } from "./findings.js";
import { keeping } from "./keeping.js";
import { type ExploreOptions, planExploration, planSimulation, type SimulateOptions } from "./options.js";
import { active, type Scenario } from "./schedule.js";

/**
 * Runs a scenario under many schedules, each with its own order of steps and its own faults. Fails with the simplest failing
 * schedule found. The first schedule is the ordinary one: first come, first served, no faults.
 *
 * @throws ScheduleFailedError when a schedule fails; OptionError; InvalidTokenError and ReplayOutdatedError for a token that
 * does not fit; NondeterminismError when the same choices lead to different runs; NeverReachedError
 * @example
 * await explore(async (sim) => {
 *   const system = sim.system({ name: "shop" });
 *   const stock = await system.start(Stock, 100);
 *   const taken = await Promise.all([stock.call.take(60), stock.call.take(60)]);
 *   sim.finally("the sum is right", () => taken[0] !== taken[1]);
 * });
 */
export function explore(scenario: Scenario, options: ExploreOptions = {}): Promise<Exploration> {
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

/** @throws OptionError */
function checked(scenario: Scenario): Scenario {
  if (typeof scenario === "function") return scenario;
  throw new OptionError("scenario", scenario, "a function of the simulation");
}

let queue: Promise<unknown> = Promise.resolve();

/** Runs explorations one after another: they share the host's microtasks and timers. */
function exclusively<T>(work: () => Promise<T>): Promise<T> {
  const code = runningOwner();
  if (active.world !== undefined && code !== undefined)
    return Promise.reject(
      new OptionError("explore", "a scenario", "called outside of scenarios: they do not nest"),
    );
  const result = queue.then(async () => {
    const unwatchHost = host.watch(onHostUse);
    const unwatchRejections = production.watchRejections((owner, error) => {
      const { world } = active;
      if (owner instanceof Actor) {
        if (world?.actors.includes(owner) === true && !owner.lost) world.fail(error);
        return true;
      }
      if (!(owner instanceof Pid) || !isSimulated(owner)) return false;
      const process = world?.processOf(owner);
      // A rejection from a finished schedule is ignored. A stopped system has no listener any more, so the world decides.
      if (world === undefined || process === undefined || world.isLost(process)) return true;
      if (!process.kernel.stopped) return false;
      if (!(error instanceof ProcessExitedError)) world.fail(error);
      return true;
    });
    try {
      return await work();
    } finally {
      // Rejections from the end of the last schedule must not reach other listeners.
      await host.drain();
      unwatchRejections?.();
      unwatchHost();
    }
  });
  queue = result.catch(() => undefined);
  return result;
}

function onHostUse(kind: "timer" | "io", name: string): void {
  const { world } = active;
  const code = runningOwner();
  const ours = code instanceof Actor || (code instanceof Pid && world?.processOf(code) !== undefined);
  if (world === undefined || !ours || world.options.allowed(world.current.path)) return;
  const [path, place] = [world.current.path, placeOf(host.stack())];
  const error = kind === "timer" ? new HostTimerError(path, name, place) : new HostIoError(path, name, place);
  world.fail(error);
  throw error;
}
