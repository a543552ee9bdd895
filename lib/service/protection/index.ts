export {
  type BreakerDefinition,
  type CircuitBreaker,
  circuitBreaker,
} from "./breaker.js";
export type { BreakerStatus } from "./breaker-core.js";
export type { BreakerState, Verdict } from "./breaker-machine.js";
export type { BreakerOptions, CallOutcome } from "./breaker-options.js";
export {
  type Bulkhead,
  type BulkheadDefinition,
  type BulkheadOptions,
  type BulkheadStatus,
  bulkhead,
  type CompartmentOptions,
} from "./bulkhead.js";
export { PROTECTION_DEFAULTS } from "./defaults.js";
export {
  AttemptTimeoutError,
  BulkheadFullError,
  type BulkheadRefusal,
  CircuitOpenError,
  RateLimitError,
  type RateLimitReason,
  RetryDeadlineError,
} from "./errors.js";
export type { BreakerChange } from "./events.js";
export {
  type FailedCall,
  type Fallback,
  type FallbackDefinition,
  type FallbackOptions,
  fallback,
} from "./fallback.js";
export type { Guarded, Policy, Work } from "./guard.js";
export {
  type AcquireOptions,
  type LimiterDefinition,
  type LimitOptions,
  type RateLimiter,
  rateLimiter,
} from "./limiter.js";
export type { LimiterStatus } from "./limiter-core.js";
export type { LimiterOptions } from "./limiter-options.js";
export { type RetryBudget, type RetryDefinition, type RetryOptions, retryPolicy } from "./retry.js";
export type { Attempt, GuardOptions } from "./scope.js";
