// A stream of tasks, as its consumer sees it: an AsyncIterable of results.

import { unwatchAbort, watchAbort } from "../../process/abort.js";
import type { BodyContext } from "../../process/body-context.js";
import { CalleeExitedError, OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, delay, flag, oneOf, text } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import { exitedError } from "../../process/request.js";
import { adoptContext } from "../../process/sender-context.js";
import type { TaskExitedError, TaskTimeoutError } from "./errors.js";
import { checkInputs, type Inputs } from "./input.js";
import { TASK_DEFAULTS } from "./limits.js";
import { checkOwner, type Owner, ownerOf, type TaskOwner } from "./owner.js";
import type { StreamEnd } from "./stream-machine.js";
import {
  Ask,
  type Batch,
  Close,
  type StreamMessage,
  type StreamPlan,
  StreamProcess,
} from "./stream-process.js";

/** Options of a stream of tasks. */
export interface TaskStreamOptions {
  /** How many tasks run at once, 1 or more. Default 16. */
  readonly concurrency?: number;
  /** Results in the order of the items. `false` gives each result as soon as its task has ended. Default true. */
  readonly ordered?: boolean;
  /** How many milliseconds the task of one item may take. It is killed after that. Default 5,000. */
  readonly timeoutMs?: number;
  /**
   * How many items may be ahead of the consumer: their tasks run, or their results wait. An item is read when one may start.
   * More than `concurrency` lets tasks go on while the consumer is slow, or while an ordered stream waits for one slow task.
   * Default, and least: `concurrency`.
   */
  readonly maxAhead?: number;
  /**
   * What a task that fails or exceeds its time does. `throw`, the default, ends the stream: all other tasks are killed, and the
   * error comes after the results that are ready. `values` makes each result a {@link TaskStreamResult}.
   */
  readonly failures?: "throw" | "values";
  /** Ends the stream: all tasks are killed, and it rejects with the reason of the signal. */
  readonly signal?: AbortSignal;
  /** The text that stands for the tasks in logs and in their pids. Default `task`. */
  readonly label?: string;
}

/** The result of one item, in a stream with `failures: "values"`. */
export type TaskStreamResult<I, R> = {
  /** The number of the item, from 0. */
  readonly index: number;
  /** The item. */
  readonly input: I;
} & (
  | {
      readonly ok: true;
      /** The value that the function returned for the item. */
      readonly value: R;
    }
  | {
      readonly ok: false;
      /** Why there is no value. `error.cause` of a TaskExitedError is the error that the function threw. */
      readonly error: TaskExitedError | TaskTimeoutError;
    }
);

type Next<R> = IteratorResult<R, undefined>;

const EMPTY: readonly unknown[] = [];

/**
 * The results of a stream of tasks. Nothing runs before the first `next`. A `break` or `return` of the loop, an error in it, and
 * `await using` all end the stream: its tasks are killed and the input is closed.
 */
export class TaskStream<R> implements AsyncIterableIterator<R, undefined>, AsyncDisposable {
  readonly #owner: Owner;
  readonly #plan: StreamPlan;
  readonly #signal: AbortSignal | undefined;
  #process: Pid<StreamMessage> | undefined;
  #batch: readonly unknown[] = EMPTY;
  #at = 0;
  #end: StreamEnd | undefined;
  #asking: Promise<Next<R>> | undefined;
  /** Results taken of the batch that the process does not know of yet. */
  #untold = 0;

  /** @internal */
  constructor(owner: Owner, plan: StreamPlan, signal: AbortSignal | undefined) {
    this.#owner = owner;
    this.#plan = plan;
    this.#signal = signal;
  }

  /** The next result. Calls one after the other, also without awaiting, get results one after the other. */
  next(): Promise<Next<R>> {
    if (this.#asking !== undefined) {
      const again = (): Promise<Next<R>> => this.next();
      return this.#asking.then(again, again);
    }
    if (this.#at < this.#batch.length) {
      if (this.#end === undefined && this.#untold++ === 0) this.#tellSoon();
      return Promise.resolve({ done: false, value: this.#batch[this.#at++] as R });
    }
    if (this.#end !== undefined) return this.#ended(this.#end);
    try {
      checkOwner("this stream of tasks", this.#owner);
      return this.#more();
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Ends the stream. Resolves when its tasks have ended and the input is closed. */
  async return(): Promise<IteratorReturnResult<undefined>> {
    const process = this.#process;
    const { kernel, process: owner } = this.#owner;
    this.#over("done");
    if (process !== undefined) {
      const close = new Close();
      const closed = close.await(kernel, owner);
      kernel.calls.request(owner, process, close, { timeoutMs: Number.POSITIVE_INFINITY });
      await closed.catch((error) => {
        // The stream has ended by itself meanwhile.
        if (!(error instanceof CalleeExitedError)) throw error;
      });
    }
    return { done: true, value: undefined };
  }

  /** Ends the stream, and rejects with the error. */
  async throw(error: unknown): Promise<Next<R>> {
    await this.return();
    throw error;
  }

  /** The stream itself. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The same as {@link TaskStream.return}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  /** @internal The signal of the stream. */
  aborted(reason: unknown): void {
    const process = this.#process;
    if (process === undefined) return;
    this.#owner.kernel.send(process, { type: "aborted", reason });
    this.#over({ error: reason });
  }

  /** Asks for a batch, and gives its first result. */
  #more(): Promise<Next<R>> {
    const { kernel, process } = this.#owner;
    if (process !== undefined && !process.alive) throw exitedError(process);
    if (this.#process === undefined) this.#start();
    const ask = new Ask(this.#untold);
    this.#untold = 0;
    const batch = ask.await(kernel, process);
    kernel.calls.request(process, this.#process as Pid<StreamMessage>, ask, ENDLESS);
    this.#asking = batch.then(this.#came, this.#failed);
    return this.#asking;
  }

  /**
   * Tells the process what was taken once the running code waits for the host: a consumer that does not wait takes its whole batch
   * at once, and a message for each result would cost more than the task of one.
   */
  #tellSoon(): void {
    const { scheduler } = this.#owner.kernel;
    if (scheduler.drained === undefined) this.#tell();
    else
      scheduler.drained(() => {
        // It may have been killed meanwhile: a dead letter would say so to code that has sent nothing.
        if (this.#process?.process !== undefined) this.#tell();
      });
  }

  #tell(): void {
    const taken = this.#untold;
    this.#untold = 0;
    if (taken === 0 || this.#process === undefined) return;
    this.#owner.kernel.send(this.#process, { type: "taken", count: taken });
  }

  readonly #came = ({ results, end }: Batch): Next<R> | Promise<Next<R>> => {
    this.#asking = undefined;
    if (this.#end !== undefined) return this.#ended(this.#end);
    this.#batch = results;
    this.#at = 0;
    if (end !== undefined) this.#finish(end);
    if (results.length > 0) return { done: false, value: results[this.#at++] as R };
    return this.#ended(end ?? "done");
  };

  /** The process of the stream has ended without an answer. */
  readonly #failed = (error: unknown): never => {
    this.#asking = undefined;
    this.#over("done");
    throw error;
  };

  #start(): void {
    const { kernel, process } = this.#owner;
    const signal = this.#signal;
    if (signal !== undefined) {
      kernel.shared?.signals();
      signal.throwIfAborted();
      watchAbort(signal, this);
    }
    const runner = kernel.spawn(new StreamProcess(this.#plan), process, {
      label: "task stream",
      trapExit: true,
    });
    adoptContext(runner.pid);
    if (process !== undefined) kernel.links.link(process, runner.pid);
    this.#process = runner.pid as Pid<StreamMessage>;
  }

  #finish(end: StreamEnd): void {
    this.#end = end;
    this.#process = undefined;
    if (this.#signal === undefined) return;
    this.#owner.kernel.shared?.signals();
    unwatchAbort(this.#signal, this);
  }

  /** Ends at once: results that wait here are dropped. */
  #over(end: StreamEnd): void {
    this.#batch = EMPTY;
    this.#at = 0;
    this.#finish(end);
  }

  /** The error of the stream comes once; then it is over. */
  #ended(end: StreamEnd): Promise<Next<R>> {
    this.#end = "done";
    return end === "done" ? Promise.resolve({ done: true, value: undefined }) : Promise.reject(end.error);
  }
}

const ENDLESS = { timeoutMs: Number.POSITIVE_INFINITY } as const;

type StreamFunction<I, R> = (item: Awaited<I>, ctx: BodyContext<unknown>) => R;

/**
 * Runs a function for each item of an input, each in a task of its own, at most `concurrency` at once. The results come as an
 * AsyncIterable, and the consumer sets the pace: an item is read only when its task may start. When the owner ends, the stream
 * and its tasks end.
 *
 * @param inputs - an Iterable or an AsyncIterable. An item that is a promise is awaited by its task
 * @throws OptionError when an option is not what it has to be
 * @see https://hexdocs.pm/elixir/Task.html#async_stream/3
 * @example
 * const pages = taskStream(ctx, ["/a", "/b"], (path, { signal }) => fetch(path, { signal }), { concurrency: 4 });
 * for await (const page of pages) log(page.status);
 */
export function taskStream<I, R>(
  owner: TaskOwner,
  inputs: Inputs<I>,
  fn: StreamFunction<I, R>,
  options: TaskStreamOptions & { readonly failures: "values" },
): TaskStream<TaskStreamResult<I, Awaited<R>>>;
export function taskStream<I, R>(
  owner: TaskOwner,
  inputs: Inputs<I>,
  fn: StreamFunction<I, R>,
  options?: TaskStreamOptions & { readonly failures?: "throw" },
): TaskStream<Awaited<R>>;
export function taskStream(
  owner: TaskOwner,
  inputs: Inputs<unknown>,
  fn: StreamFunction<unknown, unknown>,
  options: TaskStreamOptions = {},
): TaskStream<unknown> {
  const found = ownerOf(owner);
  checkInputs(inputs);
  if (typeof fn !== "function") throw new OptionError("fn", fn, "a function of an item");
  const { signal } = options ?? {};
  const plan: StreamPlan = { inputs, fn, ...checkOptions(options) };
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw new OptionError("signal", signal, "an AbortSignal");
  return new TaskStream(found, plan, signal);
}

const KNOWN = ["concurrency", "ordered", "timeoutMs", "maxAhead", "failures", "signal", "label"];

function checkOptions(options: TaskStreamOptions): Omit<StreamPlan, "inputs" | "fn"> {
  only("", options, KNOWN);
  const concurrency = count("concurrency", options.concurrency ?? TASK_DEFAULTS.concurrency, 1, true);
  return {
    concurrency,
    maxAhead: count("maxAhead", options.maxAhead ?? concurrency, concurrency, true),
    ordered: flag("ordered", options.ordered ?? true),
    timeoutMs: delay("timeoutMs", options.timeoutMs ?? TASK_DEFAULTS.itemTimeoutMs, 0, true),
    failsFast: oneOf("failures", options.failures ?? "throw", ["throw", "values"]) === "throw",
    label: text("label", options.label ?? "task"),
  };
}
