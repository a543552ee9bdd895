// Exploration: runs a scenario under one schedule after another, and makes the first failing schedule as simple as possible.

import { OptionError, ProcessExitedError } from "../../process/errors.js";
import { count, text } from "../../process/options.js";
import { runningOwner } from "../../process/origin.js";
import { Pid } from "../../process/pid.js";
import { production } from "../../process/production.js";
import { Random } from "../kit/random.js";
import {
  HostTimerError,
  NeverReachedError,
  NondeterminismError,
  ReplayOutdatedError,
  UncontrolledAwaitError,
} from "../report/errors.js";
import { type FoundSchedule, ScheduleFailedError } from "../report/failure.js";
import { placeOf } from "../report/place.js";
import { decodeToken, encodeToken, scenarioHash } from "../report/token.js";
import { Actor } from "../simulator/actor.js";
import type { BuiltInChecks } from "../simulator/built-in-checks.js";
import { type FaultOptions, planFaults } from "../simulator/faults.js";
import { host } from "../simulator/host.js";
import { isSimulated } from "../simulator/interceptor.js";
import { flag, words } from "../simulator/options.js";
import { ORDINARY, Script } from "../simulator/oracle.js";
import { type ProcessPattern, patternMatcher } from "../simulator/process-pattern.js";
import { Recorder } from "../simulator/recorder.js";
import { portfolio } from "../strategies/portfolio.js";
import type { Chooser, SearchStrategy } from "../strategies/strategy.js";
import {
  active,
  runSchedule,
  type Scenario,
  type ScheduleResult,
  type ScheduleSettings,
} from "./schedule.js";
import { shrinkChoices, trimmed } from "./shrink.js";

/** Defaults of {@link explore} and {@link simulate}. */
export const EXPLORE_DEFAULTS: {
  /** Number of schedules to run. */
  readonly schedules: number;
  /** Seed of all randomness: a whole number, 0 or more. */
  readonly seed: number;
  /** Steps after which a schedule is cut off. */
  readonly maxSteps: number;
  /** One in this many passing schedules runs twice. */
  readonly recheck: number;
  /** Most schedules to run to simplify a failing one. */
  readonly shrink: number;
  /** Real milliseconds to wait for a process that may use the host's timers and I/O. */
  readonly patienceMs: number;
} = { schedules: 1_000, seed: 1, maxSteps: 10_000, recheck: 100, shrink: 2_000, patienceMs: 5_000 };

/** Options of every run of a scenario. */
export interface SimulateOptions {
  /** Faults that may strike. None by default. */
  readonly faults?: FaultOptions;
  /** Steps after which a schedule is cut off. */
  readonly maxSteps?: number;
  /** Whether sent messages are frozen deeply, so that a process that writes to a shared message throws. Default false. */
  readonly freeze?: boolean;
  /** Checks of every schedule, whatever the scenario. All are on by default; `false` turns all off. */
  readonly checks?: BuiltInChecks | false;
  /** Processes, by path, that may use the host's timers and I/O. The simulator waits for them in real time. */
  readonly allow?: ProcessPattern | readonly ProcessPattern[];
  /** Real milliseconds to wait for such a process. */
  readonly patienceMs?: number;
}

/** Options of {@link explore}. */
export interface ExploreOptions extends SimulateOptions {
  /** Name of the exploration. A token is valid only for an exploration of the same name. */
  readonly name?: string;
  /** Number of schedules to run. */
  readonly schedules?: number;
  /** Seed of all randomness: the same seed explores the same schedules. */
  readonly seed?: number;
  /** The search strategy. Default {@link portfolio}. */
  readonly strategy?: SearchStrategy;
  /** One in this many passing schedules runs twice, to detect code outside of the simulator's control; 0 for none. */
  readonly recheck?: number;
  /** Most schedules to run to simplify a failing one; 0 for none. */
  readonly shrink?: number;
  /** Labels of `sim.sometimes` that at least one schedule must reach, besides those that schedules mention. */
  readonly sometimes?: readonly string[];
  /** Runs exactly the schedule of this token. */
  readonly replay?: string;
  /** Ends the exploration early: it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** The statistics of an exploration that did not fail. */
export interface Exploration {
  /** Name of the search strategy. */
  readonly strategy: string;
  /** Schedules that were run. */
  readonly schedules: number;
  /** Steps of all schedules. */
  readonly steps: number;
  /** Schedules that differ in the order of events. */
  readonly distinctSchedules: number;
  /** Different end states: by living processes, by how much each has handled, and by the values of `sim.state`. */
  readonly distinctStates: number;
  /** Schedules that were cut off at `maxSteps`. */
  readonly bounded: number;
  /** Schedules that were abandoned because they could show nothing new. */
  readonly redundant: number;
  /** True when every schedule was run; only an exhaustive strategy can get there. */
  readonly complete: boolean;
  /** Labels of `sim.sometimes`, with the number of schedules in which each held. */
  readonly reached: ReadonlyMap<string, number>;
  /** Virtual milliseconds of all schedules together. */
  readonly virtualMs: number;
}

/** Strategies know the longest of this many last schedules, so that one endless schedule is forgotten. */
const RECENT = 16;

/** Checks the options of every run. @throws OptionError */
function settingsOf(options: SimulateOptions): ScheduleSettings {
  return {
    faults: planFaults(options.faults),
    maxSteps: count("maxSteps", options.maxSteps ?? EXPLORE_DEFAULTS.maxSteps, 1),
    freeze: flag("freeze", options.freeze ?? false),
    checks: options.checks ?? {},
    allowed: options.allow === undefined ? () => false : patternMatcher("allow", options.allow),
    patienceMs: count("patienceMs", options.patienceMs ?? EXPLORE_DEFAULTS.patienceMs, 1),
  };
}

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
    const explorer = new Explorer(scenario, options);
    return options.replay === undefined ? explorer.explore() : explorer.replay(options.replay);
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
  return exclusively(() => new Explorer(scenario, { ...options, shrink: 0 }).one(options.choices ?? []));
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
    const unwatchTimers = host.watch(onHostTimer);
    const unwatchRejections = production.watchRejections((owner, error) => {
      const { world } = active;
      if (owner instanceof Actor) {
        if (world?.actors.includes(owner) === true) world.fail(error);
        return true;
      }
      if (!(owner instanceof Pid) || !isSimulated(owner)) return false;
      const process = world?.processOf(owner);
      // A rejection from a finished schedule is ignored. A stopped system has no listener any more, so the world decides.
      if (world === undefined || process === undefined) return true;
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
      unwatchTimers();
    }
  });
  queue = result.catch(() => undefined);
  return result;
}

function onHostTimer(name: string): void {
  const { world } = active;
  const code = runningOwner();
  const ours = code instanceof Actor || (code instanceof Pid && world?.processOf(code) !== undefined);
  if (world === undefined || !ours || world.options.allowed(world.current.path)) return;
  const error = new HostTimerError(world.current.path, name, placeOf(host.stack()));
  world.fail(error);
  throw error;
}

class Explorer {
  private readonly scenario: Scenario;
  private readonly settings: ScheduleSettings;
  private readonly options: ExploreOptions;
  private readonly strategy: SearchStrategy;
  private readonly seed: number;
  private readonly mostShrinks: number;
  private readonly title: string;
  private readonly digests = new Set<number>();
  private readonly states = new Set<string>();
  private readonly reached = new Map<string, number>();
  private schedules = 0;
  private steps = 0;
  private bounded = 0;
  private redundant = 0;
  private virtualMs = 0;
  /** Steps of the last schedules. */
  private readonly recent: number[] = [];
  private actors = 0;
  private complete = false;

  constructor(scenario: Scenario, options: ExploreOptions) {
    if (typeof scenario !== "function")
      throw new OptionError("scenario", scenario, "a function of the simulation");
    this.scenario = scenario;
    this.options = options;
    this.settings = settingsOf(options);
    this.strategy = options.strategy ?? portfolio();
    this.mostShrinks = count("shrink", options.shrink ?? EXPLORE_DEFAULTS.shrink, 0);
    if (typeof this.strategy?.begin !== "function" || typeof this.strategy.name !== "string")
      throw new OptionError("strategy", this.strategy, "a strategy, such as randomWalk() or exhaustive()");
    this.seed = count("seed", options.seed ?? EXPLORE_DEFAULTS.seed, 0);
    const { faults = {}, freeze = false } = options;
    this.title =
      text("name", options.name ?? "exploration") + JSON.stringify([Object.keys(faults).sort(), freeze]);
    for (const label of words("sometimes", options.sometimes)) this.reached.set(text("sometimes", label), 0);
  }

  async explore(): Promise<Exploration> {
    const { options, strategy } = this;
    const most = count("schedules", options.schedules ?? EXPLORE_DEFAULTS.schedules, 1, true);
    const recheck = count("recheck", options.recheck ?? EXPLORE_DEFAULTS.recheck, 0);
    for (let index = 0; this.schedules < most; index++) {
      options.signal?.throwIfAborted();
      const chooser =
        this.schedules === 0 && strategy.enumerates !== true
          ? ORDINARY
          : strategy.begin(strategy.enumerates === true ? index : index - 1, new Random(this.seed, index), {
              longest: Math.max(0, ...this.recent),
              actors: this.actors,
            });
      if (chooser === undefined) {
        this.complete = true;
        break;
      }
      const result = await this.run(chooser);
      this.count(result);
      if (result.failure !== undefined) throw await this.report(result);
      if (recheck > 0 && index % recheck === 0 && !result.redundant) await this.again(result);
    }
    const never = [...this.reached].filter(([, times]) => times === 0).map(([label]) => label);
    if (never.length > 0) throw new NeverReachedError(never, this.schedules);
    return this.summary();
  }

  async replay(token: string): Promise<Exploration> {
    const { choices, sizes, scenario } = decodeToken(token);
    if (scenario !== scenarioHash(this.title)) throw new ReplayOutdatedError(-1, this.title, 0, 0);
    const script = new Script(choices, sizes);
    const recorder = new Recorder();
    const result = await this.run(script, recorder);
    this.count(result);
    if (result.failure !== undefined)
      throw this.failed(result, recorder, { strategy: "replay", steps: result.steps, tried: 0 });
    return this.summary();
  }

  async one(choices: readonly number[]): Promise<Exploration> {
    const result = await this.run(new Script(choices));
    this.count(result);
    if (result.failure !== undefined) throw await this.report(result);
    return this.summary();
  }

  private run(chooser: Chooser, recorder?: Recorder): Promise<ScheduleResult> {
    const observe = this.strategy.observes === true && chooser.ran !== undefined;
    return runSchedule(this.scenario, this.settings, chooser, observe, recorder);
  }

  private count(result: ScheduleResult): void {
    this.schedules++;
    this.steps += result.steps;
    this.recent[this.schedules % RECENT] = result.steps;
    this.actors = Math.max(this.actors, result.actors);
    this.virtualMs += result.elapsedMs;
    if (result.bounded) this.bounded++;
    if (result.redundant) this.redundant++;
    this.digests.add(result.digest);
    if (!result.redundant) this.states.add(result.state);
    for (const [label, holds] of result.reached)
      this.reached.set(label, (this.reached.get(label) ?? 0) + (holds ? 1 : 0));
  }

  /** Runs a schedule again: the result must be the same. */
  private async again(result: ScheduleResult): Promise<void> {
    const second = await this.run(new Script(result.choices));
    if (!alike(result, second)) throw await this.divergence(result, second);
  }

  private async divergence(result: ScheduleResult, second: ScheduleResult): Promise<NondeterminismError> {
    const [one, other] = [new Recorder(), new Recorder()];
    await this.run(new Script(result.choices), one);
    await this.run(new Script(result.choices), other);
    const apart = (a: readonly number[], b: readonly number[]): number => {
      const step = a.findIndex((digest, index) => digest !== b[index]);
      return step >= 0 ? step : Math.max(0, Math.min(a.length, b.length) - 1);
    };
    const step = apart(result.digests, second.digests);
    const [first, then] = [one.line(step), other.line(step)];
    const { error } = result.failure ?? { error: undefined };
    return new NondeterminismError(step + 1, first, then, this.token(result), error);
  }

  /** The error for a failing schedule: the simplest schedule that fails in the same way. */
  private async report(result: ScheduleResult): Promise<Error> {
    const again = await this.run(new Script(result.choices));
    if (!alike(result, again)) return this.divergence(result, again);
    const what = kindOf(result);
    const most = this.mostShrinks;
    let tried = 0;
    const choices =
      most === 0
        ? result.choices
        : await shrinkChoices(
            result.choices,
            async (candidate) => {
              tried++;
              return kindOf(await this.run(new Script(candidate))) === what;
            },
            most,
          );
    const recorder = new Recorder();
    const simplest = await this.run(new Script(choices), recorder);
    if (simplest.failure === undefined) return this.divergence(result, simplest);
    return this.failed(simplest, recorder, { strategy: this.strategy.name, steps: result.steps, tried });
  }

  private failed(
    result: ScheduleResult,
    recorder: Recorder,
    how: Pick<FoundSchedule, "strategy" | "steps" | "tried">,
  ): Error {
    const error = result.failure?.error;
    const failure = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    const found: FoundSchedule = { schedule: this.schedules, seed: this.seed, ...how };
    const trace = { steps: recorder.steps, failure };
    return new ScheduleFailedError(error, this.token(result), trace, trimmed(result.choices), found);
  }

  private token(result: ScheduleResult): string {
    const { choices, sizes, digest } = result;
    return encodeToken({ scenario: this.title, choices, sizes, digest: digest >>> 0, settings: 0 });
  }

  private summary(): Exploration {
    return {
      strategy: this.strategy.name,
      schedules: this.schedules,
      steps: this.steps,
      distinctSchedules: this.digests.size,
      distinctStates: this.states.size,
      bounded: this.bounded,
      redundant: this.redundant,
      complete: this.complete,
      reached: this.reached,
      virtualMs: this.virtualMs,
    };
  }
}

/** Identifies a failure by its check or error class. Texts do not count, since they may contain other numbers. */
function kindOf({ failure }: ScheduleResult): string | undefined {
  if (failure === undefined) return undefined;
  const { error } = failure;
  if (!(error instanceof Error)) return typeof error;
  const { code, invariant } = error as { code?: unknown; invariant?: unknown };
  return [error.name, code, invariant].join(" ");
}

function alike(a: ScheduleResult, b: ScheduleResult): boolean {
  // Real work of the host ends at any time, so the code may or may not have gone on.
  if (a.failure?.error instanceof UncontrolledAwaitError) return kindOf(a) === kindOf(b);
  if (a.digest !== b.digest || a.steps !== b.steps || kindOf(a) !== kindOf(b)) return false;
  // A failing schedule may have been cut off in the middle of an action.
  return a.failure !== undefined || a.state === b.state;
}
