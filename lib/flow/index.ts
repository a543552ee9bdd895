/**
 * signalbox/flow: durable flows. A flow is an ordinary async function that survives the death of its machine.
 */

export type { Duration, DurationParts, DurationUnit } from "../process/duration.js";
export type { Store, StoreSource } from "../store/index.js";
export { HOSPITAL_DEFAULTS, type HospitalBackoff, type HospitalLimits } from "./hospital/defaults.js";
export type { PatientFilter } from "./hospital/hospital-machine.js";
export type { HospitalOptions } from "./hospital/options.js";
export type { Decided, HospitalRecord, Suspension, Visit } from "./hospital/record.js";
export type { Chart, Diagnosis, StaffMember } from "./hospital/staff.js";
export type { Symptom, SymptomKind } from "./hospital/symptom.js";
export {
  AdminProtocolError,
  AdminSocketError,
  FlowWaitTimeoutError,
  RemoteOperationError,
} from "./operations/errors.js";
export type {
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
  HistoryEvent,
  HistoryOptions,
  PendingAsk,
  ResultOptions,
  WaitingMessage,
} from "./operations/operations.js";
export * from "./payload/index.js";
