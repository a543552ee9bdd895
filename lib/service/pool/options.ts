// The options of pools and jobs, their defaults in one table, and their checks.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { among, asGiven, checked, maybe, ms, whole } from "../../process/option-schema.js";
import { flag, text } from "../../process/options.js";
import type { ThreadLimits } from "../../process/thread.js";
import { megabytes, moduleUrl, threadLimits } from "../../process/thread-options.js";
import type { Config } from "./pool-machine.js";

/** Options of one job, and the defaults of a pool for its jobs. */
export interface JobDefaults {
  /**
   * Milliseconds that the job may run, waits in the queue excluded. A job that runs longer is lost: its worker is killed and
   * replaced. `Infinity` for no deadline. Default 30,000.
   */
  readonly deadlineMs?: number;
  /**
   * How many workers may run the job, one after the other, if they end under it: by the deadline of the job or otherwise. Use 2
   * or more only for functions that may run twice. Default 1.
   */
  readonly maxAttempts?: number;
  /**
   * Whether the worker is killed when a running job is withdrawn: its caller has exited, its signal is aborted, or
   * its timeout is over. Otherwise the job goes on and its result is dropped. Default false.
   */
  readonly killOnAbort?: boolean;
  /** The fate of a job that finds a full queue: PoolFullError, or a wait behind the queue. Default `reject`. */
  readonly whenFull?: "reject" | "wait";
}

/** Options of a pool. */
export interface PoolOptions extends JobDefaults {
  /** Most threads at once. Default: as many as the host can run at the same time; 2 under the simulator. */
  readonly size?: number;
  /** Threads that are kept when there is nothing to do, and started with the pool. Default: `size`. */
  readonly minSize?: number;
  /** Milliseconds without a job after which a thread above `minSize` ends. Default 10,000. */
  readonly idleMs?: number;
  /**
   * Jobs that a thread runs at once. More than 1 is of use for asynchronous functions. A thread that ends takes all of its jobs with
   * it. Default 1.
   */
  readonly concurrency?: number;
  /** Jobs that may wait for a thread, beside those for which a thread starts. Default 1,000. */
  readonly maxQueue?: number;
  /** Jobs after which a thread is replaced. Default `Infinity`. */
  readonly maxJobs?: number;
  /** A thread is replaced after a job if its heap is larger than this, in megabytes. Default `Infinity`. */
  readonly maxHeapMb?: number;
  /** Limits on the memory of a thread. A thread that exceeds them ends, and its jobs are lost. Default: those of the host. */
  readonly resourceLimits?: ThreadLimits;
  /**
   * The jobs that a stopping pool still runs. `running` refuses them and waits for the jobs that run; `all` runs them
   * too. The shutdown time of the pool, an option of its child spec, limits both. Default `running`.
   */
  readonly drain?: "running" | "all";
  /** Milliseconds that a thread may take to load the worker file. Default 30,000. */
  readonly startTimeoutMs?: number;
  /**
   * How many workers may end within `periodMs` without a job to blame. After one more the pool exits with the last worker's
   * reason. Default 3.
   */
  readonly intensity?: number;
  /** The sliding window for `intensity`, in milliseconds. Default 5,000. */
  readonly periodMs?: number;
  /** The name of the pool in reports. Default `pool`. */
  readonly label?: string;
  /** Registers the pool under this name. */
  readonly name?: string;
}

/** The limits of a pool and of its jobs. */
export const POOL_DEFAULTS: {
  /** Milliseconds that a job may run. */
  readonly deadlineMs: number;
  /** How many workers may run a job. */
  readonly maxAttempts: number;
  /** Whether the worker of a withdrawn job is killed. */
  readonly killOnAbort: boolean;
  /** The fate of a job that finds a full queue. */
  readonly whenFull: "reject" | "wait";
  /** The jobs that a stopping pool still runs. */
  readonly drain: "running" | "all";
  /** Milliseconds without a job after which a thread above `minSize` ends. */
  readonly idleMs: number;
  /** Jobs that a thread runs at once. */
  readonly concurrency: number;
  /** Jobs that may wait. */
  readonly maxQueue: number;
  /** Jobs after which a thread is replaced. */
  readonly maxJobs: number;
  /** Heap in megabytes after which a thread is replaced. */
  readonly maxHeapMb: number;
  /** Milliseconds that a thread may take to load the worker file. */
  readonly startTimeoutMs: number;
  /** How many workers may end within `periodMs` without a job to blame. */
  readonly intensity: number;
  /** The sliding window for `intensity`, in milliseconds. */
  readonly periodMs: number;
} = {
  deadlineMs: 30_000,
  maxAttempts: 1,
  killOnAbort: false,
  whenFull: "reject",
  drain: "running",
  idleMs: 10_000,
  concurrency: 1,
  maxQueue: 1_000,
  maxJobs: Number.POSITIVE_INFINITY,
  maxHeapMb: Number.POSITIVE_INFINITY,
  startTimeoutMs: 30_000,
  intensity: 3,
  periodMs: 5_000,
};

/** Most threads under the simulator. It does not depend on the machine, so that a schedule is the same everywhere. */
const SIMULATED_SIZE = 2;

const FOREVER = Number.POSITIVE_INFINITY;
const JOB_CHECKS = {
  deadlineMs: ms(1, FOREVER),
  maxAttempts: whole(1, FOREVER),
  killOnAbort: flag,
  whenFull: among("reject", "wait"),
};
const JOB_OPTIONS = [...Object.keys(JOB_CHECKS), "timeoutMs", "signal", "transfer", "onProgress", "from"];
const POOL_CHECKS = {
  size: maybe(whole(1)),
  minSize: maybe(whole(0)),
  idleMs: ms(1, FOREVER),
  concurrency: whole(1),
  maxQueue: whole(0, FOREVER),
  maxJobs: whole(1, FOREVER),
  maxHeapMb: megabytes,
  resourceLimits: maybe(threadLimits),
  drain: among("running", "all"),
  startTimeoutMs: ms(1, FOREVER),
  intensity: whole(0, FOREVER),
  periodMs: ms(1, FOREVER),
  label: asGiven<string>(),
  name: asGiven<string>(),
  ...JOB_CHECKS,
};

/** Options of a pool with all defaults filled in. */
export interface PoolSettings {
  readonly file: string;
  /** Undefined for as many as the host can run. */
  readonly size: number | undefined;
  readonly minSize: number | undefined;
  readonly config: Omit<Config, "size" | "minSize">;
  readonly idleMs: number;
  readonly maxHeapMb: number;
  readonly limits: ThreadLimits | undefined;
  readonly startTimeoutMs: number;
  readonly job: Required<JobDefaults>;
}

/** @throws OptionError */
export function checkPool(file: URL | string, options: PoolOptions): PoolSettings {
  const given = checked("", options, POOL_CHECKS, POOL_DEFAULTS);
  const { size, minSize, concurrency, maxQueue, maxJobs, drain, intensity, periodMs } = given;
  const { deadlineMs, maxAttempts, killOnAbort, whenFull } = given;
  if (size !== undefined && minSize !== undefined && minSize > size)
    throw new OptionError("minSize", minSize, `at most the size, which is ${size}`);
  return {
    file: moduleUrl("url", file),
    size,
    minSize,
    config: { concurrency, maxQueue, maxJobs, drain, intensity, periodMs, backoff: undefined },
    idleMs: given.idleMs,
    maxHeapMb: given.maxHeapMb,
    limits: given.resourceLimits,
    startTimeoutMs: given.startTimeoutMs,
    job: { deadlineMs, maxAttempts, killOnAbort, whenFull },
  };
}

/** The machine's options, once the host is known. @throws OptionError */
export function configOf(
  { size, minSize, config }: PoolSettings,
  parallelism: () => number,
  simulated: boolean,
): Config {
  const most = size ?? (simulated ? SIMULATED_SIZE : parallelism());
  return {
    ...config,
    size: Math.max(most, size === undefined ? (minSize ?? 0) : 0),
    minSize: minSize ?? most,
  };
}

/** @throws OptionError */
export function checkJobOptions(options: object): void {
  only("", options, JOB_OPTIONS);
}

/** @throws OptionError */
export function checkTerms(given: JobDefaults, defaults: Required<JobDefaults>): Required<JobDefaults> {
  const { deadlineMs, maxAttempts, killOnAbort, whenFull } = JOB_CHECKS;
  return {
    deadlineMs: deadlineMs("deadlineMs", given.deadlineMs ?? defaults.deadlineMs),
    maxAttempts: maxAttempts("maxAttempts", given.maxAttempts ?? defaults.maxAttempts),
    killOnAbort: killOnAbort("killOnAbort", given.killOnAbort ?? defaults.killOnAbort),
    whenFull: whenFull("whenFull", given.whenFull ?? defaults.whenFull),
  };
}

/** Objects to move to the worker. They are gone after the first attempt, so there is no second. @throws OptionError */
export function checkTransfer(transfer: unknown, maxAttempts: number): readonly object[] | undefined {
  if (transfer === undefined) return undefined;
  const isList = Array.isArray(transfer) && transfer.every((one) => typeof one === "object" && one !== null);
  if (!isList) throw new OptionError("transfer", transfer, "an array of objects that can be transferred");
  if (transfer.length > 0 && maxAttempts > 1)
    throw new OptionError("transfer", transfer, "absent when maxAttempts is more than 1");
  return transfer;
}

/** How the process of a pool is spawned. @throws OptionError */
export function namingOf({ label, name }: PoolOptions): { label: string; name?: string; trapExit: true } {
  return {
    label: text("label", label ?? "pool"),
    trapExit: true,
    ...(name === undefined ? {} : { name: text("name", name) }),
  };
}
