// The error of a program that is a component of our topologies.

import { SignalboxError } from "../../../process/errors.js";

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

/**
 * The program of a shell component failed. The task crashes with this error, and its supervisor restarts
 * both.
 *
 * @remedy Read the program's standard error, which the message quotes; run the program by hand with the
 * same command.
 */
export class ShellError extends SignalboxError {
  static override readonly name: string = "ShellError";
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
