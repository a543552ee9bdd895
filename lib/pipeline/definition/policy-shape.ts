// What policies may be: one table for TypeScript, YAML and editors. The defaults are in policy.ts.

import { faultAt, type KeyedFault, type Keys } from "./fault.js";
import type { PipelinePolicy, RoutePolicy } from "./policy.js";
import { type Field, milliseconds, type ObjectShape, SHARE, shapeFaults, whole } from "./shape.js";

const BACKOFF: ObjectShape = {
  type: "object",
  fields: {
    minMs: { shape: milliseconds(1), required: true, description: "The wait before the first retry." },
    maxMs: { shape: milliseconds(1), required: true, description: "The longest wait." },
    factor: {
      shape: { type: "number", whole: false, least: 1 },
      description: "How much longer each wait is than the one before.",
    },
    jitter: { shape: SHARE, description: "The share of a wait by which chance shortens or lengthens it." },
    resetAfterMs: {
      shape: milliseconds(0),
      description: "After this time without a failure the waits begin anew.",
    },
  },
};

const RETRY: ObjectShape = {
  type: "object",
  fields: {
    attempts: { shape: whole(1, "attempts"), description: "How often a message is tried at most." },
    backoff: { shape: BACKOFF, description: "The waits between the attempts." },
  },
};

/** The policies of a route. */
export const ROUTE_POLICY_FIELDS: Readonly<Record<keyof RoutePolicy, Field>> = {
  concurrency: { shape: whole(1, "messages"), description: "Most messages in work at a time." },
  prefetch: { shape: whole(1, "messages"), description: "Most messages that the route keeps in memory." },
  timeoutMs: {
    shape: { ...milliseconds(1), orInfinity: true },
    description: "How long one attempt at a message may take.",
  },
  retry: { shape: RETRY, description: "How failures are retried." },
  highWaterMark: {
    shape: whole(1, "messages", true),
    description: "The route waits while a queue that it publishes to holds this many messages.",
  },
  fanOut: {
    shape: whole(1, "messages"),
    description: "Most messages that the route publishes before they are committed.",
  },
};

/** The policies of a pipeline. */
export const PIPELINE_POLICY_FIELDS: Readonly<Record<keyof PipelinePolicy, Field>> = {
  inFlight: {
    shape: whole(1, "messages"),
    description: "Most messages in work at a time, over all routes of an execution on one host.",
  },
  maxHops: {
    shape: whole(1, "routes"),
    description: "A message that has passed this many routes becomes a dead letter.",
  },
  maxMessageBytes: { shape: whole(1, "bytes"), description: "Most bytes of a message in a store." },
};

/** The limits of a batch. A batch that is never full must be processed after a time. */
export const BATCH_SHAPE: ObjectShape = {
  type: "object",
  fields: {
    size: { shape: whole(1, "messages"), required: true, description: "Most messages of a batch." },
    bytes: { shape: whole(1, "bytes", true), description: "Most bytes of a batch." },
    everyMs: {
      shape: milliseconds(1),
      description: "A batch that is not full is processed after this time.",
    },
    byKey: { shape: { type: "flag" }, description: "One batch for each key." },
  },
};

/** Bounds that are the wrong way round. The shapes have judged the values by themselves. */
export function boundFaults(policy: Partial<RoutePolicy>, keys: Keys): KeyedFault[] {
  const wrong = (low: unknown, high: unknown): boolean =>
    typeof low === "number" && typeof high === "number" && low > high;
  const { backoff } = (policy.retry ?? {}) as Partial<RoutePolicy["retry"]>;
  const faults: KeyedFault[] = [];
  if (wrong(backoff?.minMs, backoff?.maxMs))
    faults.push(faultAt([...keys, "retry", "backoff", "maxMs"], "minMs or more", `${backoff?.maxMs}`));
  return faults;
}

/** The faults of an object of policies, unknown names among them. */
export function policyFaults(
  policy: object,
  keys: Keys,
  fields: Readonly<Record<string, Field>>,
): KeyedFault[] {
  const faults = shapeFaults({ type: "object", fields }, policy, keys);
  return faults.length > 0 ? faults : boundFaults(policy, keys);
}
