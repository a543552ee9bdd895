// The process of a stream of tasks: it reads the input, starts a linked process for each item, and hands the results out in
// batches. stream-machine.ts decides.

import { type Callbacks, type Stop, stop, ValueBody } from "../../process/behaviour.js";
import type { BodyContext } from "../../process/body-context.js";
import type { Context } from "../../process/context.js";
import { EffectLoop } from "../../process/effect-loop.js";
import type { Signal } from "../../process/entries.js";
import type { Inspected } from "../../process/inspected.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import type { ExitReason } from "../../process/reason.js";
import { Request } from "../../process/request.js";
import { isThenable } from "../../process/thenable.js";
import { TaskExitedError, TaskTimeoutError } from "./errors.js";
import { type Answer, Input, type Inputs } from "./input.js";
import { TASK_DEFAULTS } from "./limits.js";
import {
  decide,
  initial,
  type StreamConfig,
  type StreamEffect,
  type StreamEnd,
  type StreamEvent,
  type StreamState,
} from "./stream-machine.js";

/** Results, and the end of the stream with the last ones. */
export interface Batch {
  readonly results: readonly unknown[];
  readonly end: StreamEnd | undefined;
}

/** The consumer asks for results. */
export class Ask extends Request<Batch> {
  /** Results of the last batch taken since the last notification. */
  readonly taken: number;
  constructor(taken: number) {
    super();
    this.taken = taken;
    this.message = this;
  }
}

/** The consumer wants no more. The reply comes when all tasks have ended and the input is closed. */
export class Close extends Request<void> {
  constructor() {
    super();
    this.message = this;
  }
}

export type StreamMessage =
  | Ask
  | Close
  /** The consumer has taken so many more results of its batch. */
  | { readonly type: "taken"; readonly count: number }
  | Answer<unknown>
  | { readonly type: "aborted"; readonly reason: unknown }
  | { readonly type: "input-closed"; readonly failure?: { readonly error: unknown } };

/** The inputs, the function and the limits of one call of `taskStream`. */
export interface StreamPlan extends StreamConfig {
  readonly inputs: Inputs<unknown>;
  readonly fn: ItemFunction;
  readonly label: string;
  readonly timeoutMs: number;
}

type ItemFunction = (item: never, ctx: BodyContext<unknown>) => unknown;

/** The task of one item: one object is its record and the body of its process. */
class Running extends ValueBody {
  readonly fn: ItemFunction;
  readonly index: number;
  readonly item: unknown;
  readonly startedAt: number;
  hasReturned = false;
  value: unknown = undefined;

  constructor(fn: ItemFunction, index: number, item: unknown, startedAt: number) {
    super();
    this.fn = fn;
    this.index = index;
    this.item = item;
    this.startedAt = startedAt;
  }

  override run(ctx: BodyContext<unknown>): unknown {
    const { fn, item } = this;
    if (!isThenable(item)) return fn(item as never, ctx);
    return Promise.resolve(item).then((value) => fn(value as never, ctx));
  }

  override returned(value: unknown): void {
    this.hasReturned = true;
    this.value = value;
  }
}

export class StreamProcess implements Callbacks<StreamMessage> {
  readonly #plan: StreamPlan;
  readonly #input: Input<unknown>;
  readonly #loop: EffectLoop<
    StreamState<unknown>,
    StreamEvent<unknown, unknown>,
    StreamEffect<unknown, unknown>
  >;
  readonly #spawnOptions: { readonly label: string };
  /** In the order of their starts, so that the first one is the first to time out. */
  readonly #running = new Map<Pid, Running>();
  #ctx!: Context<StreamMessage>;
  #ask: Ask | undefined;
  readonly #closes: Close[] = [];
  #isTimed = false;
  #exit: "no" | "waits for input" | "now" = "no";
  /** The error that `return` of the input threw. */
  #failure: { readonly error: unknown } | undefined;
  #isClosing = false;

  constructor(plan: StreamPlan) {
    this.#plan = plan;
    this.#input = new Input(plan.inputs);
    this.#spawnOptions = { label: plan.label };
    this.#loop = new EffectLoop(initial<unknown>(plan), decide, (effect) => this.#perform(effect));
  }

  init(ctx: Context<StreamMessage>): void {
    this.#ctx = ctx;
  }

  inspected(): Inspected {
    return {
      kind: "task stream",
      state: () => {
        const { read, taken, ready, early, phase } = this.#loop.state;
        const running = [...this.#running].map(([pid, { index, item }]) => ({ pid, index, item }));
        return { phase, read, taken, waiting: ready.length + early.size, running };
      },
    };
  }

  handle(_ctx: Context<StreamMessage>, message: StreamMessage): Stop | undefined {
    if (message instanceof Ask) {
      this.#ask = message;
      this.#loop.dispatch({ type: "asked", taken: message.taken });
    } else if (message instanceof Close) {
      this.#closes.push(message);
      this.#loop.dispatch({ type: "close", end: "done" });
    } else if (message.type === "aborted") {
      this.#loop.dispatch({ type: "close", end: { error: message.reason } });
    } else if (message.type === "input-closed") {
      this.#failure = message.failure;
      this.#isClosing = false;
      if (this.#exit !== "no") this.#exit = "now";
    } else this.#loop.dispatch(message);
    return this.#ending();
  }

  signal(_ctx: Context<StreamMessage>, signal: Signal): Stop | undefined {
    if (signal.type !== "exit") return undefined;
    const running = this.#running.get(signal.from);
    if (running === undefined) return undefined;
    this.#running.delete(signal.from);
    this.#finished(running, signal.from, signal.reason);
    return this.#ending();
  }

  /** The owner has ended. */
  parentExit(): Stop | undefined {
    this.#loop.dispatch({ type: "close", end: "done" });
    return this.#ending();
  }

  #finished(running: Running, pid: Pid, reason: ExitReason): void {
    const { index } = running;
    if (running.hasReturned && reason.type === "normal") {
      const result = this.#plan.failsFast
        ? running.value
        : { ok: true, value: running.value, index, input: running.item };
      this.#loop.dispatch({ type: "finished", index, result });
      return;
    }
    const error = new TaskExitedError(pid, reason);
    this.#loop.dispatch({
      type: "finished",
      index,
      result: this.#failed(running, error),
      failure: { error },
    });
  }

  #failed({ index, item: input }: Running, error: Error): unknown {
    return { ok: false, error, index, input };
  }

  #perform(effect: StreamEffect<unknown, unknown>): void {
    switch (effect.type) {
      case "read": {
        const answer = this.#input.read((later) => this.#later(later));
        if (answer !== undefined) this.#loop.dispatch(answer);
        return;
      }
      case "start":
        this.#start(effect.index, effect.item);
        return;
      case "kill":
        this.#kill(effect.index);
        return;
      case "deliver":
        this.#ask?.fulfil({ results: effect.results, end: effect.end });
        this.#ask = undefined;
        return;
      case "close-input":
        this.#closeInput();
        return;
      case "exit":
        this.#exit = this.#isClosing ? "waits for input" : "now";
        return;
      default:
        effect satisfies never;
    }
  }

  #start(index: number, item: unknown): void {
    const { fn, timeoutMs } = this.#plan;
    const isLimited = timeoutMs !== Number.POSITIVE_INFINITY;
    const running = new Running(fn, index, item, isLimited ? this.#ctx.now() : 0);
    const self = this.#ctx.self.process as Process;
    const { pid, exitReason } = self.kernel.spawn(running, self, this.#spawnOptions);
    self.kernel.links.link(self, pid, exitReason);
    this.#running.set(pid, running);
    if (isLimited && !this.#isTimed) this.#watchTime(timeoutMs);
  }

  #kill(index: number): void {
    for (const [pid, running] of this.#running) {
      if (running.index !== index) continue;
      this.#running.delete(pid);
      // The link stays: a kill that no process sees is reported.
      this.#ctx.exit(pid, "kill");
      return;
    }
  }

  /** One timer for all tasks: all have the same time, so they run out of it in the order of their starts. */
  #watchTime(delayMs: number): void {
    this.#isTimed = true;
    this.#ctx.runAfter(delayMs, () => this.#timeUp());
  }

  #timeUp(): Stop | undefined {
    const { timeoutMs } = this.#plan;
    const now = this.#ctx.now();
    this.#isTimed = false;
    for (const [pid, running] of this.#running) {
      const leftMs = running.startedAt + timeoutMs - now;
      if (leftMs > 0) {
        if (!this.#isTimed) this.#watchTime(leftMs);
        break;
      }
      const error = new TaskTimeoutError(pid, timeoutMs, true);
      const { index } = running;
      this.#loop.dispatch({ type: "timed-out", index, result: this.#failed(running, error), error });
    }
    return this.#ending();
  }

  #closeInput(): void {
    try {
      const closed = this.#input.close();
      if (closed === undefined) return;
      this.#isClosing = true;
      Promise.resolve(closed).then(
        () => this.#later({ type: "input-closed" }),
        (error) => this.#later({ type: "input-closed", failure: { error } }),
      );
      this.#ctx.runAfter(TASK_DEFAULTS.shutdownMs, () => this.handle(this.#ctx, { type: "input-closed" }));
    } catch (error) {
      this.#failure = { error };
    }
  }

  #later(message: StreamMessage): void {
    if (this.#ctx.alive) this.#ctx.send(this.#ctx.self, message);
  }

  #ending(): Stop | undefined {
    if (this.#exit !== "now") return undefined;
    for (const close of this.#closes) {
      if (this.#failure === undefined) close.fulfil(undefined);
      else close.fail(this.#failure.error);
    }
    return stop();
  }
}
