// The options of a topology's start, and its log.

import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { hear } from "../../process/listening.js";
import { count, oneOf } from "../../process/options.js";
import { outside } from "../../process/origin.js";
import type { LogLevel } from "../definition/component.js";
import type { FullConfig } from "../definition/config.js";
import type { LogSink } from "../runtime/running-topology.js";

/** A line that a component logged. */
export interface LogLine {
  /** The level that the component gave to the line. */
  readonly level: LogLevel;
  /** Name of the topology. */
  readonly topology: string;
  /** Name of the component. */
  readonly component: string;
  /** Id of the task, as in {@link TaskContext.task}. */
  readonly task: number;
  /** The line, without level and names. */
  readonly text: string;
}

/** Options of the start of a topology. */
export interface RunOptions {
  /** Takes the log lines of components. Default: the system's report. False: lines are discarded. */
  readonly log?: ((line: LogLine) => void) | false;
  /** The least urgent level that is logged. Default `warn`. */
  readonly logLevel?: LogLevel;
  /** Restarts of the whole topology, in place of `restarts` of its configuration. 0: none. */
  readonly restarts?: number;
}

export const LOG_LEVELS: readonly LogLevel[] = ["trace", "debug", "info", "warn", "error"];

const RUN_OPTIONS: readonly string[] = ["log", "logLevel", "restarts"];

/** @throws OptionError */
export function checkRunOptions(options: RunOptions, config: FullConfig): { readonly restarts: number } {
  if (typeof options !== "object" || options === null)
    throw new OptionError("run options", options, 'an object, such as { logLevel: "info" }');
  for (const [name, value] of Object.entries(options))
    if (!RUN_OPTIONS.includes(name))
      throw new OptionError(name, value, `one of the options ${RUN_OPTIONS.join(", ")}`);
  oneOf("logLevel", options.logLevel ?? "warn", LOG_LEVELS);
  if (options.log !== undefined && options.log !== false && typeof options.log !== "function")
    throw new OptionError("log", options.log, "a function that takes a line, or false");
  return { restarts: count("restarts", options.restarts ?? config.restarts, 0, true) };
}

/**
 * Makes the log. A line is built only when it is logged. An error of the sink goes to the host, as that of a listener does.
 *
 * @param above - prints lines above a live dashboard, while there is one
 */
export function logSink(
  { log, logLevel = "warn" }: RunOptions,
  topology: string,
  kernel: Kernel,
  above: { readonly print: ((text: string) => void) | undefined } = { print: undefined },
): LogSink {
  const least = LOG_LEVELS.indexOf(logLevel);
  if (log === false) return () => undefined;
  return (level, component, task, line) => {
    if (LOG_LEVELS.indexOf(level) < least) return;
    const text = typeof line === "function" ? line() : line;
    if (log === undefined) {
      if (!kernel.reports.admits("log", `${topology}/${component}`)) return;
      const shown = `${topology}/${component} (task ${task}) ${level}: ${text}`;
      const { print } = above;
      if (print !== undefined) outside(() => kernel.enter(() => print(shown)));
      else
        kernel.reports.write({
          level,
          event: "log",
          path: `${kernel.node.name}/${topology}/${component}`,
          text: shown,
        });
      return;
    }
    hear(kernel, `the log of the topology ${topology}`, log, () =>
      log({ level, topology, component, task, text }),
    );
  };
}
