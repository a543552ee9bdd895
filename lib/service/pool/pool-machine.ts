// A pool as a state machine. It decides which job runs on which worker, how many workers there are, and which callers to notify when a
// worker ends.
//
//   job:     submit ──▶ queued ──▶ running ──▶ answered
//               │          ▲          │
//               ▼          │ again    ├─ its worker ends: again, or failed
//            refused       └──────────┘
//
//   worker:  start ──▶ starting ──▶ ready ──▶ retiring ──▶ ending ──▶ exited
//
// The state is changed in place: a job costs two decisions, and copies of tables would cost more than the job. Nothing here
// depends on anything but the events.

import type { ExitReason } from "../../process/reason.js";
import { Queue } from "../../supervisor/queue.js";
import { countRestart, type RestartLimits } from "../../supervisor/restart-rule.js";

/** Options of a pool that the machine decides by. */
export interface Config extends RestartLimits {
  /** Most workers at once, those that end included. */
  readonly size: number;
  /** Workers that are kept when there is nothing to do. */
  readonly minSize: number;
  /** Jobs that a worker runs at once. */
  readonly concurrency: number;
  /** Jobs that may wait, beside those for which a worker starts. */
  readonly maxQueue: number;
  /** Jobs after which a worker is replaced. */
  readonly maxJobs: number;
  /** The jobs that a stopping pool still runs. */
  readonly drain: "running" | "all";
}

/** Options of a job that the machine decides by. */
export interface Terms {
  readonly maxAttempts: number;
  readonly killOnAbort: boolean;
  readonly whenFull: "reject" | "wait";
}

export type Event<J> =
  | { readonly type: "boot" }
  | { readonly type: "submit"; readonly job: J }
  /** The caller does not wait for the job any more. */
  | { readonly type: "withdraw"; readonly job: J }
  /** A worker is ready for jobs. */
  | { readonly type: "started"; readonly worker: number }
  /** A worker has answered a job. `worn`: it is to be replaced. */
  | { readonly type: "answered"; readonly worker: number; readonly job: J; readonly worn: boolean }
  /** A job has run for longer than it may. */
  | { readonly type: "deadline"; readonly job: J }
  /** A worker has had nothing to do for a while. */
  | { readonly type: "idle"; readonly worker: number }
  /** A worker has ended, or could not start. `at` is now, in milliseconds of the system's clock. */
  | { readonly type: "exited"; readonly worker: number; readonly reason: ExitReason; readonly at: number }
  | { readonly type: "stop" };

export type Effect<J> =
  | { readonly type: "start"; readonly worker: number }
  /** The first workers are ready: the pool has started. */
  | { readonly type: "ready" }
  | { readonly type: "post"; readonly worker: number; readonly job: J; readonly attempt: number }
  /** Tell the worker of this job that the job is withdrawn. */
  | { readonly type: "abort"; readonly worker: number; readonly job: J }
  /** The worker of this job has ended. Comes before `post` or `fail`. */
  | { readonly type: "release"; readonly job: J }
  | { readonly type: "refuse"; readonly job: J; readonly why: "full" | "stopping" }
  | {
      readonly type: "fail";
      readonly job: J;
      readonly why: "deadline" | "exited";
      readonly reason: ExitReason;
      readonly attempts: number;
    }
  /** Ends a worker that may be in a loop. */
  | { readonly type: "kill"; readonly worker: number }
  /** Ends a worker that has nothing to do. */
  | { readonly type: "end"; readonly worker: number }
  /** A worker has ended without a job to blame, and is replaced if it is needed. `intensityLeft` is -1 when that was too often. */
  | {
      readonly type: "report";
      readonly worker: number;
      readonly reason: ExitReason;
      readonly intensityLeft: number;
    }
  /** Workers end again and again, or the first ones could not start: the pool ends with this reason. */
  | { readonly type: "give-up"; readonly reason: ExitReason }
  /** The pool has stopped, and has no worker left. */
  | { readonly type: "stopped" };

interface Run<J> {
  readonly job: J;
  attempts: number;
  worker: Worker<J> | undefined;
  /** The caller still waits for its result. */
  wanted: boolean;
  expired: boolean;
}

interface Worker<J> {
  readonly id: number;
  phase: "starting" | "ready" | "retiring" | "ending";
  readonly jobs: Set<Run<J>>;
  done: number;
}

export interface State<J> {
  readonly config: Config;
  phase: "booting" | "running" | "draining" | "stopping" | "over";
  /** All jobs that are not over. */
  readonly runs: Map<J, Run<J>>;
  /** Jobs that lost a worker. They go before those that never had one. */
  readonly again: Set<Run<J>>;
  readonly queue: Set<Run<J>>;
  readonly workers: Map<number, Worker<J>>;
  /** Times of unexpected ends of workers. */
  restarts: Queue<number>;
  lastWorker: number;
}

type Effects<J> = Effect<J>[];

export function initial<J extends Terms>(config: Config): State<J> {
  return {
    config,
    phase: "booting",
    runs: new Map(),
    again: new Set(),
    queue: new Set(),
    workers: new Map(),
    restarts: Queue.of(),
    lastWorker: 0,
  };
}

/** Numbers of a pool, for its statistics. */
export function countsOf<J extends Terms>(
  state: State<J>,
): {
  workers: number;
  ready: number;
  running: number;
  queued: number;
  room: number;
  demand: number;
} {
  const { config, runs, again, queue, workers, phase } = state;
  const waiting = again.size + queue.size;
  const isOpen = phase === "booting" || phase === "running";
  let ready = 0;
  let free = coming(state);
  for (const worker of workers.values()) {
    if (worker.phase === "ready") ready++;
    free += freeSlots(config, worker);
  }
  return {
    workers: workers.size,
    ready,
    running: runs.size - waiting,
    queued: waiting,
    room: isOpen ? Math.max(0, free + config.maxQueue - waiting) : 0,
    demand: isOpen ? Math.max(0, free - waiting) : 0,
  };
}

export function decide<J extends Terms>(
  state: State<J>,
  event: Event<J>,
): readonly [State<J>, readonly Effect<J>[]] {
  const effects: Effects<J> = [];
  if (state.phase === "over" && event.type !== "submit") return [state, effects];
  switch (event.type) {
    case "boot":
      // At least one is started: it shows whether the worker file can be used.
      grow(state, effects);
      break;
    case "submit":
      submit(state, event.job, effects);
      break;
    case "withdraw":
      withdraw(state, event.job, effects);
      break;
    case "started":
      started(state, event.worker, effects);
      break;
    case "answered":
      answered(state, event.worker, event.job, event.worn, effects);
      break;
    case "deadline":
      expired(state, event.job, effects);
      break;
    case "idle":
      idle(state, event.worker, effects);
      break;
    case "exited":
      exited(state, event.worker, event.reason, event.at, effects);
      break;
    case "stop":
      stop(state, effects);
      break;
    default:
      event satisfies never;
  }
  return [state, effects];
}

// ── jobs ──────────────────────────────────────────────────────────────────────────────────────────────────────────

function submit<J extends Terms>(state: State<J>, job: J, effects: Effects<J>): void {
  const { config, phase, queue, again } = state;
  if (phase !== "booting" && phase !== "running") {
    effects.push({ type: "refuse", job, why: "stopping" });
    return;
  }
  const waiting = queue.size + again.size;
  const worker = waiting === 0 ? leastBusy(state) : undefined;
  if (worker === undefined && job.whenFull === "reject" && waiting >= config.maxQueue + coming(state)) {
    effects.push({ type: "refuse", job, why: "full" });
    return;
  }
  const run: Run<J> = { job, attempts: 0, worker: undefined, wanted: true, expired: false };
  state.runs.set(job, run);
  if (worker !== undefined) post(worker, run, effects);
  else {
    queue.add(run);
    grow(state, effects);
  }
}

function post<J extends Terms>(worker: Worker<J>, run: Run<J>, effects: Effects<J>): void {
  run.attempts++;
  run.worker = worker;
  worker.jobs.add(run);
  effects.push({ type: "post", worker: worker.id, job: run.job, attempt: run.attempts });
}

function withdraw<J extends Terms>(state: State<J>, job: J, effects: Effects<J>): void {
  const run = state.runs.get(job);
  if (run === undefined) return;
  run.wanted = false;
  if (run.worker === undefined) {
    state.queue.delete(run);
    state.again.delete(run);
    state.runs.delete(job);
  } else if (job.killOnAbort) kill(run.worker, effects);
  else effects.push({ type: "abort", worker: run.worker.id, job });
  goOn(state, effects);
}

function answered<J extends Terms>(
  state: State<J>,
  id: number,
  job: J,
  worn: boolean,
  effects: Effects<J>,
): void {
  const worker = state.workers.get(id);
  const run = state.runs.get(job);
  if (worker === undefined || run === undefined || !worker.jobs.delete(run)) return;
  state.runs.delete(job);
  worker.done++;
  if ((worn || worker.done >= state.config.maxJobs) && worker.phase === "ready") worker.phase = "retiring";
  if (worker.phase === "retiring" && worker.jobs.size === 0) end(worker, effects);
  goOn(state, effects);
}

function expired<J extends Terms>(state: State<J>, job: J, effects: Effects<J>): void {
  const run = state.runs.get(job);
  if (run?.worker === undefined) return;
  run.expired = true;
  kill(run.worker, effects);
}

/** The worker of a job has ended. The job goes to another worker if it may, else it fails. */
function lose<J extends Terms>(state: State<J>, run: Run<J>, reason: ExitReason, effects: Effects<J>): void {
  const { job, attempts } = run;
  const why = run.expired ? "deadline" : "exited";
  run.worker = undefined;
  run.expired = false;
  effects.push({ type: "release", job });
  if (run.wanted && attempts < job.maxAttempts && state.phase !== "stopping") {
    state.again.add(run);
    return;
  }
  state.runs.delete(job);
  if (run.wanted) effects.push({ type: "fail", job, why, reason, attempts });
}

// ── workers ───────────────────────────────────────────────────────────────────────────────────────────────────────

function start<J>(state: State<J>, effects: Effects<J>): void {
  const id = ++state.lastWorker;
  state.workers.set(id, { id, phase: "starting", jobs: new Set(), done: 0 });
  effects.push({ type: "start", worker: id });
}

function kill<J>(worker: Worker<J>, effects: Effects<J>): void {
  if (worker.phase === "ending") return;
  worker.phase = "ending";
  effects.push({ type: "kill", worker: worker.id });
}

function end<J>(worker: Worker<J>, effects: Effects<J>): void {
  if (worker.phase === "ending") return;
  worker.phase = "ending";
  effects.push({ type: "end", worker: worker.id });
}

function freeSlots<J>({ concurrency, maxJobs }: Config, { phase, jobs, done }: Worker<J>): number {
  return phase === "ready" ? Math.min(concurrency, maxJobs - done) - jobs.size : 0;
}

function leastBusy<J>({ config, workers }: State<J>): Worker<J> | undefined {
  let best: Worker<J> | undefined;
  for (const worker of workers.values()) {
    if (freeSlots(config, worker) <= 0) continue;
    if (worker.jobs.size === 0) return worker;
    if (best === undefined || worker.jobs.size < best.jobs.size) best = worker;
  }
  return best;
}

/** Slots of workers that start, or that the pool may still start. */
function coming<J>({ config, workers }: State<J>): number {
  let coming = config.size - workers.size;
  for (const { phase } of workers.values()) if (phase === "starting") coming++;
  return coming * config.concurrency;
}

function grow<J>(state: State<J>, effects: Effects<J>): void {
  const { config, workers, queue, again } = state;
  let starting = 0;
  let lasting = 0;
  for (const { phase } of workers.values()) {
    if (phase === "starting") starting++;
    if (phase === "starting" || phase === "ready") lasting++;
  }
  const least =
    state.phase === "booting" ? Math.max(1, config.minSize) : state.phase === "running" ? config.minSize : 0;
  while (
    workers.size < config.size &&
    (lasting < least || queue.size + again.size > starting * config.concurrency)
  ) {
    start(state, effects);
    starting++;
    lasting++;
  }
}

/** Does what can be done now: jobs for free workers, workers for jobs, and the next step of a stop. */
function goOn<J extends Terms>(state: State<J>, effects: Effects<J>): void {
  const { phase, again, queue } = state;
  if (phase === "stopping") {
    if (state.workers.size > 0) return;
    state.phase = "over";
    effects.push({ type: "stopped" });
    return;
  }
  while (again.size + queue.size > 0) {
    const worker = leastBusy(state);
    if (worker === undefined) break;
    const line = again.size > 0 ? again : queue;
    for (const run of line) {
      line.delete(run);
      post(worker, run, effects);
      break;
    }
  }
  grow(state, effects);
  if (phase === "draining" && ![...state.runs.values()].some(({ wanted }) => wanted)) endAll(state, effects);
}

function started<J extends Terms>(state: State<J>, id: number, effects: Effects<J>): void {
  const worker = state.workers.get(id);
  if (worker?.phase !== "starting") return;
  worker.phase = "ready";
  if (state.phase === "booting" && [...state.workers.values()].every(({ phase }) => phase === "ready")) {
    state.phase = "running";
    effects.push({ type: "ready" });
  }
  goOn(state, effects);
}

function idle<J>(state: State<J>, id: number, effects: Effects<J>): void {
  const worker = state.workers.get(id);
  if (state.phase !== "running" || worker?.phase !== "ready" || worker.jobs.size > 0) return;
  let lasting = 0;
  for (const { phase } of state.workers.values()) if (phase === "starting" || phase === "ready") lasting++;
  if (lasting > state.config.minSize) end(worker, effects);
}

function exited<J extends Terms>(
  state: State<J>,
  id: number,
  reason: ExitReason,
  at: number,
  effects: Effects<J>,
): void {
  const worker = state.workers.get(id);
  if (worker === undefined) return;
  state.workers.delete(id);
  // The end of a worker that ran a job is the job's doing, and each job has a number of attempts. Any other end that the pool
  // did not want counts: nothing else would limit the starts of workers that fail at once.
  const isUnexplained = worker.phase !== "ending" && worker.jobs.size === 0 && state.phase !== "stopping";
  for (const run of worker.jobs) lose(state, run, reason, effects);
  if (isUnexplained && isTooOften(state, worker, reason, at, effects)) giveUp(state, reason, effects);
  else goOn(state, effects);
}

/** The first starts have no second chance: a worker file that cannot be used fails the start of the pool. */
function isTooOften<J>(
  state: State<J>,
  worker: Worker<J>,
  reason: ExitReason,
  at: number,
  effects: Effects<J>,
): boolean {
  if (state.phase === "booting" && worker.phase === "starting") return true;
  const { restarts, intensityLeft } = countRestart(
    state.config,
    state.restarts,
    { attempts: 0, ranForMs: 0 },
    at,
    0,
  );
  state.restarts = restarts;
  effects.push({ type: "report", worker: worker.id, reason, intensityLeft });
  return intensityLeft < 0;
}

function giveUp<J extends Terms>(state: State<J>, reason: ExitReason, effects: Effects<J>): void {
  state.phase = "over";
  for (const { job, attempts, wanted } of state.runs.values())
    if (wanted) effects.push({ type: "fail", job, why: "exited", reason, attempts });
  state.runs.clear();
  effects.push({ type: "give-up", reason });
}

// ── the stop ──────────────────────────────────────────────────────────────────────────────────────────────────────

function stop<J extends Terms>(state: State<J>, effects: Effects<J>): void {
  const { config, phase, again, queue, runs } = state;
  if (phase === "draining" || phase === "stopping") return;
  state.phase = "draining";
  if (config.drain === "running" || phase === "booting") {
    for (const { job } of [...again, ...queue]) {
      runs.delete(job);
      effects.push({ type: "refuse", job, why: "stopping" });
    }
    again.clear();
    queue.clear();
  }
  goOn(state, effects);
}

/** Ends all workers at once: their results are not needed any more. */
function endAll<J extends Terms>(state: State<J>, effects: Effects<J>): void {
  state.phase = "stopping";
  for (const worker of state.workers.values()) end(worker, effects);
  goOn(state, effects);
}
