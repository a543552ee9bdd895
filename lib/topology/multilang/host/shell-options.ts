// Options of shell components, with their defaults and limits in one table.

import { OptionError } from "../../../process/errors.js";
import { asGiven, checked, fn, maybe, ms, whole } from "../../../process/option-schema.js";
import { text } from "../../../process/options.js";
import type { ComponentConfig } from "../../definition/config.js";
import type { ShellForm } from "../../definition/made-by.js";
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

type Limits = typeof SHELL_DEFAULTS;

/** Options of a shell component, checked. */
export interface ShellSettings extends Limits {
  readonly child: ChildSpec;
  readonly conf: Readonly<Record<string, unknown>>;
  readonly onMetrics: ((name: string, params: unknown) => void) | undefined;
}

const CHECKS = {
  command: text,
  args: (path: string, given: unknown): readonly string[] => {
    if (Array.isArray(given) && given.every((one) => typeof one === "string")) return [...given];
    throw new OptionError(path, given, "an array of texts");
  },
  env: (path: string, given: unknown): Readonly<Record<string, string>> => {
    const env = { ...record(path, given) };
    for (const [name, value] of Object.entries(env))
      if (typeof value !== "string") throw new OptionError(`${path}.${name}`, value, "a text");
    return env as Record<string, string>;
  },
  cwd: maybe(text),
  startTimeoutMs: ms(1, Number.POSITIVE_INFINITY),
  timeoutMs: ms(1, Number.POSITIVE_INFINITY),
  graceMs: ms(0),
  maxMessage: whole(1),
  heartbeatMs: ms(1, Number.POSITIVE_INFINITY),
  maxHeld: whole(1, Number.POSITIVE_INFINITY),
  conf: record,
  onMetrics: maybe(fn<NonNullable<ShellOptions["onMetrics"]>>("a function that takes a name and parameters")),
  // Checked where the component is defined.
  config: asGiven(),
  input: asGiven(),
  inputs: asGiven(),
  streams: asGiven(),
};

/** @throws OptionError */
export function checkShell(options: ShellBoltOptions): ShellSettings {
  const defaults = { ...SHELL_DEFAULTS, args: [], env: {}, conf: {} };
  const { command, args, env, cwd, ...settings } = checked("", options, CHECKS, defaults);
  return { ...settings, child: { command, args, env, cwd } };
}

/** The settings as plain data, for another host that runs the program. */
export function shellForm({ child, onMetrics, ...rest }: ShellSettings): ShellForm {
  return { by: "shell", ...child, ...rest, hasMetrics: onMetrics !== undefined };
}

function record(path: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new OptionError(path, value, "an object");
}
