// The error of a program that is a component of our topologies.

import { SignalboxError } from "../../../process/errors.js";

/**
 * Why a task cannot go on with its program.
 *
 * | type | what happened |
 * |---|---|
 * | `start` | the program could not be started, or did not answer the handshake in time |
 * | `exited` | the program ended while its task was alive |
 * | `protocol` | the program sent something that is no message, or a message that is not allowed there |
 * | `settled` | the program acked, failed or anchored to a tuple that it had settled, or that it was never given |
 * | `timeout` | the program did not answer a heartbeat or a command in time |
 * | `limit` | more bytes or messages wait than the limit allows |
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
  /** Name of the component. */
  readonly component: string;
  /** Id of the task, as in {@link TaskContext.task}. */
  readonly task: number;
  /** The kind of failure. */
  readonly problem: ShellProblem;
  constructor(component: string, task: number, problem: ShellProblem, text: string, options?: ErrorOptions) {
    super(`the program of ${component} (task ${task}) ${text}`, options);
    this.component = component;
    this.task = task;
    this.problem = problem;
  }
}
