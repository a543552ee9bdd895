// Functions as programs: one call, in a thread or on another node. A step of a flow or of a pipeline that computes is such a call.

import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import { CalleeExitedError, StartError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { abortSignal, checked, maybe } from "../../process/option-schema.js";
import { callable, flag } from "../../process/options.js";
import { orAborted } from "../../process/or-aborted.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import type { Job } from "../../process/program-host.js";
import { SHUTDOWN } from "../../process/reason.js";
import type { ReplyTo } from "../../process/request.js";
import { type Launch, launch, type Startable, startAwaited } from "../../process/start.js";
import { runNoted } from "./job-board.js";

/** What the function of a job gets behind its arguments. */
export interface JobContext {
  /** Aborts when the caller needs the result no more. A loop without an `await` does not see it: give long loops pauses. */
  readonly signal: AbortSignal;
}

/** Options of a run. */
export interface RunOptions {
  /** Ends the job: the run rejects with the signal's reason, and the signal of the job aborts. */
  readonly signal?: AbortSignal;
  /**
   * The job may run twice. When its thread ends by the fault of another job there, it runs again in another thread, at most ten times,
   * instead of failing. Default false.
   */
  readonly repeatable?: boolean;
}

/** The arguments that a run gives to a function: all but the {@link JobContext} at their end. */
export type JobArguments<F extends (...args: never[]) => unknown> =
  Parameters<F> extends readonly [...infer Args, infer Last]
    ? 0 extends 1 & Last
      ? Parameters<F>
      : Last extends JobContext
        ? Args
        : Parameters<F>
    : Parameters<F>;

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
export function job<F extends (...args: never[]) => unknown>(
  fn: F,
): Job<JobArguments<F>, Awaited<ReturnType<F>>> {
  callable("fn", fn);
  return {
    [launch]: (args: readonly unknown[]): Launch<unknown> => ({
      behaviour: new JobProcess(fn as never, args) as Callbacks<never>,
      options: { label: "job" },
      ref: (pid) => pid,
    }),
  };
}

class JobProcess implements Callbacks<JobCall> {
  readonly #fn: (...args: readonly unknown[]) => unknown;
  readonly #args: readonly unknown[];

  constructor(fn: (...args: readonly unknown[]) => unknown, args: readonly unknown[]) {
    this.#fn = fn;
    this.#args = args;
  }

  async handle(ctx: Context<JobCall>, { replyTo }: JobCall): Promise<void> {
    const { kernel, pid } = ctx.self.process as Process;
    try {
      const result = await runNoted(kernel, pid, () =>
        this.#fn(...this.#args, { signal: ctx.signal } satisfies JobContext),
      );
      ctx.reply(replyTo, result);
    } catch (error) {
      ctx.refuse(replyTo as ReplyTo<never>, error instanceof Error ? error : new TypeError(String(error)));
    }
  }
}

/** How often a job runs again that is lost by the fault of others. */
const MOST_REPEATS = 10;

/** The start of a job, which says when its node is lost: whether by the fault of this job is not known, or of another one. */
export type JobStart = (lost: (isInnocent: boolean) => void) => Startable<readonly [], Pid<unknown>>;

const RUN_CHECKS = {
  signal: maybe(abortSignal),
  repeatable: (path: string, value: unknown): boolean => flag(path, value as boolean),
};

/** Runs a job by its start. However that ends, nothing of the job is left. */
export async function runJob(kernel: Kernel, start: JobStart, options: RunOptions): Promise<unknown> {
  const { signal, repeatable } = checked("", options, RUN_CHECKS, { repeatable: false });
  for (let repeats = 0; ; repeats++) {
    let isInnocent = false;
    const lost = (byOthers: boolean): void => {
      isInnocent = byOthers;
    };
    try {
      return await runOnce(kernel, start(lost), signal);
    } catch (error) {
      if (!(repeatable && isInnocent && isLoss(error)) || repeats === MOST_REPEATS) throw error;
    }
  }
}

const isLoss = (error: unknown): boolean =>
  (error instanceof CalleeExitedError || error instanceof StartError) && error.reason.type === "noconnection";

async function runOnce(
  kernel: Kernel,
  start: Startable<readonly [], Pid<unknown>>,
  signal: AbortSignal | undefined,
): Promise<unknown> {
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
