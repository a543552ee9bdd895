/**
 * signalbox/testing: every interleaving, every fault, replayed from a token. Needs fast-check beside it.
 *
 *     explore.ts    runs a scenario under many schedules; simulation.ts is what the scenario is given
 *     world.ts      the systems of one schedule: what can happen next, and one step of it; oracle.ts decides
 *     strategies/   how schedules are searched: at random, by priorities, by delays, exhaustively
 *     faults.ts     what may go wrong; disk.ts and network.ts for what is outside of processes
 *     watch.ts      what no schedule may end in; linearizable.ts judges histories
 *     failure.ts    what a failing schedule tells; render.ts, mermaid.ts and token.ts its forms
 *     clock.ts      a clock for plain tests, and probe.ts a process that expects
 *
 * @example
 * await explore(async (sim) => {
 *   const system = sim.system({ name: "shop" });
 *   const stock = await system.start(Stock, 100);
 *   await Promise.all([stock.call.take(60), stock.call.take(60)]);
 * });
 */

export {
  type AlarmLimit,
  CLOCK_DEFAULTS,
  ClockLimitError,
  ClockStuckError,
  TestClock,
  type TestClockOptions,
  testClock,
} from "./clock.js";
export {
  DiskFault,
  type DiskFaultCode,
  type DiskOptions,
  type DiskPort,
  PowerLossError,
  SimulatedDisk,
} from "./disk.js";
export * from "./errors.js";
export {
  EXPLORE_DEFAULTS,
  type Exploration,
  type ExploreOptions,
  explore,
  type SimulateOptions,
  simulate,
} from "./explore.js";
export { type Found, ScheduleFailedError } from "./failure.js";
export type { CrashRule, FaultOptions, FaultRule, PauseRule } from "./faults.js";
export {
  type Answered,
  History,
  type HistoryOptions,
  type OpenOperation,
  type Operation,
  OperationEndedError,
  type Unanswered,
} from "./history.js";
export {
  assertLinearizable,
  checkLinearizable,
  type Linearizable,
  type LinearizableOptions,
  type NotLinearizable,
  NotLinearizableError,
  type Verdict,
} from "./linearizable.js";
export { type SequentialModel, SequentialModelError } from "./linearizable-model.js";
export { LinearizabilityLimitError } from "./linearizable-search.js";
export type { Match } from "./match.js";
export { mermaid } from "./mermaid.js";
export { type NetworkOptions, SimulatedNetwork } from "./network.js";
export {
  ExpectationError,
  type ExpectedEnd,
  PROBE_DEFAULTS,
  Probe,
  type ProbeOptions,
  probe,
  type WaitOptions,
} from "./probe.js";
export { render } from "./render.js";
export type { Scenario } from "./run.js";
export { schedules } from "./shrink.js";
export type { Check, SimulatedDiskOptions, Simulation, WithinOptions } from "./simulation.js";
export { type DelayBoundedOptions, delayBounded } from "./strategies/delay-bounded.js";
export { type ExhaustiveOptions, exhaustive } from "./strategies/exhaustive.js";
export { type PctOptions, pct } from "./strategies/pct.js";
export { portfolio, usualStrategies } from "./strategies/portfolio.js";
export { pos } from "./strategies/pos.js";
export { randomWalk } from "./strategies/random-walk.js";
export type { FaultKind, RateOptions, Rates } from "./strategies/swarm.js";
export { ExplorationDivergedError } from "./strategies/tree.js";
export type { Chooser, Footprint, SearchHistory, Strategy, Task } from "./strategy.js";
export { InvalidTokenError, type TokenProblem } from "./token.js";
export type { Effect, Trace, TraceStep } from "./trace.js";
export type { WatchOptions } from "./watch.js";
