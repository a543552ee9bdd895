// The counts and times of breakers, limiters, bulkheads and retry policies for the metrics of their system.

import type { Instrument, Instruments } from "../telemetry/instruments.js";

function counter(name: string, unit: string, help: string, ...labels: readonly string[]): Instrument {
  return { name: `signalbox.${name}`, kind: "counter", unit, help, labels };
}

function gauge(name: string, unit: string, help: string, ...labels: readonly string[]): Instrument {
  return { name: `signalbox.${name}`, kind: "gauge", unit, help, labels };
}

function seconds(name: string, help: string, ...labels: readonly string[]): Instrument {
  return { name: `signalbox.${name}`, kind: "histogram", unit: "s", help, labels };
}

/** In the order of the page. */
export const PROTECTION_METRICS: Instruments<
  | "breakers"
  | "breakerCalls"
  | "breakerSeconds"
  | "breakerChanges"
  | "limiterWaiting"
  | "limiterKeys"
  | "limiterRequests"
  | "limiterWait"
  | "bulkheadRunning"
  | "bulkheadWaiting"
  | "bulkheadRequests"
  | "bulkheadWait"
  | "retryCalls"
  | "retryAttempts"
> = {
  breakers: gauge(
    "breaker.state",
    "{breaker}",
    "How many breakers are in a state: closed, open or half-open.",
    "breaker",
    "state",
  ),
  breakerCalls: counter(
    "breaker.calls",
    "{call}",
    "Calls through a breaker: success, failure, ignore, or rejected because it was open.",
    "breaker",
    "outcome",
  ),
  breakerSeconds: seconds(
    "breaker.call.duration",
    "How long the calls took that a breaker let pass.",
    "breaker",
  ),
  breakerChanges: counter(
    "breaker.transitions",
    "{transition}",
    "Changes of the state of a breaker.",
    "breaker",
    "state",
  ),
  limiterWaiting: gauge("limiter.waiting", "{request}", "Callers that wait for permits.", "limiter"),
  limiterKeys: gauge("limiter.keys", "{key}", "Keys that a limiter remembers.", "limiter"),
  limiterRequests: counter(
    "limiter.requests",
    "{request}",
    "Requests for permits: granted, refused, timeout, or left because the caller gave up.",
    "limiter",
    "outcome",
  ),
  limiterWait: seconds("limiter.wait", "How long callers waited for permits that they got.", "limiter"),
  bulkheadRunning: gauge("bulkhead.running", "{call}", "Calls that have a place.", "bulkhead"),
  bulkheadWaiting: gauge("bulkhead.waiting", "{call}", "Calls that wait for a place.", "bulkhead"),
  bulkheadRequests: counter(
    "bulkhead.requests",
    "{request}",
    "Requests for a place: granted, refused, timeout, or left because the caller gave up.",
    "bulkhead",
    "outcome",
  ),
  bulkheadWait: seconds("bulkhead.wait", "How long calls waited for a place that they got.", "bulkhead"),
  retryCalls: counter(
    "retry.calls",
    "{call}",
    "Calls through a retry policy: success, failure, deadline, or left because the caller gave up.",
    "retry",
    "outcome",
  ),
  retryAttempts: counter(
    "retry.attempts",
    "{attempt}",
    "Attempts of these calls that ended with success or failure.",
    "retry",
    "outcome",
  ),
};
