// The handle of a pool, with the functions of its worker file as methods.

import { checkCallOptions } from "../../process/calls.js";
import { NoProcessError } from "../../process/errors.js";
import { waitForExit } from "../../process/exited.js";
import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import { type ExitInput, toReason } from "../../process/reason.js";
import type { CallOptions } from "../../process/request.js";
import type { Run } from "./job.js";
import { JobRequest, type PoolStats, type Sender, StatsRequest, StopPool } from "./messages.js";
import { checkJobOptions, checkTerms, checkTransfer, type JobDefaults } from "./options.js";

/** Options of one job. */
export interface JobOptions extends JobDefaults {
  /** How many milliseconds to wait for the result, the wait in the queue included. Default `Infinity`. */
  readonly timeoutMs?: number;
  /** Ends the wait early: the job rejects with the signal's reason. A job that waits leaves the queue. */
  readonly signal?: AbortSignal;
  /** Objects in the arguments, such as ArrayBuffers, that move to the worker instead of being cloned. */
  readonly transfer?: readonly object[];
  /** Called with what the function reports as its progress. The job rejects with what this function throws or rejects with. */
  readonly onProgress?: (value: unknown) => void;
  /** The process that sends the job. When it exits, its jobs are treated as aborted. */
  readonly from?: Sender;
}

/** A running pool, by pid or by name. */
export class PoolRef<M> implements AsyncDisposable {
  /**
   * The functions of the worker file as methods: `await printing.run.render(order)`. `run` itself is the default function.
   *
   * A job rejects with what its function threw, and with JobDeadlineError, JobLostError, PoolFullError, PoolStoppingError,
   * NotCloneableError, UnknownJobError, or CalleeExitedError when the pool exits.
   */
  readonly run: Run<M>;
  readonly #kernel: Kernel;
  readonly #address: Pid<never> | string;
  readonly #defaults: Required<JobDefaults>;

  /** @internal */
  constructor(address: Pid<never> | string, kernel: Kernel, defaults: Required<JobDefaults>) {
    this.#address = address;
    this.#kernel = kernel;
    this.#defaults = defaults;
    this.run = runOf(kernel, address, defaults, {}) as Run<M>;
  }

  /**
   * The pid of the pool. For a handle by name: of the process that has the name now.
   *
   * @throws NoProcessError when no process has it
   */
  get pid(): Pid<never> {
    if (typeof this.#address !== "string") return this.#address;
    const holder = this.#kernel.names.find(this.#address);
    if (holder === undefined) throw new NoProcessError(`"${this.#address}"`, this.#kernel.node.name);
    return holder.pid;
  }

  /**
   * The same functions with other options: a deadline, an AbortSignal, objects to transfer, or on behalf of a process.
   *
   * @throws OptionError
   * @example await printing.with({ deadlineMs: 100, maxAttempts: 2 }).run.render(order);
   */
  with(options: JobOptions): {
    /** The functions of the worker file, with these options. */
    readonly run: Run<M>;
  } {
    checkJobOptions(options);
    const terms = checkTerms(options, this.#defaults);
    return { run: runOf(this.#kernel, this.#address, terms, options) as Run<M> };
  }

  /**
   * The pool at this moment: its threads, jobs and demand.
   *
   * @throws CallTimeoutError, CalleeExitedError
   */
  stats(options?: CallOptions): Promise<PoolStats> {
    checkCallOptions(options);
    const request = new StatsRequest();
    const promise = request.await(this.#kernel, undefined);
    this.#kernel.calls.request(undefined, this.#address, request, options);
    return promise;
  }

  /**
   * Tells the pool to stop, with reason `shutdown` unless given. Jobs that run are finished; the option `drain` says what becomes
   * of those that wait. A supervisor may restart the pool. Has no effect when the pool has exited.
   *
   * @throws OptionError when the reason is none
   */
  stop(reason: ExitInput = "shutdown"): void {
    const message = new StopPool(toReason(reason));
    const address = this.#address;
    const process = typeof address === "string" ? this.#kernel.names.find(address) : address.process;
    process?.deliver(message);
  }

  /** Stops the pool at the end of an `await using` block, and waits until its threads are gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    const pid =
      typeof this.#address === "string" ? this.#kernel.names.find(this.#address)?.pid : this.#address;
    this.stop();
    if (pid !== undefined) await waitForExit(this.#kernel, pid, undefined);
  }

  /** The pid or the name of the pool. */
  toString(): string {
    return String(this.#address);
  }
}

type Method = (...args: readonly unknown[]) => Promise<unknown>;

/** An object with a method for every name but `then`, so that awaiting the object is no job. */
function runOf(
  kernel: Kernel,
  to: Pid<never> | string,
  terms: Required<JobDefaults>,
  options: JobOptions,
): object {
  const transfer = checkTransfer(options.transfer, terms.maxAttempts);
  const call = { timeoutMs: options.timeoutMs ?? Number.POSITIVE_INFINITY, ...signalOf(options) };
  const methods = new Map<string, Method>();
  const send = (name: string, args: readonly unknown[]): Promise<unknown> => {
    const { from, onProgress } = options;
    // A process that has exited sends no jobs.
    if (from !== undefined && !from.alive) return from.refusal();
    const owner = from?.self.process;
    const job = new JobRequest(name, args, terms, transfer, onProgress);
    const promise = job.await(kernel, owner);
    kernel.calls.request(owner, to, job, call);
    return promise;
  };
  const method = (name: string): Method => {
    let known = methods.get(name);
    if (known === undefined) {
      known = (...args) => send(name, args);
      methods.set(name, known);
    }
    return known;
  };
  return new Proxy(method("default"), {
    get: (_target, name) => (typeof name === "string" && name !== "then" ? method(name) : undefined),
  });
}

function signalOf({ signal }: JobOptions): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}
