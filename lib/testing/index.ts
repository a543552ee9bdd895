/**
 * signalbox/testing: runs your code in many orders of events, with faults, and replays each from a token. Needs fast-check.
 *
 * A room imports only from rooms below it:
 *
 *     exploration/      explorer.ts runs a scenario under many schedules, schedule.ts runs one; simulation.ts is the `sim` of a
 *                       scenario; findings.ts counts what is new; minimize.ts and shrink.ts simplify a failing schedule
 *     devices/          disk.ts and network.ts, which fail like real ones; node.ts, a machine that loses power; io.ts, for fakes
 *                       of everything else
 *     simulator/        world.ts holds the systems of one schedule, and executes one step of what agenda.ts says is
 *                       possible; oracle.ts decides and writes down; faults.ts strikes; built-in-checks.ts finds leaks
 *     strategies/       how schedules are searched, one file for each: at random, by priorities, by delays, exhaustively
 *     linearizability/  history.ts records operations, check.ts judges them
 *     viewer/           page.ts writes a trace as an HTML page: picture.ts says what it shows, client/ is the page's own code
 *     report/           errors.ts and failure.ts explain a failing schedule; token.ts replays it; render.ts and mermaid.ts
 *                       draw it
 *     flows/            flow-kit.ts: durable flows in virtual time, with mocked steps and crashes
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
export type { SimulatedDiskOptions } from "./devices/disk-port.js";
export type { IoFailure, IoOptions } from "./devices/io.js";
export { SimulatedNetwork } from "./devices/network.js";
export type {
  CutOptions,
  NetworkFaultRule,
  NetworkLinkOptions,
  NetworkOptions,
} from "./devices/network-options.js";
export {
  type NodeBoot,
  type NodePauseOptions,
  SimulatedNode,
  type SimulatedNodeOptions,
} from "./devices/node.js";
export type { SimulatedStoreOptions } from "./devices/store-port.js";
export { explore, simulate } from "./exploration/explore.js";
export type { Exploration, ExplorationEnd } from "./exploration/findings.js";
export type { SimulationCheck } from "./exploration/judging.js";
export type { OutdatedSchedule } from "./exploration/kept-schedules.js";
export type { MonitorCondition, MonitorOptions, Monitors } from "./exploration/monitors.js";
export { EXPLORE_DEFAULTS, type ExploreOptions, type SimulateOptions } from "./exploration/options.js";
export type { Scenario } from "./exploration/schedule.js";
export { arbitrarySchedules } from "./exploration/shrink.js";
export type { SimulatedSystemOptions, Simulation, WithinOptions } from "./exploration/simulation.js";
export { FlowKit, type FlowKitOptions, flowKit, type KitRun } from "./flows/flow-kit.js";
export type { FlowHistory, FlowHistoryEntry } from "./flows/history.js";
export { type MockedCall, MockedStep, type StepMock } from "./flows/mocks.js";
export {
  CLOCK_DEFAULTS,
  ClockLimitError,
  type ClockRunOptions,
  ClockStuckError,
  TestClock,
  type TestClockOptions,
  testClock,
} from "./kit/clock.js";
export {
  ExpectationError,
  type ExpectationOptions,
  type ExpectedEnd,
  PROBE_DEFAULTS,
  Probe,
  type ProbeOptions,
  probe,
} from "./kit/probe.js";
export {
  assertLinearizable,
  checkLinearizable,
  type LinearizabilityResult,
  type Linearizable,
  type LinearizableOptions,
  type NotLinearizable,
  NotLinearizableError,
} from "./linearizability/check.js";
export {
  type AnsweredOperation,
  type OpenOperation,
  type Operation,
  OperationEndedError,
  OperationHistory,
  type OperationHistoryOptions,
  type UnansweredOperation,
} from "./linearizability/history.js";
export { type SequentialModel, SequentialModelError } from "./linearizability/model.js";
export { LinearizabilityLimitError } from "./linearizability/search.js";
export * from "./report/errors.js";
export { type FoundSchedule, type OtherFailure, ScheduleFailedError } from "./report/failure.js";
export type { ScenarioSource } from "./report/failure-file.js";
export { traceToMermaid } from "./report/mermaid.js";
export { renderTrace } from "./report/render.js";
export { InvalidTokenError, type TokenProblem } from "./report/token.js";
export type { ProcessChange, RequestOutcome, Trace, TraceEffect, TraceStep } from "./report/trace.js";
export type { BuiltInChecks } from "./simulator/built-in-checks.js";
export type { ClockOptions } from "./simulator/clock.js";
export type { CrashRule, FaultOptions, FaultRule, PauseRule } from "./simulator/faults.js";
export type { SharedMemory } from "./simulator/memory.js";
export type { NodeCrashRule, NodePauseRule, PausedClock } from "./simulator/node-faults.js";
export type { ProcessPattern } from "./simulator/process-pattern.js";
export { type DelayBoundedOptions, delayBounded } from "./strategies/delay-bounded.js";
export { type ExhaustiveOptions, exhaustive } from "./strategies/exhaustive.js";
export { type PctOptions, pct } from "./strategies/pct.js";
export { portfolio, usualStrategies } from "./strategies/portfolio.js";
export { pos } from "./strategies/pos.js";
export { randomWalk } from "./strategies/random-walk.js";
export type {
  Chooser,
  Footprint,
  PossibleStep,
  SearchHistory,
  SearchStrategy,
  StrategyYield,
} from "./strategies/strategy.js";
export type { FaultKind, FaultRateOptions, FaultRates } from "./strategies/swarm.js";
export { ExplorationDivergedError } from "./strategies/tree.js";
export { renderViewer } from "./viewer/page.js";
