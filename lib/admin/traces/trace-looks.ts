// The operations on the spans of a system. In a cluster, each look asks the other nodes as well, and joins what they answer.

import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { maybe, whole } from "../../process/option-schema.js";
import { text } from "../../process/options.js";
import { SpansNotKeptError } from "../errors.js";
import { joinedSpans, joinedTraces, type MissingPart, type TracePart } from "./joined-trace.js";
import { KEEPS_NONE, spansIn, tracesIn } from "./node-answer.js";
import { type AskedNodes, askingNodes, GONE } from "./node-questions.js";
import { lookedAtSpans, type SpanSource } from "./span-source.js";
import type {
  NodeTrace,
  TraceFilter,
  TraceOperations,
  TraceSpans,
  TraceSummary,
} from "./trace-operations.js";
import { tracePeersOf } from "./trace-peers.js";

/** Most traces of one list, and how many it has if nothing is said. */
export const TRACES = { most: 500, usual: 50 } as const;

const LIMIT = whole(1, TRACES.most);
const FIND = maybe((path, value) => text(path, value));

/** The operations on the spans of a system. Each look keeps the spans for another while. */
export function traceOperations(kernel: Kernel): TraceOperations {
  const ask = askingNodes(kernel);
  const lookedAt = async (): Promise<SpanSource> => {
    const source = await lookedAtSpans(kernel);
    if (source === undefined) throw new SpansNotKeptError(kernel.node.name);
    return source;
  };
  return {
    spans: async (trace) => {
      text("trace", trace);
      const source = await lookedAt();
      const asked = await ask({ type: "spans", trace });
      // Now: while the others answered, the trace went on here.
      const { spans, dropped } = source.spans(trace);
      return joined(kernel, trace, { node: kernel.node, spans, dropped }, asked);
    },
    traces: async (options: TraceFilter = {}) => {
      only("", options, ["limit", "find"]);
      const limit = LIMIT("limit", options.limit ?? TRACES.usual);
      const find = FIND("find", options.find);
      const filter = { limit, ...(find !== undefined && { find }) };
      const source = await lookedAt();
      const asked = await ask({ type: "traces", ...filter });
      return listed(kernel, source.traces(filter), asked, limit);
    },
  };
}

function joined(
  kernel: Kernel,
  trace: string,
  here: TracePart,
  { answers, missing }: AskedNodes,
): TraceSpans {
  const parts: TracePart[] = [here];
  const absent: MissingPart[] = [...missing];
  for (const { node, answer } of answers) {
    const part = spansIn(answer, node.name);
    if (part === KEEPS_NONE)
      absent.push({ node, why: "has neither an observer nor telemetry, so it keeps no spans" });
    else if (part === undefined)
      absent.push({ node, why: "gave an answer that this version does not understand" });
    else {
      parts.push({ node, ...part });
      if (part.leftOut > 0)
        absent.push({ node, why: `keeps ${part.leftOut} more that had no room in its answer` });
    }
  }
  // What was lost before the trace began has no part of it.
  let begin = Number.POSITIVE_INFINITY;
  for (const { spans } of parts) for (const { at } of spans) begin = Math.min(begin, at);
  for (const { node, at } of tracePeersOf(kernel)?.lost() ?? [])
    if (at >= begin || begin === Number.POSITIVE_INFINITY) absent.push({ node, why: GONE });
  return joinedSpans(trace, kernel.node, parts, absent);
}

function listed(
  { node: here }: Kernel,
  traces: readonly NodeTrace[],
  { answers }: AskedNodes,
  limit: number,
): readonly TraceSummary[] {
  const others = answers.map(({ node, answer }) => ({ node, traces: tracesIn(answer) ?? [] }));
  // Alone, a list stays in the order in which the traces began here, whatever was done to the clock.
  if (others.length === 0) return traces.map((trace) => ({ ...trace, nodes: [here.name] }));
  return joinedTraces([{ node: here, traces }, ...others], limit);
}
