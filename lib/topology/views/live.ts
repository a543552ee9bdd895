// A running topology, drawn on a terminal again and again.

import { OptionError } from "../../process/errors.js";
import type { MetricsWatchOptions, TopologyMetrics } from "../runtime/metrics.js";
import { renderDashboard, repaintDashboard } from "./view.js";

/** A running topology, as far as the view needs it: `await system.start(topology)` gives one. */
export interface WatchedTopology {
  watch(options?: MetricsWatchOptions): AsyncIterable<TopologyMetrics>;
  /** @internal The log's lines go there, and no more to the report, until this is called with undefined. */
  printAbove(print: ((text: string) => void) | undefined): void;
}

/** Where it is drawn: `process.stdout`, or something like it. */
export interface DashboardOutput {
  write(text: string): unknown;
  /** Characters in a line. Default 100. */
  readonly columns?: number;
}

/**
 * Draws the components with their rates, latencies and capacity in place, at once and then every so often, until the
 * topology has ended or the signal is aborted. What the topology logs meanwhile, unless its `log` says where to, is
 * written above.
 *
 * @throws OptionError
 * @example await liveDashboard(running, process.stdout, { everyMs: 500 });
 */
export async function liveDashboard(
  running: WatchedTopology,
  output: DashboardOutput,
  options?: MetricsWatchOptions,
): Promise<void> {
  if (typeof output?.write !== "function")
    throw new OptionError("output", output, "something with a method write(text), such as process.stdout");
  let before: TopologyMetrics | undefined;
  let lines: readonly string[] = [];
  running.printAbove((text) => output.write(repaintDashboard([...text.split("\n"), ...lines], lines.length)));
  try {
    for await (const metrics of running.watch(options)) {
      const drawn = lines.length;
      lines = renderDashboard(metrics, before, output.columns);
      output.write(repaintDashboard(lines, drawn));
      before = metrics;
    }
  } finally {
    running.printAbove(undefined);
  }
}
