// A worker of a route: it takes messages through the adapters, one after another. What comes of each is written down in the run, which
// its processor reads: also when the worker has crashed.

import { unwatchAbort, watchAbort } from "../../process/abort.js";
import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import { InvariantError } from "../../process/errors.js";
import type { TimerRef } from "../../process/owned-timer.js";
import type { Pid } from "../../process/pid.js";
import { shutdown } from "../../process/reason.js";
import { isThenable } from "../../process/thenable.js";
import type { Item } from "../definition/adapter.js";
import { AdapterTimeoutError } from "../definition/errors.js";
import type { Message, Remembered } from "../ledger/ledger.js";
import type { CallRecord } from "../ledger/lineage.js";
import { type BatchOutcome, type BatchRun, emitBatch } from "./batch-run.js";
import { Passage, type Place, type Segment } from "./passage.js";
import type { BatchPlan } from "./plan.js";

/** What came of one attempt at one message. */
export type Outcome =
  | {
      readonly type: "passed";
      readonly items: readonly Item<unknown>[];
      readonly calls: readonly CallRecord[] | undefined;
      /** For the step that settles the message. */
      readonly remember: readonly Remembered[] | undefined;
      /** To be released when that step was submitted. */
      readonly passage: Passage;
    }
  | {
      readonly type: "failed";
      readonly error: unknown;
      /** The adapter that failed. */
      readonly adapter: string;
      readonly calls: readonly CallRecord[] | undefined;
    };

/** Messages that a worker was given. Changed in place by the worker, read by the processor. */
export interface Run {
  readonly worker: number;
  readonly messages: readonly Message[];
  /** The outcomes of the first messages, in their order. */
  readonly outcomes: Outcome[];
  /** The adapter that has the message at hand, which is the one behind those with an outcome. */
  atHand: Passage | undefined;
}

/** Told by a worker: outcomes were added to its run. */
export interface Progress {
  readonly type: "progress";
  readonly run: Run | BatchRun;
}

export interface WorkerSettings {
  readonly place: Place;
  readonly segment: Segment;
  readonly batch: BatchPlan | undefined;
  /** Why a message is not let in, if it is not. */
  readonly refusal: (message: Message) => Error | undefined;
  /** How long an attempt may take, in milliseconds. */
  readonly timeoutMs: number;
  readonly processor: Pid<Progress>;
}

/** The behaviour of a worker. An attempt that takes too long ends it: its exit aborts the attempt, and returns its permits. */
export class Worker implements Callbacks<Run | BatchRun> {
  readonly #settings: WorkerSettings;

  constructor(settings: WorkerSettings) {
    this.#settings = settings;
  }

  handle(ctx: Context<Run | BatchRun>, run: Run | BatchRun): unknown {
    return "batch" in run ? this.#batch(ctx, run) : this.#messages(ctx, run);
  }

  #messages(ctx: Context<Run | BatchRun>, run: Run): unknown {
    const { messages, outcomes } = run;
    while (outcomes.length < messages.length) {
      const message = messages[outcomes.length] as Message;
      const refused = this.#settings.refusal(message);
      if (refused !== undefined) {
        outcomes.push({ type: "failed", error: refused, adapter: "", calls: undefined });
        continue;
      }
      const attempt = new Attempt(ctx, this.#settings.place, message);
      run.atHand = attempt.passage;
      const { value, key } = message;
      let result: readonly Item<unknown>[] | Promise<readonly Item<unknown>[]>;
      try {
        result = attempt.passage.through(this.#settings.segment, [{ value, key }]);
      } catch (error) {
        this.#ended(run, attempt, failed(attempt.passage, error));
        continue;
      }
      if (isThenable(result)) return this.#later(ctx, run, attempt, result);
      this.#ended(run, attempt, passed(attempt.passage, result));
    }
    this.#tell(ctx, run);
    return undefined;
  }

  async #later(
    ctx: Context<Run | BatchRun>,
    run: Run,
    attempt: Attempt,
    result: Promise<readonly Item<unknown>[]>,
  ): Promise<unknown> {
    // What is done need not wait for what is slow.
    if (run.outcomes.length > 0) this.#tell(ctx, run);
    const limit = this.#limit(ctx, attempt.passage);
    let outcome: Outcome;
    try {
      outcome = passed(attempt.passage, await result);
    } catch (error) {
      outcome = failed(attempt.passage, error);
    }
    // A worker that has exited changes nothing any more: its processor has taken the message back.
    if (!ctx.alive) return undefined;
    if (limit !== undefined) ctx.cancel(limit);
    this.#ended(run, attempt, outcome);
    return this.#messages(ctx, run);
  }

  #limit(ctx: Context<Run | BatchRun>, passage: Passage): TimerRef | undefined {
    const { timeoutMs, place } = this.#settings;
    if (timeoutMs === Number.POSITIVE_INFINITY) return undefined;
    return ctx.runAfter(timeoutMs, () =>
      ctx.exit(shutdown(new AdapterTimeoutError(place.route, passage.adapter, timeoutMs))),
    );
  }

  #batch(ctx: Context<Run | BatchRun>, run: BatchRun): unknown {
    const { batch: plan, place } = this.#settings;
    const first = run.batch.members[0];
    if (plan === undefined || first === undefined)
      throw new InvariantError("batches go to routes with a batch");
    const attempt = new Attempt(ctx, place, first.message);
    const outcome = emitBatch(plan, place, attempt.passage, run.batch);
    const ended = (of: BatchOutcome): void => {
      attempt.end();
      run.outcome = of;
      this.#tell(ctx, run);
    };
    if (!isThenable(outcome)) return ended(outcome as BatchOutcome);
    const limit = this.#limit(ctx, attempt.passage);
    return (outcome as Promise<BatchOutcome>).then((of) => {
      if (!ctx.alive) return;
      if (limit !== undefined) ctx.cancel(limit);
      ended(of);
    });
  }

  #ended(run: Run, attempt: Attempt, outcome: Outcome): void {
    attempt.end();
    run.atHand = undefined;
    run.outcomes.push(outcome);
  }

  #tell(ctx: Context<Run | BatchRun>, run: Run | BatchRun): void {
    ctx.send(this.#settings.processor, { type: "progress", run });
  }
}

function passed(passage: Passage, items: readonly Item<unknown>[]): Outcome {
  return { type: "passed", items, calls: passage.calls, remember: passage.remembered, passage };
}

function failed(passage: Passage, error: unknown): Outcome {
  passage.release();
  const { adapter, calls } = passage;
  return { type: "failed", error, adapter, calls };
}

/** The signal of an attempt: made when an adapter asks for it, and let go of with the attempt. */
class Attempt {
  readonly passage: Passage;
  readonly #ctx: Context<Run | BatchRun>;
  #controller: AbortController | undefined;

  constructor(ctx: Context<Run | BatchRun>, place: Place, message: Message) {
    this.#ctx = ctx;
    this.passage = new Passage(place, message, () => this.#signal());
  }

  #signal(): AbortSignal {
    this.#controller = new AbortController();
    watchAbort(this.#ctx.signal, this);
    return this.#controller.signal;
  }

  aborted(reason: unknown): void {
    this.#controller?.abort(reason);
  }

  end(): void {
    if (this.#controller !== undefined) unwatchAbort(this.#ctx.signal, this);
  }
}
