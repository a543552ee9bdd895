// Pipelines: routes, sources and policies under one name.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, withMethod } from "../../process/options.js";
import { type StandardSchema, schemaOption } from "../../process/standard-schema.js";
import { graphFaults, type Plan } from "./check.js";
import { PipelineFaultsError } from "./errors.js";
import type { KeyedFault } from "./fault.js";
import type { PipelinePolicy, RoutePolicy } from "./policy.js";
import { PIPELINE_POLICY_FIELDS, policyFaults, ROUTE_POLICY_FIELDS } from "./policy-shape.js";
import { checkName, type Queue } from "./queue.js";
import type { AnyRoute } from "./route.js";
import type { Field, Shape } from "./shape.js";
import type { Feed, Source } from "./source.js";

/** Options of {@link definePipeline}. */
export interface PipelineOptions<Input = unknown> extends Partial<PipelinePolicy> {
  /**
   * The version of the definition, 1 or more. An execution keeps the version with which it began. A host may have several versions of a name.
   * Default 1.
   */
  readonly version?: number;
  /**
   * Versions whose executions in flight this definition goes on with, where a host does not have their own: it has all queues and sources that
   * they need. Default: none, so that they are stranded until a host has their version.
   */
  readonly compatibleWith?: readonly number[];
  /** For people. */
  readonly description?: string;
  /** Checks the input of an execution; its output is what sources see. Any Standard Schema. */
  readonly input?: StandardSchema<Input>;
  /** The routes, in any order. */
  readonly routes: readonly AnyRoute[];
  /** The sources. Without any, messages are given at the start of an execution. */
  readonly sources?: readonly Feed[];
  /** Policies of all routes, where a route does not have its own. */
  readonly defaults?: Partial<RoutePolicy>;
  /** The frozen configuration that executions keep, for people: plain data. A pipeline of YAML keeps the file, without secrets. */
  readonly configuration?: unknown;
}

/** A pipeline. See {@link definePipeline}. */
export interface PipelineDefinition<in Input = never> {
  /** The name of the pipeline in the store. */
  readonly name: string;
  /** The version of the definition, 1 or more. */
  readonly version: number;
  /** Its options. */
  readonly options: PipelineOptions;
  /** @internal Types only. */
  readonly types?: (input: Input) => void;
}

/** Any pipeline. */
export type AnyPipeline = PipelineDefinition<never>;

const KNOWN = [
  "version",
  "compatibleWith",
  "description",
  "input",
  "routes",
  "sources",
  "defaults",
  "configuration",
  "inFlight",
  "maxHops",
  "maxMessageBytes",
];

/**
 * Defines a pipeline.
 *
 * @param name - names the pipeline in the store: rename it, and its executions lose their code
 * @throws OptionError
 * @throws PipelineFaultsError with everything that is wrong with the policies and with the graph
 * @example
 * const lines = queue<string>("lines");
 * const shout = route("shout", { from: lines }).via("upper", (line) => line.toUpperCase());
 * const shouting = definePipeline("shouting", { routes: [shout] });
 */
export function definePipeline<Input = unknown>(
  name: string,
  options: PipelineOptions<Input>,
): PipelineDefinition<Input> {
  checkName("name", name);
  only("", options, KNOWN);
  const version = count("version", options.version ?? 1, 1);
  checkCompatible(options.compatibleWith ?? [], version);
  if (options.input !== undefined) schemaOption("input", options.input);
  unique("routes", options.routes);
  unique(
    "sources",
    (options.sources ?? []).map((one) => one?.source),
  );
  for (const [i, { options: of }] of options.routes.entries()) checkName(`routes[${i}].from`, of?.from?.name);
  for (const [i, one] of (options.sources ?? []).entries()) checkName(`sources[${i}].to`, one.to?.name);
  const faults = faultsOf(options as PipelineOptions);
  if (faults.length > 0) throw new PipelineFaultsError(name, faults);
  return { name, version, options: options as PipelineOptions };
}

/** @throws OptionError */
function checkCompatible(versions: readonly number[], own: number): void {
  if (!Array.isArray(versions)) throw new OptionError("compatibleWith", versions, "a list of versions");
  for (const [i, one] of versions.entries())
    if (count(`compatibleWith[${i}]`, one, 1) === own)
      throw new OptionError(`compatibleWith[${i}]`, one, `another version than its own, ${own}`);
}

/** Other code checks these fields: this shape allows any value. */
const ANYTHING: Shape = { type: "any" };
const others = (names: readonly string[]): Readonly<Record<string, Field>> =>
  Object.fromEntries(names.map((name) => [name, { shape: ANYTHING, description: "" }]));

const OPTIONS: Readonly<Record<string, Field>> = { ...others(KNOWN), ...PIPELINE_POLICY_FIELDS };
const ROUTE_OPTIONS: Readonly<Record<string, Field>> = {
  ...others(["from", "description"]),
  firstMatch: { shape: { type: "flag" }, description: "" },
  ...ROUTE_POLICY_FIELDS,
};

function faultsOf(options: PipelineOptions): KeyedFault[] {
  return [
    ...policyFaults(options, [], OPTIONS),
    ...policyFaults(options.defaults ?? {}, ["defaults"], ROUTE_POLICY_FIELDS),
    ...options.routes.flatMap((one, i) => policyFaults(one.options, ["routes", i], ROUTE_OPTIONS)),
    ...graphFaults(planOf(options)),
  ];
}

/** A pipeline as a graph, with the places of a definition in TypeScript. */
export function planOf({ routes, sources = [], maxHops }: PipelineOptions): Plan {
  return {
    maxHops,
    feeds: sources.map(({ to }, i) => ({ queue: to.name, keys: ["sources", i, "to"], conditional: false })),
    routes: routes.map(({ name, options, stages, outbound }, i) => ({
      name,
      keys: ["routes", i],
      from: options.from.name,
      firstMatch: options.firstMatch === true,
      to: outbound.map(({ queue, when }, j) => ({
        queue: queue.name,
        keys: ["routes", i, "to", j],
        conditional: when !== undefined,
      })),
      batches: stages.flatMap(({ adapter }, j) =>
        "batch" in adapter ? [{ keys: ["routes", i, "adapters", j, "batch"], limits: adapter.batch }] : [],
      ),
    })),
  };
}

function unique(path: string, all: readonly { readonly name: string }[]): void {
  if (!Array.isArray(all)) throw new OptionError(path, all, "a list");
  const names = new Set<string>();
  for (const [i, one] of all.entries()) {
    const name = checkName(`${path}[${i}].name`, one?.name);
    if (names.has(name)) throw new OptionError(`${path}[${i}].name`, name, "unlike all others");
    names.add(name);
  }
}

/** Connects a source with the queue that its messages go to. */
export function feed<T, C>(source: Source<T, C>, to: Queue<T>): Feed {
  withMethod("source", source, "open", "a source");
  if (
    typeof (to as { readonly name?: unknown } | undefined | null)?.name !== "string" ||
    typeof to === "function"
  )
    throw new OptionError("to", to, "a queue");
  return { source: source as unknown as Source<unknown, never>, to };
}
