// The options of an exploration: their defaults, and their checks.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { among, asGiven, checked, maybe, ms, whole } from "../../process/option-schema.js";
import { count, flag, text } from "../../process/options.js";
import type { ScenarioSource } from "../report/failure-file.js";
import type { BuiltInChecks } from "../simulator/built-in-checks.js";
import { type FaultOptions, planFaults } from "../simulator/faults.js";
import { host } from "../simulator/host.js";
import { words } from "../simulator/options.js";
import { type ProcessPattern, patternMatcher } from "../simulator/process-pattern.js";
import { portfolio } from "../strategies/portfolio.js";
import type { SearchStrategy } from "../strategies/strategy.js";
import type { CrewPlan } from "./crew-plan.js";
import { type KeepPlan, plain, planKeeping, sourceOf } from "./keeping.js";
import { KeptSchedules } from "./kept-schedules.js";
import type { ScheduleSettings } from "./schedule.js";

/** Defaults of {@link explore} and {@link simulate}. */
export const EXPLORE_DEFAULTS: {
  /** Number of schedules to run, unless there is a `budgetMs`. */
  readonly schedules: number;
  /** Seed of all randomness: a whole number, 0 or more. */
  readonly seed: number;
  /** Steps after which a schedule is cut off. */
  readonly maxSteps: number;
  /** The verdict on a schedule that has not ended by then. */
  readonly endless: "fail" | "pass";
  /** One in this many passing schedules runs twice. */
  readonly recheck: number;
  /** Most schedules to run to simplify a failing one. */
  readonly shrink: number;
  /** Real milliseconds after which a failing schedule is not simplified any further. */
  readonly shrinkMs: number;
  /** Real milliseconds to wait for a process that may use the host's timers and I/O. */
  readonly patienceMs: number;
} = {
  schedules: 1_000,
  seed: 1,
  maxSteps: 10_000,
  endless: "fail",
  recheck: 100,
  shrink: 2_000,
  shrinkMs: 30_000,
  patienceMs: 5_000,
};

/** Options of every run of a scenario. */
export interface SimulateOptions {
  /** Faults that may strike. None by default. */
  readonly faults?: FaultOptions;
  /** Steps after which a schedule is cut off. The second half of so many steps is first come, first served. */
  readonly maxSteps?: number;
  /**
   * Whether a schedule that was cut off fails with a {@link LivelockError}, which shows the steps that repeat, or passes and is
   * counted as `bounded`. A schedule in which a process was kept from running passes in any case. Default `fail`.
   */
  readonly endless?: "fail" | "pass";
  /** Whether sent messages are frozen deeply, so that a process that writes to a shared message throws. Default false. */
  readonly freeze?: boolean;
  /** Checks of every schedule, in any scenario. All are on by default; `false` turns all off. */
  readonly checks?: BuiltInChecks | false;
  /** Processes, by path, that may use the host's timers and I/O. The simulator waits for them in real time. */
  readonly allow?: ProcessPattern | readonly ProcessPattern[];
  /** Real milliseconds to wait for such a process. */
  readonly patienceMs?: number;
  /**
   * Whether code goes on in a step of its own after an `await` of a promise that the simulator does not settle, such as that of a
   * plain asynchronous fake. Then other steps may come first, as they may in production. Default true.
   */
  readonly plainAwaits?: boolean;
}

/** Options of {@link explore}. */
export interface ExploreOptions extends SimulateOptions {
  /** Name of the exploration. A token is valid only for an exploration of the same name. */
  readonly name?: string;
  /** Number of schedules to run. Default 1,000, or Infinity with a `budgetMs`. */
  readonly schedules?: number;
  /**
   * Real milliseconds after which no further schedule begins, apart from the first, and the one that runs is given up. The
   * exploration ends with what it has explored by then, so the number of schedules depends on the machine. Default: no limit.
   */
  readonly budgetMs?: number;
  /**
   * Ends the exploration after this many schedules in a row that showed nothing new: no new state, on the way or at the end, and
   * no new label of `sim.sometimes`. Default Infinity.
   */
  readonly plateau?: number;
  /** Seed of all randomness: the same seed explores the same schedules. */
  readonly seed?: number;
  /** The search strategy. Default {@link portfolio}. */
  readonly strategy?: SearchStrategy;
  /** One in this many passing schedules runs twice, to detect code outside of the simulator's control; 0 for none. */
  readonly recheck?: number;
  /** Most schedules to run to simplify a failing one; 0 for none. */
  readonly shrink?: number;
  /**
   * Real milliseconds after which a failing schedule is not simplified any further. Where this limit comes before `shrink`, the
   * reported schedule depends on the machine; Infinity for no such limit.
   */
  readonly shrinkMs?: number;
  /** Labels of `sim.sometimes` that at least one schedule must reach, besides those that schedules mention. */
  readonly sometimes?: readonly string[];
  /**
   * Path of a folder for failing schedules. Each exploration has a file of tokens there. They run first, before the search: one that
   * passes by now counts in `regressions`, one that no longer fits is listed in `outdated` and in a warning of the process.
   */
  readonly corpus?: string;
  /** Runs exactly the schedule of this token. */
  readonly replay?: string;
  /**
   * Where a failing schedule leaves a page that shows it step by step: a folder, or a file that ends in `.html`. Beside the page
   * stands a `.json` file of the same name, which `npx signalbox replay` shows and runs again.
   */
  readonly viewer?: string;
  /**
   * Number of cores that run schedules, or `all`. Default 1. With more than one, the exploration needs the `source` of the
   * scenario, and its strategy is one of signalbox that does not enumerate. The result is the same as on one core.
   */
  readonly cores?: number | "all";
  /**
   * Where the scenario is, so that `npx signalbox replay` and other `cores` can run it. The other options must be plain data then.
   */
  readonly source?: ScenarioSource;
  /** Ends the exploration early: it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

const FOREVER = Number.POSITIVE_INFINITY;
const SIMULATE_CHECKS = {
  faults: (_path: string, given: unknown) => planFaults(given as FaultOptions | undefined),
  maxSteps: whole(1),
  endless: among("fail", "pass"),
  freeze: flag,
  checks: asGiven<BuiltInChecks>(),
  allow: maybe((path, given) => patternMatcher(path, given as readonly ProcessPattern[])),
  patienceMs: whole(1),
  plainAwaits: flag,
};
const SIMULATE_OPTIONS = Object.keys(SIMULATE_CHECKS) as (keyof typeof SIMULATE_CHECKS)[];
const SIMULATE_USUAL = { freeze: false, checks: {}, plainAwaits: true, ...EXPLORE_DEFAULTS };
const EXPLORE_CHECKS = {
  ...SIMULATE_CHECKS,
  name: text,
  schedules: maybe(whole(1, FOREVER)),
  budgetMs: maybe(ms(0)),
  plateau: whole(1, FOREVER),
  seed: whole(0),
  strategy: (path: string, given: unknown): SearchStrategy => {
    const strategy = given as SearchStrategy | undefined;
    if (typeof strategy?.begin === "function" && typeof strategy.name === "string") return strategy;
    throw new OptionError(path, given, "a strategy, such as randomWalk() or exhaustive()");
  },
  recheck: whole(0),
  shrink: whole(0),
  shrinkMs: ms(0, FOREVER),
  sometimes: (path: string, given: unknown) =>
    words(path, given as readonly string[]).map((label) => text(path, label)),
  corpus: asGiven<string | undefined>(),
  replay: asGiven<string | undefined>(),
  viewer: asGiven(),
  cores: asGiven(),
  source: asGiven(),
  signal: asGiven<AbortSignal | undefined>(),
};

/** The checked options of an exploration. */
export interface ExplorePlan {
  readonly settings: ScheduleSettings;
  readonly strategy: SearchStrategy;
  readonly schedules: number;
  readonly budgetMs: number;
  readonly plateau: number;
  readonly seed: number;
  readonly recheck: number;
  readonly shrink: number;
  readonly shrinkMs: number;
  readonly sometimes: readonly string[];
  readonly kept: KeptSchedules | undefined;
  readonly replay: string | undefined;
  readonly keep: KeepPlan | undefined;
  /** Undefined for an exploration on one core. */
  readonly crew: CrewPlan | undefined;
  readonly signal: AbortSignal | undefined;
  /** The name of the exploration, with the options that change what a choice means. */
  readonly title: string;
}

/** @throws OptionError */
export function planExploration(options: ExploreOptions): ExplorePlan {
  const usual = { name: "exploration", strategy: portfolio(), plateau: FOREVER };
  const given = checked("", options, EXPLORE_CHECKS, { ...SIMULATE_USUAL, schedules: undefined, ...usual });
  const { name, strategy, freeze, plainAwaits, allow, faults, maxSteps, checks, patienceMs } = given;
  const {
    budgetMs = FOREVER,
    plateau,
    seed,
    recheck,
    shrink,
    shrinkMs,
    sometimes,
    corpus,
    replay,
    signal,
  } = given;
  const kinds = Object.keys(options.faults ?? {}).sort();
  const title = name + JSON.stringify([kinds, freeze, ...(plainAwaits ? [] : ["no plain awaits"])]);
  return {
    settings: {
      faults,
      maxSteps,
      freeze,
      checks,
      patienceMs,
      plainAwaits,
      endless: given.endless === "pass",
      allowed: allow ?? (() => false),
    },
    strategy,
    schedules: given.schedules ?? (given.budgetMs === undefined ? EXPLORE_DEFAULTS.schedules : FOREVER),
    budgetMs,
    plateau,
    seed,
    recheck,
    shrink,
    shrinkMs,
    sometimes,
    replay,
    signal,
    title,
    kept: corpus === undefined ? undefined : new KeptSchedules(corpus, name, title),
    keep: planKeeping(options, name, SIMULATE_OPTIONS),
    crew: planCrew(options, strategy),
  };
}

/** @throws OptionError */
function planCrew(options: ExploreOptions, strategy: SearchStrategy): CrewPlan | undefined {
  const { cores = 1, source } = options;
  const threads = cores === "all" ? host.cores() : count("cores", cores, 1);
  if (threads === 1) return undefined;
  if (source === undefined)
    throw new OptionError("source", source, "the module and the export of the scenario, for other cores");
  if (strategy.recipe === undefined)
    throw new OptionError("strategy", strategy.name, "a random strategy of signalbox, on several cores");
  return {
    threads,
    source: sourceOf(source),
    options: plain(options, [...SIMULATE_OPTIONS, "seed", "recheck"]),
    strategy: strategy.recipe,
  };
}

/** The plan of a single schedule. @throws OptionError */
export function planSimulation(
  options: SimulateOptions & { readonly choices?: readonly number[] },
): ExplorePlan {
  only("", options, [...SIMULATE_OPTIONS, "choices"]);
  const { choices: _, ...rest } = options;
  return planExploration({ ...rest, shrink: 0 });
}
