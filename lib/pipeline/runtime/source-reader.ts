// The process of a source. It reads as far as its messages have room, and submits them with the checkpoint behind the last one, in one
// step. Like a processor, it keeps its place in the object: a process that was killed is followed by one that opens the source again at
// the last checkpoint that was submitted.
//
//   fan-out        nothing is read while so many messages are submitted and not committed
//   high water     nothing is read while the queue is above its mark

import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import { type ExitReason, NORMAL } from "../../process/reason.js";
import { kindOf } from "../../process/show.js";
import { sourceId } from "../definition/message-id.js";
import type { Sourced } from "../definition/source.js";
import { StepTooLargeError } from "../ledger/errors.js";
import type { SourcePlace } from "../ledger/ledger.js";
import type { ExecutionScope } from "./execution-scope.js";
import type { SourcePlan } from "./plan.js";

/** Notices for a source. */
export type SourceNotice =
  /** So many of its messages are committed, or refused. */
  | { readonly type: "published"; readonly children: number }
  /** Its queue is below the mark again. */
  | { readonly type: "drained" }
  | { readonly type: "pause" }
  | { readonly type: "resume" };

/** Most messages of one step. */
const MOST_AT_ONCE = 256;

const WAKE = { type: "wake" } as const;
export type SourceMessage = typeof WAKE;

type Reading = Iterator<Sourced<unknown>> | AsyncIterator<Sourced<unknown>>;
type Readable = Partial<Iterable<Sourced<unknown>> & AsyncIterable<Sourced<unknown>>>;

export class SourceReader implements Callbacks<SourceMessage> {
  readonly plan: SourcePlan;
  readonly #scope: ExecutionScope;
  #place: SourcePlace;
  /** Submitted, and not committed. */
  #publishing = 0;
  #isAbove = false;
  #isPaused = false;
  /** The source has given its last, or has thrown. */
  #isClosed = false;
  #ctx: Context<SourceMessage> | undefined;
  /** Read, and not submitted. */
  #pending: Sourced<unknown>[] = [];
  #isReading = false;
  #reading: Reading | undefined;

  constructor(plan: SourcePlan, scope: ExecutionScope, place: SourcePlace) {
    this.plan = plan;
    this.#scope = scope;
    this.#place = place;
  }

  /** Whether it will give no more. */
  get closed(): boolean {
    return this.#isClosed;
  }

  /** Tells the source something, from wherever. Also while its process is being replaced. */
  tell(notice: SourceNotice): void {
    this.#scope.kernel.shared?.object(this, "write");
    if (notice.type === "published") this.#publishing -= notice.children;
    else if (notice.type === "drained") this.#isAbove = false;
    else this.#isPaused = notice.type === "pause";
    if (this.#ctx?.alive) this.#ctx.self.process?.deliver(WAKE, undefined);
  }

  init(ctx: Context<SourceMessage>): void {
    this.#ctx = ctx;
    // Items that the previous process had read and not submitted are read again.
    this.#pending = [];
    this.#isReading = false;
    this.#reading = undefined;
    ctx.send(ctx.self, WAKE);
  }

  handle(ctx: Context<SourceMessage>, _news: SourceMessage): unknown {
    this.#scope.kernel.shared?.object(this, "write");
    this.#submit();
    if (this.#isClosed) return;
    if (!this.#isReading && this.#room > 0) void this.#read(ctx);
    return;
  }

  terminate(_ctx: Context<SourceMessage>, _reason: ExitReason): void {
    void this.#leave();
  }

  get #room(): number {
    if (this.#isAbove || this.#isPaused) return 0;
    const { ledger } = this.#scope;
    if (ledger.depth(this.plan.queue) >= this.plan.highWaterMark) {
      this.#isAbove = true;
      ledger.awaitBelow(this.plan.queue, this.plan.highWaterMark);
      return 0;
    }
    return this.plan.fanOut - this.#publishing - this.#pending.length;
  }

  /** Reads until there is no room, or the source ends. An error of the source ends the execution. */
  async #read(ctx: Context<SourceMessage>): Promise<void> {
    this.#isReading = true;
    try {
      this.#reading ??= this.#open(ctx);
      const reading = this.#reading;
      for (let room = this.#room; room > 0; room = this.#room) {
        const next = reading.next();
        const { done, value } = next instanceof Promise || isPromiseLike(next) ? await next : next;
        if (!ctx.alive || this.#ctx !== ctx) return void close(reading);
        if (done === true) {
          this.#finish(ctx, undefined);
          return;
        }
        this.#take(ctx, value);
      }
      this.#isReading = false;
    } catch (error) {
      if (!ctx.alive || this.#ctx !== ctx) return;
      if (this.#reading !== undefined) void close(this.#reading);
      this.#finish(ctx, { error });
    }
  }

  #open(ctx: Context<SourceMessage>): Reading {
    const { source } = this.plan;
    const { checkpoint } = this.#place;
    const { record, kernel } = this.#scope;
    const opened = source.open({
      checkpoint: checkpoint as never,
      input: record.input,
      signal: ctx.signal,
      kernel,
    });
    const { [Symbol.asyncIterator]: later, [Symbol.iterator]: now } = Object(opened) as Readable;
    if (later !== undefined) return later.call(opened);
    if (now !== undefined) return now.call(opened);
    throw new TypeError(`source ${source.name} gives no iterable but ${kindOf(opened)}`);
  }

  #take(ctx: Context<SourceMessage>, sourced: Sourced<unknown>): void {
    const { value, checkpoint } = Object(sourced) as Partial<Sourced<unknown>>;
    if (value === undefined || checkpoint === undefined)
      throw new TypeError(
        `source ${this.plan.source.name} gives ${kindOf(sourced)}, which is no { value, checkpoint }`,
      );
    // Values that come in the same turn are submitted together.
    if (this.#pending.length === 0) ctx.send(ctx.self, WAKE);
    this.#pending.push(sourced);
    if (this.#pending.length >= MOST_AT_ONCE) this.#submit();
  }

  #submit(): void {
    const pending = this.#pending;
    this.#pending = [];
    if (pending.length > 0) this.#give(pending);
  }

  #give(pending: readonly Sourced<unknown>[]): void {
    const { number, queue, source } = this.plan;
    const { given: from } = this.#place;
    const messages = pending.map(({ value, key }, i) => ({
      id: sourceId(number, from + i),
      queue,
      value,
      key,
    }));
    const { checkpoint } = pending.at(-1) as Sourced<unknown>;
    try {
      this.#scope.ledger.submit({ type: "source", source: source.name, from, messages, checkpoint });
    } catch (error) {
      if (error instanceof StepTooLargeError) {
        const half = Math.ceil(pending.length / 2);
        this.#give(pending.slice(0, half));
        if (!this.#isClosed) this.#give(pending.slice(half));
        return;
      }
      // A value that cannot be stored: the source cannot go on behind it.
      this.#end({ error });
      return;
    }
    this.#publishing += messages.length;
    this.#place = { given: from + messages.length, checkpoint };
  }

  #finish(ctx: Context<SourceMessage>, thrown: { readonly error: unknown } | undefined): void {
    this.#submit();
    if (!this.#isClosed) this.#end(thrown);
    this.#scope.kernel.stop(ctx.self.process as never, NORMAL, undefined);
  }

  #end(thrown: { readonly error: unknown } | undefined): void {
    this.#isClosed = true;
    const { ledger } = this.#scope;
    const { name } = this.plan.source;
    if (thrown === undefined) ledger.submit({ type: "close", source: name });
    else ledger.submit({ type: "end", as: "failed", error: thrown.error });
  }

  async #leave(): Promise<void> {
    const reading = this.#reading;
    this.#reading = undefined;
    if (reading !== undefined && !this.#isReading) await close(reading);
  }
}

function isPromiseLike(value: unknown): value is PromiseLike<never> {
  return typeof (value as { readonly then?: unknown } | null)?.then === "function";
}

/** Lets an iterable end that is left early. Errors that it throws then are ignored. */
async function close(reading: Reading): Promise<void> {
  try {
    await reading.return?.();
  } catch {
    // It was left.
  }
}
