// A worker of a route: it takes messages through the adapters, one after another. It writes the outcome of each into the run. Its
// processor reads the run, also when the worker has crashed.

import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import { InvariantError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import type { WorkTap } from "../../process/taps.js";
import { isThenable } from "../../process/thenable.js";
import type { RouteOutcome } from "../../service/telemetry/pipeline-taps.js";
import type { Ledger, Message } from "../ledger/ledger.js";
import { type AttemptContext, NOT_BEGUN, RouteAttempt, type Segment } from "./attempt.js";
import { type BatchOutcome, type BatchRun, emitBatch } from "./batch-run.js";
import type { RoutePlan } from "./plan.js";
import { refusal } from "./verdict.js";

/** Messages that a worker was given. Changed in place by the worker, read by the processor. */
export interface MessageRun {
  readonly worker: number;
  readonly messages: readonly Message[];
  /** The attempts at the first messages, in their order, with their outcomes. */
  readonly ended: RouteAttempt[];
  /** The attempt at the message at hand, which is the one behind those that have ended. */
  atHand: RouteAttempt | undefined;
  /** A breaker did not admit the message at hand: it and those behind it go back. */
  isHeld: boolean;
  /** The processor was notified of attempts that it has not read. */
  isTold: boolean;
  /** How long the last attempt took, in milliseconds, if attempts are measured. */
  tookMs: number;
}

/** Told by a worker: outcomes were added to its run. */
export interface WorkerProgress {
  readonly type: "progress";
  readonly run: MessageRun | BatchRun;
}

export interface WorkerSettings {
  readonly kernel: Kernel;
  readonly ledger: Ledger;
  readonly plan: RoutePlan;
  readonly context: AttemptContext;
  /** All attempts are measured; else those alone that wait for an adapter, for their limit of time. */
  readonly isMeasured: boolean;
  readonly processor: Pid<WorkerProgress>;
}

/** Runs code of adapters in the name of a message. */
function inName<T>(message: Message, fn: () => T): T {
  return message.run === undefined ? fn() : message.run(fn);
}

/** Runs code of an attempt in the name of its message, and within its span. */
function named<T>({ message }: RouteAttempt, tap: WorkTap<RouteOutcome> | undefined, fn: () => T): T {
  return tap === undefined ? inName(message, fn) : tap.around(() => inName(message, fn));
}

/** Apart from the worker's method: an attempt of a message without a name makes no closure. */
function beginNamed(
  attempt: RouteAttempt,
  tap: WorkTap<RouteOutcome> | undefined,
  segment: Segment,
): PromiseLike<unknown> | undefined {
  return named(attempt, tap, () => attempt.begin(segment));
}

/**
 * The behaviour of a worker. When an attempt takes too long its processor aborts it, and the worker waits for its adapter: so long it keeps
 * its permit. An adapter that does not end all the same is left behind: the processor ends the worker, and its exit returns the permit.
 */
export class Worker implements Callbacks<MessageRun | BatchRun> {
  readonly #settings: WorkerSettings;
  /** A run with attempts that have ended, of which the processor will be notified when the timer fires. */
  #untold: MessageRun | undefined;
  #isTelling = false;

  constructor(settings: WorkerSettings) {
    this.#settings = settings;
  }

  handle(ctx: Context<MessageRun | BatchRun>, run: MessageRun | BatchRun): unknown {
    return "batch" in run ? this.#batch(ctx, run) : this.#messages(ctx, run);
  }

  /** Takes messages through the adapters. There is no promise as long as adapters answer at once. */
  #messages(ctx: Context<MessageRun | BatchRun>, run: MessageRun): unknown {
    for (let attempt = this.#next(ctx, run); attempt !== undefined; attempt = this.#next(ctx, run)) {
      const wait = this.#begin(ctx, run, attempt);
      if (wait !== undefined) return this.#late(ctx, run, attempt, wait);
    }
    this.#tell(ctx, run);
    return undefined;
  }

  /** Goes on with an adapter that has promised its answer: one wait for each such adapter, and nothing around it. */
  async #late(
    ctx: Context<MessageRun | BatchRun>,
    run: MessageRun,
    first: RouteAttempt,
    promise: PromiseLike<unknown>,
  ): Promise<void> {
    let wait: PromiseLike<unknown> | undefined = promise;
    for (
      let attempt: RouteAttempt | undefined = first;
      attempt !== undefined;
      attempt = this.#next(ctx, run)
    ) {
      if (attempt !== first) wait = this.#begin(ctx, run, attempt);
      if (wait !== undefined) {
        if (run.ended.length > 0) this.#tellSoon(ctx, run);
        if (attempt.beganMs === NOT_BEGUN) attempt.beganMs = this.#now();
      }
      while (wait !== undefined) {
        let given: unknown;
        try {
          given = await wait;
        } catch (error) {
          // A worker that has exited changes nothing any more: its processor has taken the message back.
          if (!ctx.alive) return;
          this.#end(run, attempt, "failed", attempt.overdue ?? error);
          break;
        }
        if (!ctx.alive) return;
        if (attempt.overdue !== undefined) {
          this.#end(run, attempt, "failed", attempt.overdue);
          break;
        }
        wait = this.#resume(run, attempt, given);
      }
    }
    this.#tell(ctx, run);
  }

  /** The next message of a run, unless the run goes back. Those that are not let in have failed. */
  #next(ctx: Context<MessageRun | BatchRun>, run: MessageRun): RouteAttempt | undefined {
    const { messages, ended } = run;
    const { context, plan, isMeasured } = this.#settings;
    while (ended.length < messages.length && !run.isHeld) {
      const message = messages[ended.length] as Message;
      const attempt = new RouteAttempt(context, message, ctx);
      const refused = refusal(plan.rules, message);
      if (refused === undefined) {
        if (isMeasured) attempt.beganMs = this.#now();
        run.atHand = attempt;
        return attempt;
      }
      this.#end(run, attempt, "failed", refused);
    }
    return undefined;
  }

  /** Returns what to wait for; undefined if the attempt is over. */
  #begin(
    ctx: Context<MessageRun | BatchRun>,
    run: MessageRun,
    attempt: RouteAttempt,
  ): PromiseLike<unknown> | undefined {
    const { segment } = this.#settings.plan;
    const tap = attempt.follow(ctx.self.process as Process, 1);
    try {
      const isPlain = tap === undefined && attempt.message.run === undefined;
      const wait = isPlain ? attempt.begin(segment) : beginNamed(attempt, tap, segment);
      return wait ?? this.#end(run, attempt, "passed");
    } catch (error) {
      return this.#end(run, attempt, "failed", error);
    }
  }

  #resume(run: MessageRun, attempt: RouteAttempt, given: unknown): PromiseLike<unknown> | undefined {
    try {
      const wait = named(attempt, attempt.tap, () => attempt.resume(given));
      return wait ?? this.#end(run, attempt, "passed");
    } catch (error) {
      return this.#end(run, attempt, "failed", error);
    }
  }

  #end(run: MessageRun, attempt: RouteAttempt, outcome: "passed" | "failed", error?: unknown): undefined {
    attempt.end(outcome, error);
    run.atHand = undefined;
    if (attempt.isHeld) {
      run.isHeld = true;
      return;
    }
    run.tookMs = this.#tookMs(attempt);
    run.ended.push(attempt);
  }

  #batch(ctx: Context<MessageRun | BatchRun>, run: BatchRun): unknown {
    const { plan, context, ledger } = this.#settings;
    const first = run.batch.members[0];
    if (plan.batch === undefined || first === undefined)
      throw new InvariantError("batches go to routes with a batch");
    const attempt = new RouteAttempt(context, first.message, ctx);
    attempt.beganMs = this.#now();
    run.atHand = attempt;
    const { batch } = run;
    const { batch: batchPlan } = plan;
    const tap = attempt.follow(ctx.self.process as Process, batch.members.length);
    const emitted = (): BatchOutcome | Promise<BatchOutcome> => emitBatch(batchPlan, context, attempt, batch);
    const emit = (): BatchOutcome | Promise<BatchOutcome> => {
      if (batch.members.length === 1) return inName(first.message, emitted);
      return ledger.runBatch === undefined ? emitted() : ledger.runBatch(plan.queue, emitted);
    };
    const outcome = tap === undefined ? emit() : tap.around(emit);
    const ended = (given: BatchOutcome): void => {
      const { overdue } = attempt;
      const of: BatchOutcome = overdue === undefined ? given : { type: "failed", error: overdue };
      attempt.end(of.type === "emitted" ? "passed" : "failed", undefined);
      run.tookMs = this.#tookMs(attempt);
      run.outcome = attempt.isHeld ? { type: "held" } : of;
      this.#tell(ctx, run);
    };
    if (!isThenable(outcome)) return ended(outcome as BatchOutcome);
    return (outcome as Promise<BatchOutcome>).then((of) => {
      if (ctx.alive) ended(of);
    });
  }

  #tookMs({ beganMs }: RouteAttempt): number {
    return this.#settings.isMeasured ? this.#now() - beganMs : 0;
  }

  #now(): number {
    return this.#settings.kernel.env.now();
  }

  /** Finished messages need not wait for slow ones; but those that finish within one turn of the event loop are reported together. */
  #tellSoon(ctx: Context<MessageRun | BatchRun>, run: MessageRun): void {
    this.#untold = run;
    if (this.#isTelling) return;
    this.#isTelling = true;
    // A timer of the process would wait for the adapter, as its messages do.
    const fire = (): void => {
      this.#isTelling = false;
      if (this.#untold !== undefined && ctx.alive) this.#tell(ctx, this.#untold);
    };
    this.#settings.kernel.addTimer(0, { fire });
  }

  /** One notification is enough until the processor has read it. */
  #tell(ctx: Context<MessageRun | BatchRun>, run: MessageRun | BatchRun): void {
    this.#untold = undefined;
    if (run.isTold) return;
    run.isTold = true;
    ctx.send(this.#settings.processor, { type: "progress", run });
  }
}
