// The process of a source. It reads as far as its messages have room, and submits them with the checkpoint behind the last one, in one
// step. Like a processor, it keeps its place in the object: a process that was killed is followed by one that opens the source again at
// the last checkpoint that was submitted.
//
//   fan-out        nothing is read while so many messages are submitted and not committed
//   high water     nothing is read while the queue is above its mark

import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Kernel } from "../../process/kernel.js";
import { type ExitReason, NORMAL } from "../../process/reason.js";
import { sourceId } from "../definition/message-id.js";
import type { Sourced } from "../definition/source.js";
import type { Ledger } from "../ledger/ledger.js";
import type { SourcePlan } from "./plan.js";

/** What a source's process uses of its execution. */
export interface SourcePort {
  readonly kernel: Kernel;
  readonly ledger: Ledger;
  /** The input of the execution. */
  readonly input: unknown;
}

/** Where a source is. */
export interface SourcePlace {
  /** How many messages it has given. */
  readonly given: number;
  readonly checkpoint: unknown;
}

/** What others tell a source. */
export type SourceNews =
  /** So many of its messages are committed, or refused. */
  | { readonly type: "published"; readonly children: number }
  /** Its queue is below the mark again. */
  | { readonly type: "drained" }
  | { readonly type: "pause" }
  | { readonly type: "resume" };

/** Most messages of one step. */
const MOST_AT_ONCE = 256;

const NEWS = { type: "news" } as const;
export type SourceMessage = typeof NEWS;

type Reading = Iterator<Sourced<unknown>> | AsyncIterator<Sourced<unknown>>;

export class SourceReader implements Callbacks<SourceMessage> {
  readonly plan: SourcePlan;
  readonly #port: SourcePort;
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

  constructor(plan: SourcePlan, port: SourcePort, place: SourcePlace) {
    this.plan = plan;
    this.#port = port;
    this.#place = place;
  }

  /** Whether it will give no more. */
  get closed(): boolean {
    return this.#isClosed;
  }

  /** Tells the source something, from wherever. Also while its process is being replaced. */
  tell(news: SourceNews): void {
    this.#port.kernel.shared?.object(this, "write");
    if (news.type === "published") this.#publishing -= news.children;
    else if (news.type === "drained") this.#isAbove = false;
    else this.#isPaused = news.type === "pause";
    if (this.#ctx?.alive) this.#ctx.self.process?.deliver(NEWS, undefined);
  }

  init(ctx: Context<SourceMessage>): void {
    this.#ctx = ctx;
    // What the process before this one had read and not submitted is read again.
    this.#pending = [];
    this.#isReading = false;
    this.#reading = undefined;
    ctx.send(ctx.self, NEWS);
  }

  handle(ctx: Context<SourceMessage>, _news: SourceMessage): unknown {
    this.#port.kernel.shared?.object(this, "write");
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
    const { ledger } = this.#port;
    if (ledger.depth(this.plan.queue) >= this.plan.highWaterMark) {
      this.#isAbove = true;
      ledger.awaitBelow(this.plan.queue, this.plan.highWaterMark);
      return 0;
    }
    return this.plan.fanOut - this.#publishing - this.#pending.length;
  }

  /** Reads until there is no room, or the source ends. What it throws ends the execution. */
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
      if (ctx.alive && this.#ctx === ctx) this.#finish(ctx, { error });
    }
  }

  #open(ctx: Context<SourceMessage>): Reading {
    const { source } = this.plan;
    const { checkpoint } = this.#place;
    const { input, kernel } = this.#port;
    const opened = source.open({ checkpoint: checkpoint as never, input, signal: ctx.signal, kernel });
    return Symbol.asyncIterator in opened ? opened[Symbol.asyncIterator]() : opened[Symbol.iterator]();
  }

  #take(ctx: Context<SourceMessage>, sourced: Sourced<unknown>): void {
    // Values that come in the same turn are submitted together.
    if (this.#pending.length === 0) ctx.send(ctx.self, NEWS);
    this.#pending.push(sourced);
    if (this.#pending.length >= MOST_AT_ONCE) this.#submit();
  }

  #submit(): void {
    const pending = this.#pending;
    const last = pending.at(-1);
    if (last === undefined) return;
    this.#pending = [];
    const { number, queue, source } = this.plan;
    const { given: from } = this.#place;
    const messages = pending.map(({ value, key }, i) => ({
      id: sourceId(number, from + i),
      queue,
      value,
      key,
    }));
    const { checkpoint } = last;
    try {
      this.#port.ledger.submit({ type: "source", source: source.name, from, messages, checkpoint });
    } catch (error) {
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
    this.#port.kernel.stop(ctx.self.process as never, NORMAL, undefined);
  }

  #end(thrown: { readonly error: unknown } | undefined): void {
    this.#isClosed = true;
    const { ledger } = this.#port;
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

/** Lets an iterable end that is left early. What it throws then concerns nobody. */
async function close(reading: Reading): Promise<void> {
  try {
    await reading.return?.();
  } catch {
    // It was left.
  }
}
