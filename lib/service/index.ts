/**
 * signalbox/service: what a whole service needs around its supervision tree.
 *
 *     application/  run: start, signals, drain, exit codes, configuration
 *     health/       liveness and readiness: from supervisors, checks, mailboxes and the event loop; an endpoint
 *     http/         httpServer: an HTTP server as a supervised process, each request a process
 *     protection/   circuitBreaker, rateLimiter, bulkhead, retryPolicy, fallback: guards around functions
 *     pool/         pool: worker threads for jobs that keep a processor busy
 *     telemetry/    telemetry: events, metrics and their text for Prometheus
 *
 * A floor imports only from floors below it. The guarantees are numbered in docs/semantics.md.
 */

export { WorkerExitedError, WorkerFileError } from "../process/thread-errors.js";
export type { Phase } from "./application/application-machine.js";
export type {
  ConfigOf,
  ConfigurationOptions,
  SchemaIssue,
  SchemaPathSegment,
  SchemaResult,
  SchemaTypes,
  StandardSchema,
} from "./application/configuration.js";
export { type Cause, type Ending, EXIT_CODES, type Outcome } from "./application/ending.js";
export {
  ConfigurationError,
  type ConfigurationProblem,
  ServiceStartError,
} from "./application/errors.js";
export type { Host } from "./application/host.js";
export type { ServiceCluster } from "./application/membership.js";
export {
  APPLICATION_DEFAULTS,
  type ApplicationLimits,
  type RunOptions,
  type SignalAction,
  type SignalActions,
} from "./application/options.js";
export { type RunArguments, run, type TreeArguments } from "./application/run.js";
export { Service } from "./application/service.js";
export {
  Health,
  type HealthReadOptions,
  type RequestLine,
  type ResponseWriter,
  type WholeReadOptions,
} from "./health/health.js";
export {
  type CheckFunction,
  HEALTH_DEFAULTS,
  type HealthCheck,
  type HealthLimits,
  type HealthOptions,
} from "./health/options.js";
export type { CheckHealth, ClusterHealth, HealthReport, PartHealth } from "./health/report.js";
export {
  type FetchHandler,
  HTTP_DEFAULTS,
  type HttpServerDefinition,
  type HttpServerOptions,
  HttpServerRef,
  httpServer,
  type NodeListener,
} from "./http/http-server.js";
export type { CreateServer, HttpAddress } from "./http/node-http.js";
export type { RequestContext } from "./http/request-process.js";
export { type ErrorStatus, httpStatus } from "./http/status.js";
export {
  JobDeadlineError,
  JobLostError,
  NotCloneableError,
  PoolFullError,
  PoolStoppingError,
  UnknownJobError,
} from "./pool/errors.js";
export type { AnyFunctions, JobFunction, PoolJob, Remote, Run } from "./pool/job.js";
export type { PoolStats } from "./pool/messages.js";
export { type JobDefaults, POOL_DEFAULTS, type PoolOptions } from "./pool/options.js";
export { type PoolDefinition, pool } from "./pool/pool.js";
export type { JobOptions, PoolRef } from "./pool/pool-ref.js";
export * from "./protection/index.js";
export * from "./telemetry/index.js";
