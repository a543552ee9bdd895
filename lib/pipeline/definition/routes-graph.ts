// A pipeline as a graph, in Mermaid and DOT: sources, queues, routes with their adapters, and where dead letters go.

import { writeDot } from "../../graph/dot.js";
import {
  checkDirection,
  checkNode,
  type Direction,
  type Graph,
  type GraphEdge,
  type GraphNode,
  PALETTE,
  type Shape,
} from "../../graph/graph.js";
import { writeMermaid } from "../../graph/mermaid.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { flag } from "../../process/options.js";
import { show } from "../../process/show.js";
import { hash } from "../../process/stable-hash.js";
import type { Condition, FieldCondition } from "./condition.js";
import type { AnyPipeline, PipelineDefinition } from "./pipeline.js";
import type { AnyRoute } from "./route.js";

/** How a pipeline is drawn, where that differs from the defaults. */
export interface RoutesGraphOptions {
  /** From left to right, or from top to bottom. Default `LR`. */
  readonly direction?: Direction;
  /** Whether dead letters are drawn, with an edge from each route that has adapters. Default true. */
  readonly deadLetters?: boolean;
}

/** Their red is in no palette, so that they stand out. */
const DEAD = { name: "dead letters", colour: "#a00000" };

/** @throws OptionError */
export function checkPipeline(pipeline: AnyPipeline): void {
  const { options } = (pipeline ?? {}) as Partial<PipelineDefinition>;
  if (!Array.isArray(options?.routes))
    throw new OptionError("pipeline", pipeline, "a definition made by definePipeline()");
}

/**
 * Maps a pipeline to a graph. Sources are ovals, queues cylinders, routes boxes with their adapters, dead letters a parallelogram.
 * The edges into a queue have the colour of its name; they are dashed if they have a condition, and then the condition is beside them.
 *
 * @throws OptionError
 */
export function routesGraph(pipeline: AnyPipeline, options: RoutesGraphOptions = {}): Graph {
  only("", options, ["direction", "deadLetters"]);
  const withDead = flag("deadLetters", options.deadLetters ?? true);
  checkPipeline(pipeline);
  const { name, options: parts } = pipeline as PipelineDefinition;
  const { routes, sources = [] } = parts;
  const failing = withDead ? routes.filter(({ stages }) => stages.length > 0) : [];
  const queues = new Set([
    ...sources.map(({ to }) => to.name),
    ...routes.flatMap((route) => [route.options.from.name, ...route.outbound.map(({ queue }) => queue.name)]),
  ]);
  return {
    name,
    direction: checkDirection(options.direction ?? "LR"),
    nodes: [
      ...sources.map(({ source }) => node("source", source.name, "oval")),
      ...[...queues].map((queue) => node("queue", queue, "cylinder", colourOf(queue))),
      ...routes.map((route) => ({ ...node("route", route.name, "box"), label: labelOf(route) })),
      ...(failing.length > 0 ? [node("dead", DEAD.name, "parallelogram", DEAD.colour)] : []),
    ],
    edges: [
      ...sources.map(({ source, to }) => edge(`source ${source.name}`, to.name)),
      ...routes.flatMap(edgesOf),
      ...failing.map(
        (route): GraphEdge => ({
          from: `route ${route.name}`,
          to: `dead ${DEAD.name}`,
          label: "failed",
          colour: DEAD.colour,
          style: "dotted",
        }),
      ),
    ],
  };
}

/** A queue and a route may have the same name. */
function node(kind: string, name: string, shape: Shape, colour?: string): GraphNode {
  return checkNode(kind, { name: `${kind} ${name}`, label: name, shape, colour });
}

function colourOf(queue: string): string {
  return PALETTE[hash(queue) % PALETTE.length] as string;
}

function labelOf({ name, stages }: AnyRoute): string {
  const adapters = stages.map(({ adapter, when }, i) => {
    const limits = "batch" in adapter ? ` (batches of ${adapter.batch.size})` : "";
    return `${i + 1}. ${adapter.name}${limits}${when === undefined ? "" : `, if ${conditionText(when)}`}`;
  });
  return [name, ...adapters].join("\n");
}

function edgesOf({ name, options, outbound }: AnyRoute): GraphEdge[] {
  const from = options.from.name;
  const isFirst = options.firstMatch === true && outbound.length > 1;
  return [
    { from: `queue ${from}`, to: `route ${name}`, label: "", colour: colourOf(from), style: "solid" },
    ...outbound.map(({ queue, when }, i) => {
      const condition = when === undefined ? (isFirst ? "else" : "") : conditionText(when);
      const label = isFirst && when !== undefined ? `${i + 1}. ${condition}` : condition;
      return edge(`route ${name}`, queue.name, label, when !== undefined);
    }),
  ];
}

function edge(from: string, queue: string, label = "", isDashed = false): GraphEdge {
  return {
    from,
    to: `queue ${queue}`,
    label,
    colour: colourOf(queue),
    style: isDashed ? "dashed" : "solid",
  };
}

const SIGNS: Readonly<Record<string, string>> = { eq: "=", ne: "≠", lt: "<", le: "≤", gt: ">", ge: "≥" };

/** A condition in words. A function has its name, if it has one. */
export function conditionText(condition: Condition): string {
  if (typeof condition === "function")
    return condition.name === "" || condition.name === "when" ? "a function" : condition.name;
  const all = Array.isArray(condition)
    ? (condition as readonly FieldCondition[])
    : [condition as FieldCondition];
  return all
    .map(({ field, operator, value }) => {
      const compared = value === undefined ? "" : ` ${show(value)}`;
      return `${field === "" ? "the value" : field} ${SIGNS[operator] ?? operator}${compared}`;
    })
    .join(" and ");
}

/**
 * Writes a pipeline as a Mermaid flowchart, which forges and editors draw in Markdown. Sources are ovals, queues cylinders, routes
 * boxes with their adapters, dead letters a parallelogram. An edge with a condition is dashed. The same pipeline gives the same text.
 *
 * @throws OptionError
 * @example
 * const shouting = definePipeline("shouting", { routes: [route("shout", { from: queue<string>("lines") })] });
 * const inMarkdown = `\`\`\`mermaid\n${pipelineToMermaid(shouting)}\`\`\`\n`;
 */
export function pipelineToMermaid(pipeline: AnyPipeline, options: RoutesGraphOptions = {}): string {
  return writeMermaid(routesGraph(pipeline, options));
}

/**
 * Writes a pipeline for Graphviz. It looks like the graph of {@link pipelineToMermaid}.
 *
 * @throws OptionError
 * @example
 * const shouting = definePipeline("shouting", { routes: [route("shout", { from: queue<string>("lines") })] });
 * const upright = pipelineToDot(shouting, { direction: "TB" }); // for `dot -Tsvg`
 */
export function pipelineToDot(pipeline: AnyPipeline, options: RoutesGraphOptions = {}): string {
  return writeDot(routesGraph(pipeline, options));
}
