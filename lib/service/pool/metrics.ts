// The counts and times of a pool for the metrics of its system.

import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import type { Instrument, Instruments } from "../telemetry/instruments.js";
import { addGauges, type GaugeSource, type TakeGauge } from "../telemetry/sources.js";
import type { JobRequest, PoolStats } from "./messages.js";

function seconds(name: string, help: string): Instrument {
  return { name: `signalbox.pool.${name}`, kind: "histogram", unit: "s", help, labels: ["pool"] };
}

function gauge(name: string, unit: string, help: string, ...labels: readonly string[]): Instrument {
  return { name: `signalbox.pool.${name}`, kind: "gauge", unit, help, labels: ["pool", ...labels] };
}

/** In the order of the page. */
export const POOL_METRICS: Instruments<"threads" | "queued" | "running" | "jobs" | "wait" | "run"> = {
  threads: gauge("threads", "{thread}", "Threads of a pool, by state: ready, changing.", "state"),
  queued: gauge("queued", "{job}", "Jobs that wait for a thread."),
  running: gauge("running", "{job}", "Jobs that run."),
  jobs: {
    name: "signalbox.pool.jobs",
    kind: "counter",
    unit: "{job}",
    help: "Jobs that have ended. Those that are fulfilled or rejected were answered by a thread.",
    labels: ["pool", "outcome"],
  },
  wait: seconds("job.wait", "From the arrival of a job to a thread that takes it."),
  run: seconds("job.duration", "From a job's thread that takes it to the end of the job."),
};

/** How a job ended. */
export type JobOutcome =
  | "fulfilled"
  | "rejected"
  /** It ran too long. */
  | "deadline"
  /** Its thread ended. */
  | "lost"
  /** The queue was full. */
  | "full"
  /** The pool was stopping. */
  | "stopping"
  /** The caller does not wait for it any more. */
  | "withdrawn";

export class PoolMeter implements GaugeSource {
  readonly #kernel: Kernel;
  readonly #pid: Pid;
  readonly #stats: () => PoolStats;
  /** Since when jobs wait or run. Only jobs that came while metrics were in use. */
  readonly #since = new Map<JobRequest, { readonly at: number; readonly runs: boolean }>();

  constructor(kernel: Kernel, pid: Pid, stats: () => PoolStats) {
    this.#kernel = kernel;
    this.#pid = pid;
    this.#stats = stats;
    addGauges(kernel, this);
  }

  gauges(take: TakeGauge): void {
    if (this.#pid.process === undefined) return;
    const { workers, ready, queued, running } = this.#stats();
    const label = this.#label;
    take(POOL_METRICS.threads, ready, label, "ready");
    take(POOL_METRICS.threads, workers - ready, label, "changing");
    take(POOL_METRICS.queued, queued, label);
    take(POOL_METRICS.running, running, label);
  }

  accepted(job: JobRequest): void {
    if (this.#kernel.taps !== undefined) this.#since.set(job, { at: this.#kernel.env.now(), runs: false });
  }

  posted(job: JobRequest): void {
    const since = this.#since.get(job);
    if (since === undefined) return;
    const now = this.#kernel.env.now();
    if (!since.runs) this.#kernel.taps?.observe(POOL_METRICS.wait, (now - since.at) / 1_000, this.#label);
    this.#since.set(job, { at: now, runs: true });
  }

  /** The job is over. A job whose caller does not wait any more is counted as withdrawn, and only once. */
  ended(job: JobRequest, outcome: JobOutcome): void {
    const since = this.#since.get(job);
    this.#since.delete(job);
    const { taps, env } = this.#kernel;
    if (taps === undefined || (outcome !== "withdrawn" && !job.open)) return;
    const label = this.#label;
    taps.count(POOL_METRICS.jobs, 1, label, outcome);
    if (since?.runs) taps.observe(POOL_METRICS.run, (env.now() - since.at) / 1_000, label);
  }

  get #label(): string {
    return this.#pid.label ?? "pool";
  }
}
