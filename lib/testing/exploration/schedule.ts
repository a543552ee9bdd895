// Runs one schedule of a scenario, from its first step to its last check.

import { placeOf } from "../../process/own-code.js";
import { isThenable } from "../../process/thenable.js";
import type { Actor } from "../simulator/actor.js";
import { BuiltInChecker, type BuiltInChecks } from "../simulator/built-in-checks.js";
import type { Cycle } from "../simulator/cycle.js";
import { host, NO_LIMIT } from "../simulator/host.js";
import { cycleOf, isFair, livelock } from "../simulator/livelock.js";
import type { SharedMemory } from "../simulator/memory.js";
import { World, type WorldRun, type WorldSettings } from "../simulator/world.js";
import type { Chooser } from "../strategies/strategy.js";
import { Simulation } from "./simulation.js";

/** The code of a test: creates systems and uses them. It runs once for each schedule, so it must start from nothing. */
export type Scenario = (sim: Simulation) => unknown;

export interface ScheduleSettings extends WorldSettings {
  /** Whether a fair schedule that was cut off at `maxSteps` passes. */
  readonly endless: boolean;
  readonly checks: BuiltInChecks | false;
  /** Whether code goes on in a step of its own after an await of a promise that the simulator does not settle. */
  readonly plainAwaits: boolean;
}

/** The result of one schedule. */
export interface ScheduleResult {
  readonly failure: { readonly error: unknown } | undefined;
  readonly choices: readonly number[];
  readonly sizes: readonly number[];
  readonly steps: number;
  readonly digest: number;
  /** The digest after each step, to find where two runs diverge. */
  readonly digests: readonly number[];
  /** Cut off at `maxSteps`. */
  readonly bounded: boolean;
  /** The repeating end of a schedule that was cut off. */
  readonly cycle: Cycle | undefined;
  /** Given up at the end of the exploration's time. */
  readonly late: boolean;
  /** Abandoned, because it could show nothing new. */
  readonly redundant: boolean;
  /** The search began anew: all earlier schedules are redundant. */
  readonly anew: boolean;
  /** Labels of `sometimes`, and whether each held. */
  readonly reached: ReadonlyMap<string, boolean>;
  /** Points of `ctx.buggify` that code has passed, and whether each has fired. */
  readonly buggified: ReadonlyMap<string, boolean>;
  /** Memory that processes were seen to share; empty unless the strategy needs footprints. */
  readonly shared: readonly SharedMemory[];
  /** Identifies the state at the end. */
  readonly state: string;
  /** Fingerprints of the states on the way that no earlier schedule had seen. */
  readonly fresh: readonly number[];
  readonly actors: number;
  /** Fault rules that have matched nothing. */
  readonly idle: readonly string[];
  /** If there are such rules: paths of all processes, and names of all nodes. */
  readonly paths: readonly string[];
  /** Virtual milliseconds that passed. */
  readonly elapsedMs: number;
}

/** The world of the running schedule. Promises and timers of its code are controlled. */
export const active: { world: World | undefined } = { world: undefined };

export async function runSchedule(
  scenario: Scenario,
  settings: ScheduleSettings,
  run: WorldRun,
): Promise<ScheduleResult> {
  const { chooser, recorder } = run;
  const world = new World({ ...settings, ...run });
  const reached = new Map<string, boolean>();
  const sim = new Simulation(world, reached);
  const checker = settings.checks === false ? undefined : new BuiltInChecker(world, settings.checks);
  if (checker !== undefined) {
    world.atQuiet = () => checker.quiet();
    world.atCircle = (paths) => checker.circle(paths);
  }
  active.world = world;
  host.aborts = () => world.footprints.wrote("abort");
  if (settings.plainAwaits)
    host.promises.awaited = (promise, isAwait) => world.gates.awaited(promise, isAwait);
  if (recorder !== undefined) recordPlaces(world);
  try {
    await world.begin(() => start(scenario, sim, world));
    await world.drive();
    if (world.oracle.broken !== undefined) throw world.oracle.broken.error;
    if (world.bounded && isFair(world)) {
      sim.monitor.cutOff();
      if (world.failure === undefined && !settings.endless) world.fail(livelock(world));
    }
    if (world.failure === undefined && !world.bounded && !world.late && chooser.redundant !== true) {
      checker?.end();
      sim.conclude();
    }
    return resultOf(world, sim, chooser, reached);
  } finally {
    host.promises.awaited = undefined;
    host.promises.endless = undefined;
    host.promises.limit = NO_LIMIT;
    host.promises.made = undefined;
    host.promises.settled = undefined;
    host.aborts = undefined;
    active.world = undefined;
    world.close();
  }
}

function resultOf(
  world: World,
  sim: Simulation,
  chooser: Chooser,
  reached: ReadonlyMap<string, boolean>,
): ScheduleResult {
  return {
    failure: world.failure,
    choices: world.oracle.choices,
    sizes: world.oracle.sizes,
    steps: world.record.steps,
    digest: world.record.digest,
    digests: world.record.digests,
    bounded: world.bounded,
    cycle: world.bounded ? cycleOf(world) : undefined,
    late: world.late,
    redundant: chooser.redundant === true,
    anew: chooser.isAnew === true,
    reached,
    buggified: world.points,
    shared: world.memory?.all ?? [],
    state: stateOf(world, sim),
    fresh: world.options.progress?.fresh ?? [],
    actors: world.actors.all.length,
    ...matchesOf(world),
    elapsedMs: world.time.now,
  };
}

/** Promises of one step whose places are kept. */
const MOST_PLACES = 10_000;

/** Keeps for each promise the place in the code that made or awaits it. */
function recordPlaces(world: World): void {
  const waiting = new WeakMap<object, Actor>();
  let step = -1;
  let made = 0;
  host.promises.made = (promise, awaited) => {
    if (world.record.steps !== step) made = 0;
    step = world.record.steps;
    if (++made > MOST_PLACES) return;
    const place = placeOf(host.stack());
    if (place === undefined) return;
    world.code.current.places.set(promise, { place, awaited });
    waiting.set(promise, world.code.current);
  };
  host.promises.settled = (promise) => waiting.get(promise)?.places.delete(promise);
}

function start(scenario: Scenario, sim: Simulation, world: World): void {
  const done = (): void => {
    world.finished = true;
    world.actors.main.done = true;
    world.faults.stop();
  };
  try {
    const result = scenario(sim);
    if (isThenable(result)) result.then(done, (error) => world.fail(error));
    else done();
  } catch (error) {
    world.fail(error);
  }
}

/** The rules that have matched nothing, and what there was to match. */
function matchesOf({ faults, actors }: World): Pick<ScheduleResult, "idle" | "paths"> {
  if (faults.idle.size === 0) return { idle: [], paths: [] };
  const processes = actors.all.filter(({ process }) => process !== undefined).map(({ path }) => path);
  return { idle: [...faults.idle.keys()], paths: [...processes, ...faults.nodes.names] };
}

/** The living processes, how much each has handled, and the states of the scenario. */
function stateOf(world: World, sim: Simulation): string {
  const alive = world.actors.all.map((actor) =>
    actor.process === undefined || !actor.alive
      ? "-"
      : `${actor.process.state},${actor.process.depth},${actor.process.handled}`,
  );
  return JSON.stringify([alive.join(";"), sim.describe()]);
}
