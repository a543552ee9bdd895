// The messages from callers to a pool.

import type { Context } from "../../process/context.js";
import { outside } from "../../process/origin.js";
import type { TimerRef } from "../../process/owned-timer.js";
import type { ExitReason } from "../../process/reason.js";
import { Request } from "../../process/request.js";
import type { JobTrace } from "../telemetry/edges.js";
import type { JobDefaults } from "./options.js";
import type { Terms } from "./pool-machine.js";

/** A job as the pool receives it: the request itself is the message. */
export class JobRequest extends Request implements Terms {
  /** The name of the function. */
  readonly method: string;
  readonly args: readonly unknown[];
  readonly maxAttempts: number;
  readonly deadlineMs: number;
  readonly killOnAbort: boolean;
  readonly whenFull: "reject" | "wait";
  readonly transfer: readonly object[] | undefined;
  readonly onProgress: ((value: unknown) => void) | undefined;
  /** Number of the attempt in progress, unique in the pool. */
  number = 0;
  /** The worker that runs it. */
  worker = 0;
  deadline: TimerRef | undefined = undefined;
  /** The trace of the job, if the system is traced. */
  trace: JobTrace | undefined = undefined;

  constructor(
    method: string,
    args: readonly unknown[],
    { maxAttempts, deadlineMs, killOnAbort, whenFull }: Required<JobDefaults>,
    transfer: readonly object[] | undefined,
    onProgress: ((value: unknown) => void) | undefined,
  ) {
    super();
    this.method = method;
    this.args = args;
    this.maxAttempts = maxAttempts;
    this.deadlineMs = deadlineMs;
    this.killOnAbort = killOnAbort;
    this.whenFull = whenFull;
    this.transfer = transfer;
    this.onProgress = onProgress;
    this.message = this;
  }

  /** Reports progress as code of the caller. An error of its callback ends the job, as a failure of the caller's. */
  progressed(value: unknown): void {
    const { owner, onProgress } = this;
    if (onProgress === undefined || !this.open) return;
    const report = async (): Promise<void> => {
      try {
        await onProgress(value);
      } catch (error) {
        this.fail(error);
      }
    };
    if (owner === undefined) outside(() => void report());
    else owner.perform(() => void report());
  }
}

/** The caller does not wait for its job any more. */
export class Withdrawal {
  readonly job: JobRequest;
  constructor(job: JobRequest) {
    this.job = job;
  }
}

/** Asks for the statistics of a pool. */
export class StatsRequest extends Request<PoolStats> {
  constructor() {
    super();
    this.message = this;
  }
}

/** Stops a pool. */
export class StopPool {
  readonly reason: ExitReason;
  constructor(reason: ExitReason) {
    this.reason = reason;
  }
}

/** A pool at one moment. */
export interface PoolStats {
  /** Threads, those that start or end included. */
  readonly workers: number;
  /** Threads that have loaded the worker file. */
  readonly ready: number;
  /** Jobs that run. */
  readonly running: number;
  /** Jobs that wait. */
  readonly queued: number;
  /** How many more jobs the pool accepts before a caller meets a full queue. */
  readonly room: number;
  /** How many more jobs would begin at once, or as soon as their threads have started. */
  readonly demand: number;
  /** Jobs that have returned or thrown since the pool started. */
  readonly answered: number;
  /** Jobs that were lost with their worker, each counted once. */
  readonly lost: number;
}

/** The process in whose name jobs are sent. */
export type Sender = Context<never> | Context<unknown>;
