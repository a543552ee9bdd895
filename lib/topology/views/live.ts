// A running topology, redrawn on a terminal at intervals.

import { OptionError } from "../../process/errors.js";
import { withMethod } from "../../process/options.js";
import type { MetricsWatchOptions, TopologyMetrics } from "../runtime/metrics.js";
import { renderDashboard, repaintDashboard } from "./view.js";

/** The part of a running topology that the dashboard needs. `await system.start(topology)` returns one. */
export interface WatchedTopology {
  /** Yields the figures at once and then every `everyMs`, until the topology has ended. */
  watch(options?: MetricsWatchOptions): AsyncIterable<TopologyMetrics>;
  /** @internal Redirects the log's lines from the report to a function, until called with undefined. */
  printAbove(print: ((text: string) => void) | undefined): void;
}

/** The terminal to draw on: `process.stdout`, or something like it. */
export interface DashboardOutput {
  /** Writes text as it is, with its control sequences. */
  write(text: string): unknown;
  /** Characters in a line. Default 100. */
  readonly columns?: number;
}

/**
 * Draws the components with their rates, latencies and capacity in place, at once and then every `everyMs`, until the
 * topology has ended or the signal is aborted. Unless the topology has a `log` function, its log lines appear above the
 * drawing.
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
  withMethod("running", running, "watch", "the handle of a running topology");
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
