export type { Backoff } from "./backoff.js";
export * from "./behaviour.js";
export type { CallOptions, Reply, ReplyTo } from "./call.js";
export type { ContextRunner } from "./carrying.js";
export type { Address, BodyContext, Context } from "./context.js";
export type { DownSignal, ExitSignal, GroupSignal, Signal } from "./entries.js";
export type {
  AsyncContext,
  Environment,
  RejectionListener,
  Resumption,
  Runnable,
  Scheduler,
  SchedulerHost,
  TurnLimits,
} from "./environment.js";
export * from "./errors.js";
export type { DeadLetterReason, SystemEventMap, SystemEvents } from "./events.js";
export { type ExitSource, type ExitVerdict, exitVerdict } from "./exit-signal.js";
export type { ProcessInfo, ProcessStatus } from "./info.js";
export { DEFAULTS, type Limits } from "./limits.js";
export type { Monitor } from "./monitor.js";
export { outside, ownerOf } from "./origin.js";
export { type Node, Pid } from "./pid.js";
export { production } from "./production.js";
export * from "./reason.js";
export type { ReceiveOptions } from "./receive.js";
export type { PidAddress, Transport, WireSignal } from "./remote.js";
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
export type { Startable, StartOptions } from "./start.js";
export { ProcessSystem, type StopOptions, type SystemLimits, type SystemOptions } from "./system.js";
export type { TimerRef } from "./timer.js";
