// The queues in a frozen configuration. It may come from TypeScript, or from a file of YAML, or from a host of another version.

import { PIPELINE_DEFAULTS } from "./policy.js";

/** The routes of an execution by the queues that they take from, as far as its configuration names them. */
export function routesByQueue(configuration: unknown): ReadonlyMap<string, string> {
  const { routes } = fieldsOf(configuration);
  const named = Array.isArray(routes)
    ? routes.map((one) => [fieldsOf(one).name, one] as const)
    : Object.entries(fieldsOf(routes));
  const found = new Map<string, string>();
  for (const [name, one] of named) {
    const { from } = fieldsOf(one);
    if (typeof name === "string" && typeof from === "string") found.set(from, name);
  }
  return found;
}

/** The largest message of an execution, as far as its configuration says so. */
export function maxMessageBytesIn(configuration: unknown): number {
  const { maxMessageBytes } = fieldsOf(configuration);
  return typeof maxMessageBytes === "number" ? maxMessageBytes : PIPELINE_DEFAULTS.pipeline.maxMessageBytes;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
