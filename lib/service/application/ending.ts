// The end of a service: the causes, the outcomes with their exit codes, and the text for people.

import { type ExitReason, formatReason, isOrderly } from "../../process/reason.js";
import { show, showThrown } from "../../process/show.js";
import { FailedChild } from "../../supervisor/protocol.js";
import type { ConfigurationError } from "./errors.js";

/**
 * How a service ended. Each outcome has an exit code of its own: {@link EXIT_CODES}.
 *
 * | outcome | meaning |
 * |---|---|
 * | `clean` | the service stopped on request, or its work was done |
 * | `startFailed` | the tree did not start, or not in time |
 * | `gaveUp` | the root of the tree gave up or crashed |
 * | `hostError` | an error that belongs to no process: an uncaught exception or an unhandled rejection |
 * | `forced` | a second signal ended the service while it stopped |
 * | `drainTimedOut` | the service did not stop within its time and was killed |
 * | `configurationInvalid` | the configuration does not fit its schema; nothing was started |
 */
export type Outcome =
  | "clean"
  | "startFailed"
  | "gaveUp"
  | "hostError"
  | "forced"
  | "drainTimedOut"
  | "configurationInvalid";

/**
 * The exit code of each outcome. The codes lie in the range of sysexits.h, which neither Node (1 to 13) nor a death by a signal
 * (128 and more) uses. 69, 70, 75 and 78 keep their meaning there: unavailable, internal error, temporary failure, configuration.
 */
export const EXIT_CODES: { readonly [outcome in Outcome]: number } = {
  clean: 0,
  startFailed: 69,
  gaveUp: 70,
  hostError: 71,
  forced: 73,
  drainTimedOut: 75,
  configurationInvalid: 78,
};

/** A child that ended once more than its supervisor allows. */
export interface LastStraw {
  /** The id of the child. */
  readonly child: string;
  /** Its exit reason. */
  readonly reason: ExitReason;
}

/** The cause of the end of a service. */
export type Cause =
  | {
      /** The host got a signal. */
      readonly type: "signal";
      /** The name of the signal, such as `SIGTERM`. */
      readonly signal: string;
    }
  | {
      /** Code called `service.stop()`, aborted the AbortSignal, or stopped the system. */
      readonly type: "stop";
    }
  | {
      /** Another service on the same host has failed. */
      readonly type: "fellow";
      /** The name of that service. */
      readonly name: string;
    }
  | {
      /** The root of the tree ended by itself. */
      readonly type: "root";
      /** Its exit reason. */
      readonly reason: ExitReason;
      /** Whether the root is a supervisor that had to restart its children too often. */
      readonly gaveUp: boolean;
      /** The child whose end was one too many. */
      readonly lastStraw?: LastStraw;
    }
  | {
      /** The tree did not start. */
      readonly type: "start";
      /** The exit reason of the root. */
      readonly reason: ExitReason;
      /** The part of the tree that failed, by its path of ids, such as `floor/clerk`, or `the admin socket`. Empty for the root itself. */
      readonly part: string;
      /** Whether the start took longer than `startTimeoutMs`. */
      readonly timedOut: boolean;
    }
  | {
      /** The configuration does not fit its schema. */
      readonly type: "configuration";
      /** All that is wrong with it. */
      readonly error: ConfigurationError;
    }
  | {
      /** An error that belongs to no process. */
      readonly type: "host";
      /** The value that was thrown. */
      readonly error: unknown;
      /** What Node calls its origin. */
      readonly origin: string;
    };

/** The end of a service. */
export interface Ending {
  /** How the service ended. */
  readonly outcome: Outcome;
  /** The exit code of the outcome. */
  readonly exitCode: number;
  /** The cause of the end. With several failures, the first one. */
  readonly cause: Cause;
  /** One line or more for people. */
  readonly text: string;
}

/** Whether this cause is a failure by itself, and which. */
export function failureOf(cause: Cause): Outcome | undefined {
  switch (cause.type) {
    case "signal":
    case "stop":
    case "fellow":
      return undefined;
    case "root":
      return cause.gaveUp || !isOrderly(cause.reason) ? "gaveUp" : undefined;
    case "start":
      return "startFailed";
    case "configuration":
      return "configurationInvalid";
    case "host":
      return "hostError";
    default:
      return cause satisfies never;
  }
}

/** The facts from which an {@link Ending} is made. */
export interface Facts {
  readonly name: string;
  readonly cause: Cause;
  readonly forced: boolean;
  readonly timedOut: boolean;
  readonly drainTimeoutMs: number;
  readonly startTimeoutMs: number;
  /** Paths of the processes that were killed. */
  readonly killed: readonly string[];
}

/** The first failure counts. A kill counts only when nothing failed before. */
export function endingOf(facts: Facts): Ending {
  const { cause, forced, timedOut } = facts;
  const outcome = failureOf(cause) ?? (forced ? "forced" : timedOut ? "drainTimedOut" : "clean");
  return { outcome, exitCode: EXIT_CODES[outcome], cause, text: textOf(facts) };
}

function textOf({ name, cause, forced, timedOut, killed, ...limits }: Facts): string {
  const why = `${name} ${because(cause, limits.startTimeoutMs)}`;
  const list = killed.length === 0 ? "" : `: ${killed.join(", ")}`;
  if (forced) return `${why}; a second signal forced the end and killed the processes that still ran${list}`;
  if (timedOut)
    return `${why}; it did not stop within ${limits.drainTimeoutMs} ms, and the processes that still ran were killed${list}`;
  return why;
}

function because(cause: Cause, startTimeoutMs: number): string {
  switch (cause.type) {
    case "signal":
      return `stopped by ${cause.signal}`;
    case "stop":
      return "was stopped";
    case "fellow":
      return `was stopped because the service ${cause.name} on the same host failed`;
    case "root":
      if (cause.gaveUp) return `gave up: its root had to restart children too often${last(cause.lastStraw)}`;
      if (isOrderly(cause.reason)) return `is done: its root ended (${formatReason(cause.reason)})`;
      return `gave up: its root ended (${formatReason(cause.reason)})${stack(cause.reason)}`;
    case "start": {
      const part = cause.part === "" ? "its root" : cause.part;
      if (cause.timedOut) return `did not start within ${startTimeoutMs} ms; still starting: ${part}`;
      return `did not start: ${part} failed (${formatReason(cause.reason)})${stack(cause.reason)}`;
    }
    case "configuration":
      return `did not start: ${cause.error.message}`;
    case "host":
      return `stopped after an error that belongs to no process (${cause.origin}): ${show(cause.error)}`;
    default:
      return cause satisfies never;
  }
}

function stack(reason: ExitReason): string {
  return reason.type === "crash" ? `\n${showThrown(reason.error)}` : "";
}

/** The innermost part whose start failed, by its path of ids, and its reason. */
export function failedPart(reason: ExitReason): { readonly part: string; readonly reason: ExitReason } {
  const path: string[] = [];
  let inner = reason;
  while (inner.type === "shutdown" && inner.detail instanceof FailedChild) {
    path.push(inner.detail.id);
    inner = inner.detail.reason;
  }
  return { part: path.join("/"), reason: inner };
}

function last(straw: LastStraw | undefined): string {
  return straw === undefined ? "" : `; child "${straw.child}" ended last (${formatReason(straw.reason)})`;
}
