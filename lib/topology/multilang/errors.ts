// Errors of components in other programs: what came over the wire was wrong, or the program at its other end was.

import { SignalboxError } from "../../process/errors.js";

/**
 * What was wrong with a message: its size, its characters, its JSON, its command, the type of one of its parts, or the
 * stream and fields of a tuple; or, `output`, that others wrote where the messages go.
 */
export type MultilangProblem =
  | "size"
  | "encoding"
  | "json"
  | "command"
  | "shape"
  | "stream"
  | "field"
  | "output";

/** A message of the multilang protocol is not what it has to be. */
export class MultilangError extends SignalboxError {
  readonly code = "ERR_MULTILANG";
  readonly problem: MultilangProblem;
  constructor(problem: MultilangProblem, text: string, options?: ErrorOptions) {
    super(text, options);
    this.problem = problem;
  }
}

/**
 * What a program did that its task cannot go on after.
 *
 * | type | what happened |
 * |---|---|
 * | `start` | it could not be started, or did not answer the handshake in time |
 * | `exited` | it ended while its task was alive |
 * | `protocol` | it wrote something that is no message, or none that fits here |
 * | `settled` | it acked, failed or anchored to a tuple that it had settled, or that it was never given |
 * | `timeout` | it answered neither a heartbeat nor a command in time |
 * | `limit` | more is waiting for it, or held by it, than may be |
 */
export type ShellProblem = "start" | "exited" | "protocol" | "settled" | "timeout" | "limit";

/** The program of a shell component failed: what its task crashes with, and its supervisor starts both again. */
export class ShellError extends SignalboxError {
  readonly code = "ERR_SHELL";
  readonly component: string;
  readonly task: number;
  readonly problem: ShellProblem;
  constructor(component: string, task: number, problem: ShellProblem, text: string, options?: ErrorOptions) {
    super(`the program of ${component} (task ${task}) ${text}`, options);
    this.component = component;
    this.task = task;
    this.problem = problem;
  }
}

/** The first part of what was read, for an error text. */
export function excerpt(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}

/** A component that ran under another host crashed more often than its configuration allows. `cause` is the last time. */
export class ComponentFailedError extends SignalboxError {
  readonly code = "ERR_COMPONENT_FAILED";
  readonly component: string;
  constructor(component: string, restarts: number, period: number, options: ErrorOptions) {
    super(
      `${component} crashed more than ${restarts} times within ${period} ms (intensity and period of its configuration)`,
      options,
    );
    this.component = component;
  }
}
