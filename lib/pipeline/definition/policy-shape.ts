// The shapes of policies: one table for TypeScript, YAML and editors. The defaults are in policy.ts.

import { PROTECTION_DEFAULTS } from "../../service/protection/defaults.js";
import { faultAt, type KeyedFault, type Keys } from "./fault.js";
import type { BreakerPolicy, PipelinePolicy, RoutePolicy } from "./policy.js";
import {
  type Field,
  milliseconds,
  type NumberShape,
  type ObjectShape,
  SHARE,
  type Shape,
  shapeFaults,
  whole,
} from "./shape.js";

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

const QUARANTINE: ObjectShape = {
  type: "object",
  fields: {
    ends: {
      shape: whole(1, "ends", true),
      description: "How often a message may end its process, by evidence, before it is a dead letter.",
    },
    backoff: { shape: BACKOFF, description: "How long it waits before it is tried again." },
  },
};

/** Fewer calls than this have no median to rely on. */
const LEAST_WINDOW = 10;

const ADAPTIVE: ObjectShape = {
  type: "object",
  fields: {
    targetMs: { shape: milliseconds(1), required: true, description: "The latency to stay below." },
    window: {
      shape: whole(LEAST_WINDOW, "attempts"),
      description: "How many attempts the median is taken of.",
    },
  },
};

/** A share that is not nothing. */
const SOME: NumberShape = { type: "number", whole: false, above: 0, most: 1 };

const BREAKER: ObjectShape = {
  type: "object",
  fields: {
    windowMs: { shape: milliseconds(1), description: "The calls of this last time count." },
    windowCalls: { shape: whole(1, "calls"), description: "So many last calls count, instead of a time." },
    minimumCalls: { shape: whole(1, "calls"), description: "With fewer calls it stays closed." },
    failureRate: { shape: SOME, description: "It opens when this share of the calls has failed." },
    slowMs: { shape: milliseconds(0), description: "A call that takes this long is slow." },
    slowRate: { shape: SOME, description: "It opens when this share of the calls was slow." },
    backoff: {
      shape: BACKOFF,
      description: "How long it stays open: longer each time that its probes fail.",
    },
    probes: { shape: whole(1, "calls"), description: "How many calls try whether the service is back." },
  },
};

/** Turns off a policy that the pipeline has for all of its routes. */
const NONE: Shape = { type: "words", words: ["none"] };

/** The policies of a route. */
export const ROUTE_POLICY_FIELDS: Readonly<Record<keyof RoutePolicy, Field>> = {
  concurrency: { shape: whole(1, "messages"), description: "Most messages in work at a time." },
  adaptive: {
    shape: { type: "either", forms: [ADAPTIVE, NONE] },
    description: "Finds out how many messages to work on at a time, up to the concurrency.",
  },
  prefetch: { shape: whole(1, "messages"), description: "Most messages that the route keeps in memory." },
  timeoutMs: {
    shape: { ...milliseconds(1), orInfinity: true },
    description: "How long one attempt at a message may take.",
  },
  overrunMs: {
    shape: { ...milliseconds(0), orInfinity: true },
    description:
      "How long a call that has taken too long keeps its place among the concurrency, until it ends.",
  },
  breaker: {
    shape: { type: "either", forms: [BREAKER, NONE] },
    description: "When an adapter that fails is not called for a while. The messages of the route wait.",
  },
  retry: { shape: RETRY, description: "How failures are retried." },
  quarantine: { shape: QUARANTINE, description: "What becomes of messages that end their process." },
  highWaterMark: {
    shape: whole(1, "messages", true),
    description: "The route waits while a queue that it publishes to holds this many messages.",
  },
  fanOut: {
    shape: whole(1, "messages"),
    description: "Most messages that the route publishes before they are committed.",
  },
  keepValues: {
    shape: { type: "flag" },
    description: "The values of the messages that the route settles stay in the store, for replays.",
  },
  hashValues: {
    shape: { type: "flag" },
    description: "The lineage has a hash of what each call of an adapter got and gave.",
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
  const faults: KeyedFault[] = [];
  const { breaker } = policy;
  const rules: BreakerPolicy = typeof breaker === "object" && breaker !== null ? breaker : {};
  for (const [name, backoff] of [
    ["retry", policy.retry?.backoff],
    ["quarantine", policy.quarantine?.backoff],
    ["breaker", rules.backoff],
  ] as const)
    if (wrong(backoff?.minMs, backoff?.maxMs))
      faults.push(faultAt([...keys, name, "backoff", "maxMs"], "minMs or more", `${backoff?.maxMs}`));
  const { windowCalls, windowMs, minimumCalls = PROTECTION_DEFAULTS.breaker.minimumCalls } = rules;
  if (windowCalls !== undefined && windowMs !== undefined)
    faults.push(faultAt([...keys, "breaker", "windowCalls"], "absent beside windowMs", `${windowCalls}`));
  if (wrong(minimumCalls, windowCalls))
    faults.push(faultAt([...keys, "breaker", "windowCalls"], "minimumCalls or more", `${windowCalls}`));
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
