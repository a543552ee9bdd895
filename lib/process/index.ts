export type { Backoff } from "./backoff.js";
export {
  type Behaviour,
  type Body,
  type Callbacks,
  deferStart,
  ignore,
  SetAside,
  SPAWN_OPTIONS,
  type SpawnOptions,
  type StartOutcome,
  Stop,
  stop,
} from "./behaviour.js";
export type { BodyContext } from "./body-context.js";
export { type MailboxLimits, queueing } from "./bound.js";
export type { Address, Context } from "./context.js";
export type { DownSignal, ExitSignal, GroupSignal, Signal } from "./entries.js";
export type { AsyncContext, Environment } from "./environment.js";
export * from "./errors.js";
export type { DiscardedReply, SystemEventMap, SystemEvents } from "./events.js";
export type { DeadLetterReason } from "./exit-reason.js";
export { type FairMailboxOptions, fairMailbox } from "./fair-mailbox.js";
export type { ProcessInfo, ProcessStatus } from "./info.js";
export type { StateOfDefinition, Swappable } from "./inspected.js";
export {
  type InspectOptions,
  Inspector,
  inspect,
  type StateOptions,
  type Suspension,
  type SwapOptions,
} from "./inspection.js";
export * from "./inspection-errors.js";
export { TRACE_DEFAULTS, Trace, type TraceListener, type TraceOptions } from "./inspection-stream.js";
export type { TraceEvent } from "./inspection-trace.js";
export { type Limits, SYSTEM_DEFAULTS } from "./limits.js";
export type { MessageStream } from "./message-stream.js";
export type { Monitor } from "./monitor.js";
export { outside, ownerOf } from "./origin.js";
export type { TimerRef } from "./owned-timer.js";
export { Pid, type RemoteNode } from "./pid.js";
export type { Job, JobHost, JobPlace, ProgramHost } from "./program-host.js";
export {
  crash,
  custom,
  type ExitInput,
  type ExitReason,
  formatReason,
  isOrderly,
  KILL,
  KILLED,
  NOCONNECTION,
  NOPROC,
  NORMAL,
  SHUTDOWN,
  shutdown,
} from "./reason.js";
export type { ReceiveOptions } from "./receive.js";
export { RemoteNodes, remoteNodes, type Transport } from "./remote.js";
export {
  type CrashReport,
  consoleReport,
  loggerReport,
  type Report,
  type ReportEvent,
  type ReportLevel,
  type ReportLogger,
  type ReportOptions,
  type ReportSink,
} from "./report.js";
export type { CallOptions, Reply, ReplyTo } from "./request.js";
export type { ContextRunner } from "./sender-context.js";
export type { Startable, StartOptions } from "./start.js";
export { Stash, StashFullError, type StashOptions } from "./stash.js";
export type { StopOptions, SystemLimits, SystemOptions } from "./system.js";
export type { Claim, Via } from "./via.js";
export type { PidAddress, ReplyAddress, ReplyOutcome, WireSignal } from "./wire-signal.js";
export type { WireTrace } from "./wire-trace.js";
