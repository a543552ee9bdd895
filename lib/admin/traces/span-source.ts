// Where the operations find the spans of a system. Telemetry keeps them, which is a floor above: it offers them here.

import type { Kernel } from "../../process/kernel.js";
import type { NodeSpans, NodeTrace } from "./trace-operations.js";

/** Keeps the spans of a system while somebody looks. */
export interface SpanSource {
  /** Somebody looks. */
  touch(): void;
  spans(trace: string): NodeSpans;
  traces(filter: { readonly limit: number; readonly find?: string }): readonly NodeTrace[];
}

const sources = new WeakMap<Kernel, () => Promise<SpanSource>>();

/** Offers the spans of a system to its operations. @param load - called when somebody looks */
export function offerSpans(kernel: Kernel, load: () => Promise<SpanSource>): void {
  sources.set(kernel, load);
}

/** The spans of a system, for one look, which keeps them for another while. Undefined: nothing in the program keeps spans. */
export async function lookedAtSpans(kernel: Kernel): Promise<SpanSource | undefined> {
  const source = await sources.get(kernel)?.();
  source?.touch();
  return source;
}
