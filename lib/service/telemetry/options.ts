// The options of telemetry, and their defaults.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";

/** Of how many spans of a kind one is emitted. 1 emits every one; 0 none. */
export interface TelemetrySampling {
  /** Calls. Default 1. */
  readonly call?: number;
  /** Casts. Default 1. */
  readonly cast?: number;
  /**
   * Messages that are neither of a call or cast nor of a dispatch, for each process. The others are emitted if the span that sent
   * them was. Default 1.
   */
  readonly message?: number;
  /** Dispatches, with all their attempts. Default 1. */
  readonly dispatch?: number;
}

/** Options of {@link telemetry}. */
export interface TelemetryOptions {
  /** How many spans are emitted. Crashes, restarts, starts and ends always are. Default: all. */
  readonly oneIn?: TelemetrySampling;
  /**
   * Which processes are followed: their messages, the calls and casts to them, their starts and ends. Asked once for each process.
   * Crashes, restarts and dispatches are always emitted. Default: all.
   */
  readonly filter?: (process: Pid<unknown>) => boolean;
}

/** Options that have been checked. */
export interface TelemetrySettings {
  /** One of how many is followed, by kind. */
  readonly oneIn: Required<TelemetrySampling>;
  /** Which processes are followed. */
  readonly filter: ((process: Pid<unknown>) => boolean) | undefined;
}

/** The default of every option of telemetry. */
export const TELEMETRY_DEFAULTS: TelemetrySettings = {
  oneIn: { call: 1, cast: 1, message: 1, dispatch: 1 },
  filter: undefined,
};

const KINDS = ["call", "cast", "message", "dispatch"] as const;

/** Most labels, methods and other values that a metric or gauge tells apart. Further values count as `other`. */
export const MAX_LABELS = 200;

/** Most methods of one label that are told apart, so that the methods of one definition do not use up the series of all. */
export const MAX_METHODS = 50;

/** Stands for all values that came after the first {@link MAX_LABELS}. */
export const OTHER = "other";

/** @throws OptionError */
export function checkTelemetry(options: TelemetryOptions): TelemetrySettings {
  only("", options, ["oneIn", "filter"]);
  const { filter, oneIn = {} } = options;
  only("oneIn", oneIn, KINDS);
  if (filter !== undefined && typeof filter !== "function")
    throw new OptionError("filter", filter, "a function of a pid");
  const given = { ...TELEMETRY_DEFAULTS.oneIn, ...oneIn };
  for (const kind of KINDS) count(`oneIn.${kind}`, given[kind], 0);
  return { oneIn: given, filter };
}
