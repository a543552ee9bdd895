// The queues in a frozen configuration. It may come from TypeScript, or from a file of YAML, or from a host of another version.

import { PIPELINE_DEFAULTS } from "./policy.js";

/** The routes of an execution by the queues that they take from, as far as its configuration names them. */
export function routesByQueue(configuration: unknown): ReadonlyMap<string, string> {
  return new Map(partsIn(configuration).routes.map(({ name, from }) => [from, name]));
}

/** A route, as a frozen configuration has it. */
export interface ConfiguredRoute {
  readonly name: string;
  /** The queue that it takes from. */
  readonly from: string;
  /** The queues that its results go to. */
  readonly to: readonly string[];
  /** Most messages in work. Undefined: the configuration does not say so. */
  readonly concurrency: number | undefined;
}

/** A source, as a frozen configuration has it. */
export interface ConfiguredSource {
  readonly name: string;
  /** The queue that its messages go to. */
  readonly to: string;
}

/** The routes and sources of an execution, as far as its configuration names them, in its order. */
export function partsIn(configuration: unknown): {
  readonly routes: readonly ConfiguredRoute[];
  readonly sources: readonly ConfiguredSource[];
} {
  const { routes, sources, defaults } = fieldsOf(configuration);
  const usual = fieldsOf(defaults).concurrency;
  return {
    routes: namedIn(routes).flatMap(([name, one]) => {
      const { from, to, policy, concurrency = fieldsOf(policy).concurrency ?? usual } = fieldsOf(one);
      if (typeof from !== "string") return [];
      const most = typeof concurrency === "number" ? concurrency : undefined;
      return [{ name, from, to: queuesIn(to), concurrency: most }];
    }),
    sources: namedIn(sources).flatMap(([name, one]) => {
      const { to } = fieldsOf(one);
      return typeof to === "string" ? [{ name, to }] : [];
    }),
  };
}

/** A list of objects with names, as of TypeScript; or an object of them, as of a file of YAML. */
function namedIn(value: unknown): readonly (readonly [name: string, one: unknown])[] {
  const all: readonly (readonly [unknown, unknown])[] = Array.isArray(value)
    ? value.map((one) => [fieldsOf(one).name, one])
    : Object.entries(fieldsOf(value));
  return all.flatMap(([name, one]) => (typeof name === "string" ? [[name, one] as const] : []));
}

/** Queues by name, or with conditions; one, or a list. */
function queuesIn(to: unknown): readonly string[] {
  const all: readonly unknown[] = Array.isArray(to) ? to : [to];
  const names = all.map((one) => (typeof one === "string" ? one : fieldsOf(one).queue));
  return [...new Set(names.filter((name) => typeof name === "string"))];
}

/** The largest message of an execution, as far as its configuration says so. */
export function maxMessageBytesIn(configuration: unknown): number {
  const { maxMessageBytes } = fieldsOf(configuration);
  return typeof maxMessageBytes === "number" ? maxMessageBytes : PIPELINE_DEFAULTS.pipeline.maxMessageBytes;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
