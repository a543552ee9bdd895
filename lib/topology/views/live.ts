// A running topology, drawn on a terminal again and again.

import { OptionError } from "../../process/errors.js";
import type { TopologyMetrics, WatchOptions } from "../runtime/metrics.js";
import { repaint, screen } from "./view.js";

/** A running topology, as far as the view needs it: `await system.start(topology)` gives one. */
export interface WatchedTopology {
  watch(options?: WatchOptions): AsyncIterable<TopologyMetrics>;
  /** @internal The log's lines go there, and no more to the report, until this is called with undefined. */
  printAbove(print: ((text: string) => void) | undefined): void;
}

/** Where it is drawn: `process.stdout`, or something like it. */
export interface Screen {
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
 * @example await live(running, process.stdout, { everyMs: 500 });
 */
export async function live(running: WatchedTopology, output: Screen, options?: WatchOptions): Promise<void> {
  if (typeof output?.write !== "function")
    throw new OptionError("output", output, "something with a method write(text), such as process.stdout");
  let before: TopologyMetrics | undefined;
  let lines: readonly string[] = [];
  running.printAbove((text) => output.write(repaint([...text.split("\n"), ...lines], lines.length)));
  try {
    for await (const metrics of running.watch(options)) {
      const drawn = lines.length;
      lines = screen(metrics, before, output.columns);
      output.write(repaint(lines, drawn));
      before = metrics;
    }
  } finally {
    running.printAbove(undefined);
  }
}
