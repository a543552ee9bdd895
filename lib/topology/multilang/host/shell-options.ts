// Options of shell components, with their defaults and limits in one table.

import { OptionError } from "../../../process/errors.js";
import { count, delay, text } from "../../../process/options.js";
import type { ComponentConfig } from "../../definition/config.js";
import { MAX_MESSAGE } from "../protocol/codec.js";
import type { ChildSpec } from "./child.js";

/** What both kinds of shell component take. Durations are milliseconds. */
export interface ShellOptions {
  /** The program: a path, or a name that is looked for in `PATH`. No shell reads it. */
  readonly command: string;
  readonly args?: readonly string[];
  /** Added to the environment of this program. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where it is started. Default: where this program was. */
  readonly cwd?: string;
  /** How long it may take to answer the handshake. Default 10,000. */
  readonly startTimeoutMs?: number;
  /** How long it may take to answer a heartbeat or a command. Default 30,000. */
  readonly timeoutMs?: number;
  /** How long it is given to end after SIGTERM; then comes SIGKILL. Default 1,000. */
  readonly graceMs?: number;
  /** Bytes of one message from it. Default 16 MiB. */
  readonly maxMessage?: number;
  /** What it is told as its configuration, in the handshake. */
  readonly conf?: Readonly<Record<string, unknown>>;
  /** Configuration of the component, as every component has it. A bolt gets ticks when `tickMs` is in it. */
  readonly config?: ComponentConfig;
  /** Is given the metrics that it tells. Default: they are logged. */
  readonly onMetrics?: (name: string, params: unknown) => void;
}

/** Options of a shell bolt besides those of every shell component. */
export interface ShellBoltOptions extends ShellOptions {
  /** Milliseconds between heartbeats; Infinity for none. Default 1,000. */
  readonly heartbeatMs?: number;
  /**
   * Tuples that it may hold without having acked or failed them; others wait. When it dies, all that it holds has
   * failed: with 1, that is the one it died of alone. Default 100,000.
   */
  readonly maxHeld?: number;
}

/** Defaults; everything else is nothing unless given. */
export const SHELL_DEFAULTS: {
  readonly startTimeoutMs: number;
  readonly timeoutMs: number;
  readonly graceMs: number;
  readonly maxMessage: number;
  readonly heartbeatMs: number;
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

/** @throws OptionError */
export function checkShell(options: ShellBoltOptions): ShellSettings {
  if (typeof options !== "object" || options === null) throw new OptionError("options", options, "an object");
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
