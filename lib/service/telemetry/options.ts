// The options of telemetry, and their defaults.

import { checked, fn, maybe, whole } from "../../process/option-schema.js";
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

/** Most labels, methods and other values that a metric or gauge tells apart. Further values count as `other`. */
export const MAX_LABELS = 200;

/** Most methods of one label that are told apart, so that the methods of one definition do not use up the series of all. */
export const MAX_METHODS = 50;

/** Stands for all values that came after the first {@link MAX_LABELS}. */
export const OTHER = "other";

const ONE_IN = { call: whole(0), cast: whole(0), message: whole(0), dispatch: whole(0) };
const CHECKS = {
  oneIn: (path: string, given: unknown) => checked(path, given as object, ONE_IN, TELEMETRY_DEFAULTS.oneIn),
  filter: maybe(fn<NonNullable<TelemetryOptions["filter"]>>("a function of a pid")),
};

/** @throws OptionError */
export function checkTelemetry(options: TelemetryOptions): TelemetrySettings {
  return checked("", options, CHECKS, { oneIn: TELEMETRY_DEFAULTS.oneIn });
}
