export type { AutoShutdown, ChildSpec, ChildStart, ChildType, Restart, Shutdown } from "./child.js";
export { CHILD_DEFAULTS } from "./child.js";
export { type DynamicSupervisorOptions, dynamicSupervisor } from "./dynamic.js";
export { ChildError } from "./errors.js";
export { type ChildProblem, type ChildStatus, FailedChild } from "./machine.js";
export { type ChildCounts, type ChildInfo, SupervisorRef, supervisorRef } from "./ref.js";
export type { RestartReport } from "./report.js";
export type { Strategy } from "./strategies.js";
export { type SupervisorDefinition, type SupervisorOptions, supervisor } from "./supervisor.js";
