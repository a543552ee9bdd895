// A worker of a route: it takes messages through the adapters, one after another. It writes the outcome of each into the run. Its
// processor reads the run, also when the worker has crashed.

import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import { InvariantError } from "../../process/errors.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import type { WorkTap } from "../../process/taps.js";
import { isThenable } from "../../process/thenable.js";
import type { RouteOutcome } from "../../service/telemetry/pipeline-taps.js";
import type { Message } from "../ledger/ledger.js";
import { type BatchOutcome, type BatchRun, emitBatch } from "./batch-run.js";
import { NOT_BEGUN, Passage, type PassageContext, type Segment } from "./passage.js";
import type { BatchPlan } from "./plan.js";

/** Messages that a worker was given. Changed in place by the worker, read by the processor. */
export interface Run {
  readonly worker: number;
  readonly messages: readonly Message[];
  /** The attempts at the first messages, in their order, with their outcomes. */
  readonly ended: Passage[];
  /** The attempt at the message at hand, which is the one behind those that have ended. */
  atHand: Passage | undefined;
  /** A breaker did not admit the message at hand: it and those behind it go back. */
  isHeld: boolean;
  /** The processor was notified of attempts that it has not read. */
  isTold: boolean;
  /** How long the last attempt took, in milliseconds, if attempts are measured. */
  tookMs: number;
}

/** Told by a worker: outcomes were added to its run. */
export interface Progress {
  readonly type: "progress";
  readonly run: Run | BatchRun;
}

export interface WorkerSettings {
  readonly place: PassageContext;
  readonly segment: Segment;
  readonly batch: BatchPlan | undefined;
  /** Why a message is not let in, if it is not. */
  readonly refusal: (message: Message) => Error | undefined;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** All attempts are measured; else those alone that wait for an adapter, for their limit of time. */
  readonly isMeasured: boolean;
  readonly processor: Pid<Progress>;
  /** Runs the code of a batch of several messages, so that it is known what ends a process. */
  runBatch<T>(fn: () => T): T;
}

/** Runs code of adapters in the name of a message. */
function inName<T>(message: Message, fn: () => T): T {
  return message.run === undefined ? fn() : message.run(fn);
}

/** Runs code of an attempt in the name of its message, and within its span. */
function named<T>({ message }: Passage, tap: WorkTap<RouteOutcome> | undefined, fn: () => T): T {
  return tap === undefined ? inName(message, fn) : tap.around(() => inName(message, fn));
}

/** Apart from the worker's method: an attempt of a message without a name makes no closure. */
function beginNamed(
  passage: Passage,
  tap: WorkTap<RouteOutcome> | undefined,
  segment: Segment,
): PromiseLike<unknown> | undefined {
  return named(passage, tap, () => passage.begin(segment));
}

/**
 * The behaviour of a worker. When an attempt takes too long its processor aborts it, and the worker waits for its adapter: so long it keeps
 * its permit. An adapter that does not end all the same is left behind: the processor ends the worker, and its exit returns the permit.
 */
export class Worker implements Callbacks<Run | BatchRun> {
  readonly #settings: WorkerSettings;
  /** A run with attempts that have ended, of which the processor will be notified when the timer fires. */
  #untold: Run | undefined;
  #isTelling = false;

  constructor(settings: WorkerSettings) {
    this.#settings = settings;
  }

  handle(ctx: Context<Run | BatchRun>, run: Run | BatchRun): unknown {
    return "batch" in run ? this.#batch(ctx, run) : this.#messages(ctx, run);
  }

  /** Takes messages through the adapters. There is no promise as long as adapters answer at once. */
  #messages(ctx: Context<Run | BatchRun>, run: Run): unknown {
    for (let passage = this.#next(ctx, run); passage !== undefined; passage = this.#next(ctx, run)) {
      const wait = this.#begin(ctx, run, passage);
      if (wait !== undefined) return this.#late(ctx, run, passage, wait);
    }
    this.#tell(ctx, run);
    return undefined;
  }

  /** Goes on with an adapter that has promised its answer: one wait for each such adapter, and nothing around it. */
  async #late(
    ctx: Context<Run | BatchRun>,
    run: Run,
    first: Passage,
    promise: PromiseLike<unknown>,
  ): Promise<void> {
    let wait: PromiseLike<unknown> | undefined = promise;
    for (let passage: Passage | undefined = first; passage !== undefined; passage = this.#next(ctx, run)) {
      if (passage !== first) wait = this.#begin(ctx, run, passage);
      if (wait !== undefined) {
        if (run.ended.length > 0) this.#tellSoon(ctx, run);
        if (passage.beganMs === NOT_BEGUN) passage.beganMs = this.#settings.now();
      }
      while (wait !== undefined) {
        let given: unknown;
        try {
          given = await wait;
        } catch (error) {
          // A worker that has exited changes nothing any more: its processor has taken the message back.
          if (!ctx.alive) return;
          this.#end(run, passage, "failed", passage.overdue ?? error);
          break;
        }
        if (!ctx.alive) return;
        if (passage.overdue !== undefined) {
          this.#end(run, passage, "failed", passage.overdue);
          break;
        }
        wait = this.#resume(run, passage, given);
      }
    }
    this.#tell(ctx, run);
  }

  /** The next message of a run, unless the run goes back. Those that are not let in have failed. */
  #next(ctx: Context<Run | BatchRun>, run: Run): Passage | undefined {
    const { messages, ended } = run;
    const { place, refusal, isMeasured, now } = this.#settings;
    while (ended.length < messages.length && !run.isHeld) {
      const message = messages[ended.length] as Message;
      const passage = new Passage(place, message, ctx);
      const refused = refusal(message);
      if (refused === undefined) {
        if (isMeasured) passage.beganMs = now();
        run.atHand = passage;
        return passage;
      }
      this.#end(run, passage, "failed", refused);
    }
    return undefined;
  }

  /** Returns what to wait for; undefined if the attempt is over. */
  #begin(ctx: Context<Run | BatchRun>, run: Run, passage: Passage): PromiseLike<unknown> | undefined {
    const { segment } = this.#settings;
    const tap = passage.follow(ctx.self.process as Process, 1);
    try {
      const isPlain = tap === undefined && passage.message.run === undefined;
      const wait = isPlain ? passage.begin(segment) : beginNamed(passage, tap, segment);
      return wait ?? this.#end(run, passage, "passed");
    } catch (error) {
      return this.#end(run, passage, "failed", error);
    }
  }

  #resume(run: Run, passage: Passage, given: unknown): PromiseLike<unknown> | undefined {
    try {
      const wait = named(passage, passage.tap, () => passage.resume(given));
      return wait ?? this.#end(run, passage, "passed");
    } catch (error) {
      return this.#end(run, passage, "failed", error);
    }
  }

  #end(run: Run, passage: Passage, outcome: "passed" | "failed", error?: unknown): undefined {
    passage.end(outcome, error);
    run.atHand = undefined;
    if (passage.isHeld) {
      run.isHeld = true;
      return;
    }
    run.tookMs = this.#tookMs(passage);
    run.ended.push(passage);
  }

  #batch(ctx: Context<Run | BatchRun>, run: BatchRun): unknown {
    const { batch: plan, place } = this.#settings;
    const first = run.batch.members[0];
    if (plan === undefined || first === undefined)
      throw new InvariantError("batches go to routes with a batch");
    const passage = new Passage(place, first.message, ctx);
    passage.beganMs = this.#settings.now();
    run.atHand = passage;
    const { batch } = run;
    const tap = passage.follow(ctx.self.process as Process, batch.members.length);
    const emitted = (): BatchOutcome | Promise<BatchOutcome> => emitBatch(plan, place, passage, batch);
    const isOne = batch.members.length === 1;
    const emit = (): BatchOutcome | Promise<BatchOutcome> =>
      isOne ? inName(first.message, emitted) : this.#settings.runBatch(emitted);
    const outcome = tap === undefined ? emit() : tap.around(emit);
    const ended = (given: BatchOutcome): void => {
      const { overdue } = passage;
      const of: BatchOutcome = overdue === undefined ? given : { type: "failed", error: overdue };
      passage.end(of.type === "emitted" ? "passed" : "failed", undefined);
      run.tookMs = this.#tookMs(passage);
      run.outcome = passage.isHeld ? { type: "held" } : of;
      this.#tell(ctx, run);
    };
    if (!isThenable(outcome)) return ended(outcome as BatchOutcome);
    return (outcome as Promise<BatchOutcome>).then((of) => {
      if (ctx.alive) ended(of);
    });
  }

  #tookMs({ beganMs }: Passage): number {
    const { isMeasured, now } = this.#settings;
    return isMeasured ? now() - beganMs : 0;
  }

  /** Finished messages need not wait for slow ones; but those that finish within one turn of the event loop are reported together. */
  #tellSoon(ctx: Context<Run | BatchRun>, run: Run): void {
    this.#untold = run;
    if (this.#isTelling) return;
    this.#isTelling = true;
    // A timer of the process would wait for the adapter, as its messages do.
    const fire = (): void => {
      this.#isTelling = false;
      if (this.#untold !== undefined && ctx.alive) this.#tell(ctx, this.#untold);
    };
    this.#settings.place.kernel?.addTimer(0, { fire });
  }

  /** One notification is enough until the processor has read it. */
  #tell(ctx: Context<Run | BatchRun>, run: Run | BatchRun): void {
    this.#untold = undefined;
    if (run.isTold) return;
    run.isTold = true;
    ctx.send(this.#settings.processor, { type: "progress", run });
  }
}
