/**
 * signalbox/flow: durable flows. A flow is an ordinary async function that survives the death of its machine.
 *
 *     definition/  defineFlow, what the code of a flow can do, and values checked by schemas
 *     journal/     tables and entries: what is kept of a flow, large values apart
 *     machine/     the pure transition: what is written, in which order, and when the code sees it
 *     hospital/    what becomes of flows that fail
 *     queues/      which of the waiting flows may start
 *     schedules/   flows that start at their time
 *     sessions/    conversations between two flows
 *     operations/  all flows of a store: list, inspect, retry, fork, remove; the admin socket
 *     runtime/     the process of a flow, and the host that holds flows
 */

export {
  AdminProtocolError,
  AdminSocketError,
  AdminTimeoutError,
  RemoteOperationError,
} from "../admin/errors.js";
export type { StoreOutage } from "../host/background/outage.js";
export type { EvidenceView } from "../host/index.js";
export { HostGoneError, type HostSignals } from "../host/index.js";
export * from "../host/payload/index.js";
export type { Duration, DurationParts, DurationUnit } from "../process/duration.js";
export type {
  Child,
  ChildOptions,
  FlowContext,
  FlowDispatchOptions,
  InnerContext,
  PlacedStepOptions,
  Received,
  RetryOptions,
  Saga,
  StepContext,
  StepOptions,
  TimedOptions,
  TransactionOptions,
  WaitOptions,
} from "./definition/context.js";
export {
  type AnyFlow,
  defineFlow,
  type FlowDefinition,
  type FlowOptions,
  type MessageTypes,
} from "./definition/define.js";
export { HOSPITAL_DEFAULTS, type HospitalBackoff, type HospitalLimits } from "./hospital/defaults.js";
export { CrashLoopError, JournalDamagedError } from "./hospital/errors.js";
export type { HospitalReport, UnknownFlows } from "./hospital/events.js";
export type { DischargedBy, PatientFilter } from "./hospital/hospital-machine.js";
export type { HospitalOptions } from "./hospital/options.js";
export type { PatientInfo } from "./hospital/patients.js";
export type { Decided, HospitalRecord, Suspension, Visit } from "./hospital/record.js";
export type { Chart, Diagnosis, StaffMember } from "./hospital/staff.js";
export type { Symptom, SymptomKind } from "./hospital/symptom.js";
export { flowHost } from "./host.js";
export type { FlowAside, FlowDeath, FlowVisit } from "./operations/aside.js";
export { FlowStateError } from "./operations/errors.js";
export { type OpenFlowOperations, openFlowOperations } from "./operations/open-operations.js";
export type {
  FlowCounts,
  FlowDetails,
  FlowFilter,
  FlowForkOptions,
  FlowListOptions,
  FlowMetrics,
  FlowOperations,
  FlowOutcome,
  FlowPage,
  FlowPruneOptions,
  FlowRetryOptions,
  FlowSendOptions,
  FlowStartOptions,
  FlowStatus,
  FlowSummary,
  FlowTimeline,
  FlowTimelineOptions,
  HistoryEvent,
  HistoryOptions,
  PendingAsk,
  QueueCountOptions,
  QueueKeyOptions,
  ResultOptions,
  ScheduleListOptions,
  WaitingMessage,
} from "./operations/operations.js";
export type { TimelineAttempt, TimelineItem } from "./operations/timeline.js";
export type { QueueLimitsInfo } from "./queues/declared.js";
export type { QueueInfo } from "./queues/info.js";
export type { QueueKeyInfo, QueueKeys } from "./queues/key-counts.js";
export type {
  DebounceOptions,
  QueuedStart,
  QueueOptions,
  RateOptions,
  StartTiming,
} from "./queues/options.js";
export * from "./runtime/errors.js";
export type { FlowEvent, FlowEventOptions } from "./runtime/event-page.js";
export {
  FlowHost,
  type FlowHostDefinition,
  type FlowInfo,
  FlowRun,
  type NewFlowStart,
  type StartFlowOptions,
  type StartManyOptions,
} from "./runtime/flow-host.js";
export type { FlowHospital, Patients } from "./runtime/hospital-handle.js";
export type { FlowHostOptions, RetentionOptions } from "./runtime/options.js";
export {
  FLOW_DEFAULTS,
  type FlowLimits,
  type Interceptor,
  type Transition,
  type TransitionOf,
} from "./runtime/port.js";
export type { FlowEndOutcome, FlowStepOutcome } from "./runtime/taps.js";
export type { Time } from "./schedules/calendar.js";
export {
  SCHEDULE_DEFAULTS,
  SCHEDULE_LIMITS,
  type ScheduleDefinition,
  type ScheduleRules,
} from "./schedules/definition.js";
export { ScheduleError, ScheduleNotFoundError } from "./schedules/errors.js";
export type { MissedRule, OverlapRule } from "./schedules/schedule-machine.js";
export {
  type Schedule,
  type ScheduleInfo,
  type ScheduleOptions,
  Schedules,
  schedule,
} from "./schedules/schedules.js";
export {
  SessionEndedError,
  SessionLeftError,
  SessionPeerError,
  SessionRejectedError,
  SessionWaitError,
} from "./sessions/errors.js";
export { SESSION_LIMITS, type Session, type SessionWait } from "./sessions/session.js";
