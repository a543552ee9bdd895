// The process of a pool: it carries out what pool-machine.ts decides. Its workers are processes linked to it.

import { type Callbacks, deferStart, type StartOutcome } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import { EffectLoop } from "../../process/effect-loop.js";
import type { Signal } from "../../process/entries.js";
import type { Inspected } from "../../process/inspected.js";
import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { crash, type ExitReason, KILL, NORMAL, SHUTDOWN } from "../../process/reason.js";
import { spawnAwaited } from "../../process/start.js";
import { hostParallelism } from "../../process/thread.js";
import { WorkerFileError } from "../../process/thread-errors.js";
import { RestartReports } from "../../supervisor/report.js";
import {
  JobDeadlineError,
  JobLostError,
  NotCloneableError,
  PoolFullError,
  PoolStoppingError,
  UnknownJobError,
} from "./errors.js";
import { JobRequest, type PoolStats, StatsRequest, StopPool, Withdrawal } from "./messages.js";
import { type JobOutcome, PoolMeter } from "./metrics.js";
import { openNodeThread } from "./node-thread.js";
import { configOf, type PoolSettings } from "./options.js";
import { countsOf, decide, type Effect, type Event, initial, type State } from "./pool-machine.js";
import { revive } from "./revive.js";
import { type FromThread, type PackedThrown, SAID } from "./thread.js";
import { type Task, WorkerProcess, WorkerSaid } from "./worker-process.js";

/** The start of a worker has ended. */
class WorkerOutcome {
  readonly worker: number;
  readonly outcome: StartOutcome;
  constructor(worker: number, outcome: StartOutcome) {
    this.worker = worker;
    this.outcome = outcome;
  }
}

interface Member {
  readonly pid: Pid<Task>;
  /** Its start has not ended. */
  starting: boolean;
}

export class PoolProcess implements Callbacks<unknown> {
  readonly #settings: PoolSettings;
  #ctx!: Context<unknown>;
  #kernel!: Kernel;
  #loop!: EffectLoop<State<JobRequest>, Event<JobRequest>, Effect<JobRequest>>;
  #reports!: RestartReports<unknown>;
  #meter!: PoolMeter;
  readonly #members = new Map<number, Member>();
  readonly #numbers = new Map<Pid, number>();
  /** Jobs that run, by the number of the attempt. */
  readonly #running = new Map<number, JobRequest>();
  /** Threads that end. */
  readonly #ending = new Set<Promise<unknown>>();
  /** The functions of the worker file, once it has been loaded. */
  #functions: ReadonlySet<string> | undefined;
  #lastNumber = 0;
  #answered = 0;
  #lost = 0;
  #exitReason: ExitReason = SHUTDOWN;

  constructor(settings: PoolSettings) {
    this.#settings = settings;
  }

  init(ctx: Context<unknown>): unknown {
    this.#ctx = ctx;
    this.#kernel = (ctx.self.process as Process).kernel;
    const { config } = this.#settings;
    const size = configOf(this.#settings, hostParallelism, this.#kernel.env.openThread !== undefined);
    this.#reports = new RestartReports(ctx, config, false);
    this.#loop = new EffectLoop(initial(size), decide<JobRequest>, (effect) => this.#carryOut(effect));
    this.#meter = new PoolMeter(this.#kernel, ctx.self, () => this.#stats());
    this.#loop.dispatch({ type: "boot" });
    return deferStart;
  }

  handle(ctx: Context<unknown>, message: unknown): unknown {
    if (message instanceof WorkerSaid) this.#said(message.worker, message.message);
    else if (message instanceof JobRequest) this.#accept(message);
    else if (message instanceof Withdrawal) this.#withdraw(message.job);
    else if (message instanceof WorkerOutcome) this.#outcome(message);
    else if (message instanceof StatsRequest) message.fulfil(this.#stats());
    else if (message instanceof StopPool) this.#stop(message.reason);
    else this.#kernel.deadLetter(ctx.self, message, "unhandled");
    return undefined;
  }

  signal(_ctx: Context<unknown>, signal: Signal): void {
    if (signal.type !== "exit") return;
    const worker = this.#numbers.get(signal.from);
    if (worker === undefined) return;
    // The outcome of a start that has failed follows its EXIT, and says more.
    if (!(this.#members.get(worker) as Member).starting) this.#exited(worker, signal.reason);
  }

  parentExit(_ctx: Context<unknown>, reason: ExitReason): void {
    this.#stop(reason);
  }

  inspected(): Inspected {
    const jobs = (): readonly string[] => [...this.#running.values()].map(({ method }) => method);
    return {
      kind: "pool",
      state: () => ({ file: this.#settings.file, ...this.#stats(), jobs: jobs() }),
      describe: (message) => (message instanceof JobRequest ? message : undefined),
    };
  }

  #stats(): PoolStats {
    return { ...countsOf(this.#loop.state), answered: this.#answered, lost: this.#lost };
  }

  #stop(reason: ExitReason): void {
    this.#exitReason = reason;
    this.#loop.dispatch({ type: "stop" });
  }

  // ── jobs ────────────────────────────────────────────────────────────────────────────────────────────────────────

  #accept(job: JobRequest): void {
    if (!job.open) return;
    job.trace = this.#kernel.taps?.jobTrace();
    const { self } = this.#ctx;
    job.onClose = () => {
      if (self.process !== undefined) this.#kernel.send(self, new Withdrawal(job));
    };
    this.#meter.accepted(job);
    this.#loop.dispatch({ type: "submit", job });
  }

  #withdraw(job: JobRequest): void {
    this.#meter.ended(job, "withdrawn");
    this.#loop.dispatch({ type: "withdraw", job });
  }

  #post(worker: number, job: JobRequest): void {
    const { method, args, transfer, deadlineMs, trace } = job;
    if (this.#functions?.has(method) === false) {
      const error = new UnknownJobError(this.#settings.file, method, [...this.#functions]);
      this.#fail(job, "rejected", error);
      this.#loop.dispatch({ type: "answered", worker, job, worn: false });
      return;
    }
    const id = ++this.#lastNumber;
    this.#meter.posted(job);
    job.number = id;
    job.worker = worker;
    this.#running.set(id, job);
    if (deadlineMs !== Number.POSITIVE_INFINITY)
      job.deadline = this.#ctx.runAfter(deadlineMs, () => this.#loop.dispatch({ type: "deadline", job }));
    this.#tell(worker, { id, name: method, args, transfer, trace });
  }

  #tell(worker: number, task: Task): void {
    const member = this.#members.get(worker);
    if (member !== undefined) this.#ctx.send(member.pid, task);
  }

  /** The attempt in progress is over. */
  #release(job: JobRequest): void {
    this.#running.delete(job.number);
    if (job.deadline !== undefined) this.#ctx.cancel(job.deadline);
    job.deadline = undefined;
  }

  #said(worker: number, [id, said, value, worn = false]: FromThread): void {
    if (said === SAID.ready) {
      this.#functions = new Set(value as readonly string[]);
      return;
    }
    if (said === SAID.idle) {
      this.#loop.dispatch({ type: "idle", worker });
      return;
    }
    const job = this.#running.get(id);
    if (job === undefined) return;
    if (said === SAID.progress) {
      job.progressed(value);
      return;
    }
    this.#release(job);
    this.#answered++;
    // The worker first: it has been idle since it answered.
    this.#loop.dispatch({ type: "answered", worker, job, worn });
    if (said === SAID.fulfilled) {
      this.#meter.ended(job, "fulfilled");
      job.onClose = undefined;
      job.fulfil(value);
    } else if (said === SAID.rejected) this.#fail(job, "rejected", revive(value as PackedThrown));
    else {
      const [path, cause] = value as readonly [path: string, cause: PackedThrown];
      this.#fail(job, "rejected", new NotCloneableError(job.method, path, revive(cause)));
    }
  }

  #fail(job: JobRequest, outcome: JobOutcome, error: unknown): void {
    this.#meter.ended(job, outcome);
    job.onClose = undefined;
    job.fail(error);
  }

  // ── effects ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #carryOut(effect: Effect<JobRequest>): unknown {
    switch (effect.type) {
      case "post":
        return this.#post(effect.worker, effect.job);
      case "abort":
        return this.#tell(effect.worker, {
          id: effect.job.number,
          name: undefined,
          args: [],
          transfer: undefined,
          trace: undefined,
        });
      case "release":
        return this.#release(effect.job);
      case "refuse":
        return this.#fail(effect.job, effect.why, this.#refusal(effect));
      case "fail":
        this.#lost++;
        return this.#fail(effect.job, effect.why === "deadline" ? "deadline" : "lost", failureOf(effect));
      case "start":
        return this.#start(effect.worker);
      case "ready":
        return this.#ctx.started();
      case "kill":
      case "end": {
        const pid = this.#members.get(effect.worker)?.pid;
        return pid && this.#ctx.exit(pid, effect.type === "kill" ? KILL : SHUTDOWN);
      }
      case "report":
        return this.#report(effect);
      case "give-up":
        return this.#exit(effect.reason);
      case "stopped":
        return this.#stopped();
      default:
        return effect satisfies never;
    }
  }

  #refusal({ job, why }: Effect<JobRequest> & { type: "refuse" }): Error {
    return why === "full"
      ? new PoolFullError(job.method, this.#settings.config.maxQueue)
      : new PoolStoppingError(job.method);
  }

  #report({ worker, reason, intensityLeft }: Effect<JobRequest> & { type: "report" }): void {
    const id = `worker-${worker}`;
    this.#reports.restart({ id, reason, strategy: "one_for_one", siblings: [], intensityLeft, delayMs: 0 });
  }

  // ── workers ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #start(worker: number): void {
    const { file, limits, maxHeapMb, startTimeoutMs } = this.#settings;
    const { minSize, size } = this.#loop.state.config;
    const kernel = this.#kernel;
    // A thread that is kept in any case need not say that it is idle.
    const idleMs = minSize < size ? this.#settings.idleMs : Number.POSITIVE_INFINITY;
    const { self } = this.#ctx;
    const behaviour = new WorkerProcess({
      open: kernel.env.openThread ?? openNodeThread,
      spec: { file, limits, idleMs, maxHeapMb },
      pool: self,
      worker,
      onEnd: (gone) => this.#threadEnds(gone),
    });
    const process = self.process as Process;
    const child = spawnAwaited(kernel, process, behaviour, { label: "worker" }, startTimeoutMs, (outcome) => {
      if (self.process !== undefined) kernel.send(self, new WorkerOutcome(worker, outcome));
    });
    kernel.links.link(process, child.pid, child.exitReason);
    this.#members.set(worker, { pid: child.pid as Pid<Task>, starting: true });
    this.#numbers.set(child.pid, worker);
  }

  #threadEnds(gone: Promise<unknown>): void {
    this.#ending.add(gone);
    const forget = (): void => void this.#ending.delete(gone);
    gone.then(forget, forget);
  }

  #outcome({ worker, outcome }: WorkerOutcome): void {
    const member = this.#members.get(worker);
    if (member === undefined) return;
    member.starting = false;
    if (outcome.type === "started") this.#loop.dispatch({ type: "started", worker });
    else this.#exited(worker, outcome.type === "failed" ? this.#startFailure(outcome.reason) : NORMAL);
  }

  #startFailure(reason: ExitReason): ExitReason {
    if (reason.type === "crash" && reason.error instanceof WorkerFileError) return reason;
    const { file, startTimeoutMs } = this.#settings;
    if (reason.type === "crash")
      return crash(new WorkerFileError(file, "could not be given to a thread", reason.error));
    if (reason.type === "shutdown" && reason.detail !== undefined)
      return crash(new WorkerFileError(file, `was not loaded within ${startTimeoutMs} ms`));
    return reason;
  }

  #exited(worker: number, reason: ExitReason): void {
    this.#numbers.delete((this.#members.get(worker) as Member).pid);
    this.#members.delete(worker);
    this.#loop.dispatch({ type: "exited", worker, reason, at: this.#kernel.env.now() });
  }

  // ── the end ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Threads of killed workers may still end. The pool is over when they are. */
  #stopped(): void {
    const end = (): void => this.#exit(this.#exitReason);
    if (this.#ending.size === 0) end();
    else void Promise.allSettled(this.#ending).then(end);
  }

  #exit(reason: ExitReason): void {
    const { process } = this.#ctx.self;
    if (process !== undefined) this.#kernel.stop(process, reason, undefined);
  }
}

function failureOf({ job, why, reason, attempts }: Effect<JobRequest> & { type: "fail" }): Error {
  return why === "deadline"
    ? new JobDeadlineError(job.method, job.deadlineMs, attempts)
    : new JobLostError(job.method, reason, attempts);
}
