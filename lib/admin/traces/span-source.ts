// Where the operations find the spans of a system. Telemetry keeps them, which is a floor above: it offers them here.

import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { maybe, whole } from "../../process/option-schema.js";
import { text } from "../../process/options.js";
import { SpansNotKeptError } from "../errors.js";
import type { TraceFilter, TraceOperations, TraceSpans, TraceSummary } from "./trace-operations.js";

/** Keeps the spans of a system while somebody looks. */
export interface SpanSource {
  /** Somebody looks. */
  touch(): void;
  spans(trace: string): TraceSpans;
  traces(filter: { readonly limit: number; readonly find?: string }): readonly TraceSummary[];
}

const sources = new WeakMap<Kernel, () => Promise<SpanSource>>();

/** Offers the spans of a system to its operations. @param load - called when somebody looks */
export function offerSpans(kernel: Kernel, load: () => Promise<SpanSource>): void {
  sources.set(kernel, load);
}

/** Most traces of one list, and how many it has if nothing is said. */
export const TRACES = { most: 500, usual: 50 } as const;

const LIMIT = whole(1, TRACES.most);
const FIND = maybe((path, value) => text(path, value));

/** The operations on the spans of a system. Each look keeps the spans for another while. */
export function traceOperations(kernel: Kernel): TraceOperations {
  const lookedAt = async (): Promise<SpanSource> => {
    const load = sources.get(kernel);
    if (load === undefined) throw new SpansNotKeptError(kernel.node.name);
    const source = await load();
    source.touch();
    return source;
  };
  return {
    spans: async (trace) => {
      text("trace", trace);
      return (await lookedAt()).spans(trace);
    },
    traces: async (options: TraceFilter = {}) => {
      only("", options, ["limit", "find"]);
      const limit = LIMIT("limit", options.limit ?? TRACES.usual);
      const find = FIND("find", options.find);
      return (await lookedAt()).traces({ limit, ...(find !== undefined && { find }) });
    },
  };
}
