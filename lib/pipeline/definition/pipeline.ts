// Pipelines: routes, sources and policies under one name.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import type { StandardSchema } from "../../process/standard-schema.js";
import type { PipelinePolicy, RoutePolicy } from "./policy.js";
import { checkName, type Queue } from "./queue.js";
import type { AnyRoute } from "./route.js";
import type { Feed, Source } from "./source.js";

/** What {@link definePipeline} is given. */
export interface PipelineOptions<Input = unknown> extends Partial<PipelinePolicy> {
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
}

/** A pipeline. See {@link definePipeline}. */
export interface PipelineDefinition<in Input = never> {
  /** The name of the pipeline in the store. */
  readonly name: string;
  /** What it was defined with. */
  readonly options: PipelineOptions;
  /** @internal Types only. */
  readonly types?: (input: Input) => void;
}

/** Any pipeline. */
export type AnyPipeline = PipelineDefinition<never>;

const KNOWN = [
  "description",
  "input",
  "routes",
  "sources",
  "defaults",
  "inFlight",
  "maxHops",
  "maxMessageBytes",
];

/**
 * Defines a pipeline.
 *
 * @param name - names the pipeline in the store: rename it, and its executions lose their code
 * @throws OptionError
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
  unique("routes", options.routes);
  unique(
    "sources",
    (options.sources ?? []).map(({ source }) => source),
  );
  const readers = new Map<string, string>();
  for (const [i, { name: reader, options: of }] of options.routes.entries()) {
    const from = checkName(`routes[${i}].from`, of?.from?.name);
    const other = readers.get(from);
    if (other !== undefined)
      throw new OptionError(
        `routes[${i}].from`,
        from,
        `a queue that no other route takes from, as ${other} does`,
      );
    readers.set(from, reader);
  }
  return { name, options: options as PipelineOptions };
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
  return { source: source as unknown as Source<unknown, never>, to };
}
