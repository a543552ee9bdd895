// Functions as programs: one call, in a thread or on another node. A step of a flow or of a pipeline that computes is such a call.

import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import { StartError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { abortSignal, checked, maybe } from "../../process/option-schema.js";
import { callable } from "../../process/options.js";
import { orAborted } from "../../process/or-aborted.js";
import type { Pid } from "../../process/pid.js";
import { SHUTDOWN } from "../../process/reason.js";
import type { ReplyTo } from "../../process/request.js";
import { type Launch, launch, type Startable, startAwaited } from "../../process/start.js";

/** What the function of a job gets behind its arguments. */
export interface JobContext {
  /** Aborts when the caller needs the result no more. A loop without an `await` does not see it: give long loops pauses. */
  readonly signal: AbortSignal;
}

/** Options of a run. */
export interface RunOptions {
  /** Ends the job: the run rejects with the signal's reason, and the signal of the job aborts. */
  readonly signal?: AbortSignal;
}

/** To the process of a job. */
interface JobCall {
  readonly replyTo: ReplyTo<unknown>;
}

/**
 * A function as a program, for the module of `threads` or the programs of a node. `run` calls it there. It gets the arguments of the run and
 * then a {@link JobContext}. What it throws is thrown to the caller.
 *
 * @throws OptionError
 * @example
 * const sum = job((numbers: number[]) => numbers.reduce((one, other) => one + other, 0));
 * const program = threadProgram({ programs: { sum } }); // export default
 */
export function job(fn: (...args: never[]) => unknown): Startable<never, unknown> {
  callable("fn", fn);
  return {
    [launch]: (args: readonly unknown[]): Launch<unknown> => ({
      behaviour: new Job(fn as (...args: readonly unknown[]) => unknown, args) as Callbacks<never>,
      options: { label: "job" },
      ref: (pid) => pid,
    }),
  };
}

class Job implements Callbacks<JobCall> {
  readonly #fn: (...args: readonly unknown[]) => unknown;
  readonly #args: readonly unknown[];

  constructor(fn: (...args: readonly unknown[]) => unknown, args: readonly unknown[]) {
    this.#fn = fn;
    this.#args = args;
  }

  async handle(ctx: Context<JobCall>, { replyTo }: JobCall): Promise<void> {
    let result: unknown;
    try {
      result = await this.#fn(...this.#args, { signal: ctx.signal } satisfies JobContext);
    } catch (error) {
      ctx.refuse(replyTo as ReplyTo<never>, error instanceof Error ? error : new TypeError(String(error)));
      return;
    }
    ctx.reply(replyTo, result);
  }
}

/** Runs a job by its start. However that ends, nothing of the job is left. */
export async function runJob(
  kernel: Kernel,
  start: Startable<readonly [], Pid<unknown>>,
  options: RunOptions,
): Promise<unknown> {
  const { signal } = checked("", options, { signal: maybe(abortSignal) });
  signal?.throwIfAborted();
  const started = startAwaited(kernel, undefined, start, [], { timeoutMs: Number.POSITIVE_INFINITY });
  const stop = (pid: Pid<unknown>): void => kernel.links.exit(kernel.outside, pid as Pid, SHUTDOWN, "exit");
  let pid: Pid<unknown>;
  try {
    pid = await (signal === undefined ? started : orAborted(started, signal));
  } catch (error) {
    // What is started after the end of the wait is stopped at once.
    void started.then(stop, () => undefined);
    throw error instanceof StartError && error.reason.type === "crash" ? error.reason.error : error;
  }
  try {
    const build = (replyTo: ReplyTo<unknown>): JobCall => ({ replyTo });
    const limits = { timeoutMs: Number.POSITIVE_INFINITY, ...(signal && { signal }) };
    return await kernel.calls.call(undefined, pid, build as never, limits);
  } finally {
    stop(pid);
  }
}
