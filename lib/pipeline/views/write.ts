// A pipeline in the languages of Mermaid and Graphviz.

import { writeDot } from "../../graph/dot.js";
import { writeMermaid } from "../../graph/mermaid.js";
import type { AnyPipeline } from "../definition/pipeline.js";
import { type RoutesGraphOptions, routesGraph } from "./routes-graph.js";

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
