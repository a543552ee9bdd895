export type {
  ArgsOf,
  AutoShutdown,
  ChildHandle,
  ChildOptions,
  ChildSpec,
  ChildStart,
  ChildType,
  Restart,
  Shutdown,
} from "./child.js";
export { CHILD_DEFAULTS } from "./child.js";
export { type DynamicSupervisorOptions, dynamicSupervisor } from "./dynamic.js";
export { ChildError } from "./errors.js";
export { SUPERVISION_DEFAULTS, type SupervisionOptions } from "./options.js";
export {
  PARTITION_DEFAULTS,
  type PartitionHandle,
  type PartitionSupervisorOptions,
  PartitionSupervisorRef,
  partitionSupervisor,
} from "./partition.js";
export type { PartitionKey } from "./partition-table.js";
export type { RestartStrategy } from "./protocol.js";
export { type ChildProblem, type ChildStatus, FailedChild } from "./protocol.js";
export {
  AnySupervisorRef,
  type ChildInfo,
  DynamicSupervisorRef,
  SupervisorRef,
  type SupervisorState,
  supervisorRef,
} from "./ref.js";
export type { RestartReport } from "./report.js";
export type { ChildCounts, ChildHealth, ChildPhase, SupervisorStatus } from "./status.js";
export { type SupervisorDefinition, type SupervisorOptions, supervisor } from "./supervisor.js";
