export type { EndedAttempt, RerouteTiming } from "./attempts.js";
export { type ConsumerOptions, consumer, Rejection, reject, type Work } from "./consumer.js";
export type { CrashPolicy, NoConsumerReason } from "./conversation-machine.js";
export { Delivery } from "./delivery.js";
export { dispatch } from "./dispatch.js";
export type { CausalContext, Envelope, EnvelopeOptions } from "./envelope.js";
export * from "./errors.js";
export type { Reroute, Undeliverable } from "./events.js";
export { ConsumerGroup, type GroupOptions } from "./group.js";
export {
  type IsolatedOptions,
  IsolatedRoute,
  IsolatedRouteError,
  isolated,
  RouteTimeoutError,
} from "./isolated.js";
export type { ConsumerView, JoinOptions, Pressure, Tags } from "./member.js";
export type { Outcome } from "./outcome.js";
export type { Comparison, Operand, Predicate } from "./predicate.js";
/** The functions that make predicates, for the routing function {@link where}. */
export * as match from "./predicate.js";
export {
  available,
  leastLoaded,
  type RouteContext,
  type RoutingFunction,
  rendezvous,
  roundRobin,
  sticky,
  weighted,
  where,
} from "./route.js";
export type { GroupScope } from "./scope.js";
export {
  type Compensation,
  type DispatchOptions,
  type DispatchSettings,
  GROUP_DEFAULTS,
} from "./settings.js";
