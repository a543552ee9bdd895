/**
 * signalbox/testing: every interleaving, every fault, replayed from a token. Needs fast-check beside it.
 *
 * A room imports only from rooms below it:
 *
 *     exploration/      explore.ts runs a scenario under many schedules, schedule.ts runs one; simulation.ts is the `sim` of a
 *                       scenario; shrink.ts makes a failing schedule minimal
 *     devices/          disk.ts and network.ts: what is outside of processes, and fails
 *     simulator/        world.ts holds the systems of one schedule, and executes one step of what agenda.ts says is
 *                       possible; oracle.ts decides and writes down; faults.ts strikes; watch.ts looks for leaks
 *     strategies/       how schedules are searched: at random, by priorities, by delays, exhaustively
 *     linearizability/  history.ts records operations, check.ts judges them
 *     report/           errors.ts and failure.ts: what a failing schedule shows; token.ts replays it; render.ts and mermaid.ts
 *                       draw it
 *     kit/              clock.ts: a clock for plain tests; probe.ts: a process that expects
 *
 * @example
 * await explore(async (sim) => {
 *   const system = sim.system({ name: "shop" });
 *   const stock = await system.start(Stock, 100);
 *   await Promise.all([stock.call.take(60), stock.call.take(60)]);
 * });
 */

export {
  DiskFault,
  type DiskFaultCode,
  type DiskOptions,
  type DiskPort,
  PowerLossError,
  SimulatedDisk,
} from "./devices/disk.js";
export { type NetworkOptions, SimulatedNetwork } from "./devices/network.js";
export {
  EXPLORE_DEFAULTS,
  type Exploration,
  type ExploreOptions,
  explore,
  type SimulateOptions,
  simulate,
} from "./exploration/explore.js";
export type { Scenario } from "./exploration/schedule.js";
export { schedules } from "./exploration/shrink.js";
export type { Check, SimulatedDiskOptions, Simulation, WithinOptions } from "./exploration/simulation.js";
export {
  type AlarmLimit,
  CLOCK_DEFAULTS,
  ClockLimitError,
  ClockStuckError,
  TestClock,
  type TestClockOptions,
  testClock,
} from "./kit/clock.js";
export {
  ExpectationError,
  type ExpectedEnd,
  PROBE_DEFAULTS,
  Probe,
  type ProbeOptions,
  probe,
  type WaitOptions,
} from "./kit/probe.js";
export {
  assertLinearizable,
  checkLinearizable,
  type Linearizable,
  type LinearizableOptions,
  type NotLinearizable,
  NotLinearizableError,
  type Verdict,
} from "./linearizability/check.js";
export {
  type Answered,
  History,
  type HistoryOptions,
  type OpenOperation,
  type Operation,
  OperationEndedError,
  type Unanswered,
} from "./linearizability/history.js";
export { type SequentialModel, SequentialModelError } from "./linearizability/model.js";
export { LinearizabilityLimitError } from "./linearizability/search.js";
export * from "./report/errors.js";
export { type Found, ScheduleFailedError } from "./report/failure.js";
export { mermaid } from "./report/mermaid.js";
export { render } from "./report/render.js";
export { InvalidTokenError, type TokenProblem } from "./report/token.js";
export type { Effect, Trace, TraceStep } from "./report/trace.js";
export type { CrashRule, FaultOptions, FaultRule, PauseRule } from "./simulator/faults.js";
export type { Match } from "./simulator/match.js";
export type { WatchOptions } from "./simulator/watch.js";
export { type DelayBoundedOptions, delayBounded } from "./strategies/delay-bounded.js";
export { type ExhaustiveOptions, exhaustive } from "./strategies/exhaustive.js";
export { type PctOptions, pct } from "./strategies/pct.js";
export { portfolio, usualStrategies } from "./strategies/portfolio.js";
export { pos } from "./strategies/pos.js";
export { randomWalk } from "./strategies/random-walk.js";
export type { Chooser, Footprint, SearchHistory, Strategy, Task } from "./strategies/strategy.js";
export type { FaultKind, RateOptions, Rates } from "./strategies/swarm.js";
export { ExplorationDivergedError } from "./strategies/tree.js";
