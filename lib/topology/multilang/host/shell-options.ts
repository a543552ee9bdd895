// Options of shell components, with their defaults and limits in one table.

import { OptionError } from "../../../process/errors.js";
import { only } from "../../../process/known-options.js";
import { count, delay, text } from "../../../process/options.js";
import type { ComponentConfig } from "../../definition/config.js";
import { MAX_MESSAGE } from "../protocol/codec.js";
import type { ChildSpec } from "./child.js";

/** Options of both kinds of shell component. */
export interface ShellOptions {
  /** The program: a path, or a name to find in `PATH`. No shell interprets it. */
  readonly command: string;
  /** The arguments of the program. Default: none. */
  readonly args?: readonly string[];
  /** Added to the environment of this program. */
  readonly env?: Readonly<Record<string, string>>;
  /** Working directory of the program. Default: that of this program. */
  readonly cwd?: string;
  /** Time for the answer to the handshake. Default 10,000 ms. */
  readonly startTimeoutMs?: number;
  /** Time for the answer to a heartbeat or a command. Default 30,000 ms. */
  readonly timeoutMs?: number;
  /** Time to end after SIGTERM; then comes SIGKILL. Default 1,000 ms. */
  readonly graceMs?: number;
  /** Bytes of one message from the program. Default 16 MiB. */
  readonly maxMessage?: number;
  /** The configuration that the handshake passes to the program. */
  readonly conf?: Readonly<Record<string, unknown>>;
  /** Configuration of the component, as for every component. A bolt gets ticks when it contains `tickMs`. */
  readonly config?: ComponentConfig;
  /** Called with the metrics that the program sends. Default: the metrics are logged. */
  readonly onMetrics?: (name: string, params: unknown) => void;
}

/** Options of a shell bolt besides those of every shell component. */
export interface ShellBoltOptions extends ShellOptions {
  /** Milliseconds between heartbeats; Infinity for none. Default 1,000. */
  readonly heartbeatMs?: number;
  /**
   * Tuples that the program may hold, given and neither acked nor failed; others wait. When the program dies, all held
   * tuples fail: with 1, only the tuple that killed the program. Default 100,000.
   */
  readonly maxHeld?: number;
}

/** Defaults. All other options have none. */
export const SHELL_DEFAULTS: {
  /** Milliseconds that the program may take to answer the handshake. */
  readonly startTimeoutMs: number;
  /** Milliseconds that the program may take to answer a heartbeat or a command. */
  readonly timeoutMs: number;
  /** Milliseconds from SIGTERM to SIGKILL. */
  readonly graceMs: number;
  /** Bytes of one message from the program. */
  readonly maxMessage: number;
  /** Milliseconds between heartbeats. */
  readonly heartbeatMs: number;
  /** Tuples that the program of a bolt may hold without having acked or failed them. */
  readonly maxHeld: number;
} = {
  startTimeoutMs: 10_000,
  timeoutMs: 30_000,
  graceMs: 1_000,
  maxMessage: MAX_MESSAGE,
  heartbeatMs: 1_000,
  maxHeld: 100_000,
};

/** Options of a shell component, checked. */
export interface ShellSettings {
  readonly child: ChildSpec;
  readonly startTimeoutMs: number;
  readonly timeoutMs: number;
  readonly graceMs: number;
  readonly maxMessage: number;
  readonly heartbeatMs: number;
  readonly maxHeld: number;
  readonly conf: Readonly<Record<string, unknown>>;
  readonly onMetrics: ((name: string, params: unknown) => void) | undefined;
}

const KNOWN: readonly string[] = [
  ...[
    "command",
    "args",
    "env",
    "cwd",
    "startTimeoutMs",
    "timeoutMs",
    "graceMs",
    "maxMessage",
    "conf",
    "config",
  ],
  ...["onMetrics", "heartbeatMs", "maxHeld", "input", "inputs", "streams"],
];

/** @throws OptionError */
export function checkShell(options: ShellBoltOptions): ShellSettings {
  only("", options, KNOWN);
  const given = { ...SHELL_DEFAULTS, ...withoutUndefined(options) };
  const { args = [], env = {}, cwd, conf = {}, onMetrics } = options;
  if (!Array.isArray(args) || args.some((one) => typeof one !== "string"))
    throw new OptionError("args", args, "an array of texts");
  record("env", env);
  for (const [name, value] of Object.entries(env))
    if (typeof value !== "string") throw new OptionError(`env.${name}`, value, "a text");
  record("conf", conf);
  if (onMetrics !== undefined && typeof onMetrics !== "function")
    throw new OptionError("onMetrics", onMetrics, "a function that takes a name and parameters");
  return {
    child: {
      command: text("command", options.command),
      args: [...args],
      env: { ...env },
      cwd: cwd === undefined ? undefined : text("cwd", cwd),
    },
    startTimeoutMs: delay("startTimeoutMs", given.startTimeoutMs, 1, true),
    timeoutMs: delay("timeoutMs", given.timeoutMs, 1, true),
    graceMs: delay("graceMs", given.graceMs),
    maxMessage: count("maxMessage", given.maxMessage, 1),
    heartbeatMs: delay("heartbeatMs", given.heartbeatMs, 1, true),
    maxHeld: count("maxHeld", given.maxHeld, 1, true),
    conf,
    onMetrics,
  };
}

function withoutUndefined<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}

function record(path: string, value: unknown): void {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new OptionError(path, value, "an object");
}
