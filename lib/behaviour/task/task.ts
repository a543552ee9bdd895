// A task: a process that runs one function and hands the value to its owner, after Elixir's Task. task-machine.ts decides.

import { ValueBody } from "../../process/behaviour.js";
import type { BodyContext } from "../../process/body-context.js";
import { OptionError } from "../../process/errors.js";
import { exitAction } from "../../process/exit-signal.js";
import { only } from "../../process/known-options.js";
import { exclude, include, includes } from "../../process/one-or-many.js";
import { delay, oneOf, text } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { type ExitReason, KILL, SHUTDOWN } from "../../process/reason.js";
import { reportCrash } from "../../process/report-failure.js";
import { Request } from "../../process/request.js";
import { TaskAwaitedError, TaskExitedError, TaskTimeoutError } from "./errors.js";
import { TASK_DEFAULTS } from "./limits.js";
import { checkOwner, type Owner, ownerOf, type TaskOwner } from "./owner.js";
import {
  decide,
  initial,
  type TaskEffect,
  type TaskEvent,
  type TaskOutcome,
  type TaskState,
} from "./task-machine.js";

/** The function of a task. `ctx.signal` is aborted when the task ends, however it ends: pass it on to `fetch` and the like. */
export type TaskFunction<R> = (ctx: BodyContext<unknown>) => R;

/** Options of a task. */
export interface TaskOptions {
  /** The text that stands for the task in logs and in its pid. Default `task`. */
  readonly label?: string;
}

/** Options of a wait for a task. */
export interface AwaitOptions {
  /** How many milliseconds to wait. `Infinity` waits until the task ends. Default 5,000. */
  readonly timeoutMs?: number;
  /** Ends the wait early; it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /**
   * What a timeout or an abort does to the task. `kill`, the default, ends it at once. `leave` lets it run on: it can be
   * awaited again.
   */
  readonly onTimeout?: "kill" | "leave";
}

/** Options of {@link Task.stop}. */
export interface TaskStopOptions {
  /** How many milliseconds the task has, until it is killed. 0 kills at once. Default 5,000. */
  readonly timeoutMs?: number;
}

/** How a task ended, or that it did not in time. */
export type TaskResult<T> =
  | {
      readonly ok: true;
      /** The value that the function of the task returned. */
      readonly value: T;
    }
  | {
      readonly ok: false;
      /** Why there is no value. `error.cause` of a TaskExitedError is the error that the function threw. */
      readonly error: TaskExitedError | TaskTimeoutError;
    };

/** How a task is tied to its owner and to its supervisor. */
export interface Ties {
  readonly owner: Owner;
  /** Linked to its owner: a crash of either ends the other. */
  readonly isLinked: boolean;
  readonly supervisor?: Process;
}

class TaskBody extends ValueBody {
  readonly #fn: TaskFunction<unknown>;
  result: { readonly value: unknown } | undefined = undefined;

  constructor(fn: TaskFunction<unknown>) {
    super();
    this.#fn = fn;
  }

  override run(ctx: BodyContext<unknown>): unknown {
    const fn = this.#fn;
    return fn(ctx);
  }

  override returned(value: unknown): void {
    this.result = { value };
  }
}

/** The handle of a task: its owner waits for the value with it, once, or stops the task. */
export class Task<T> implements AsyncDisposable {
  /** The process of the task. */
  readonly pid: Pid<unknown>;
  readonly #owner: Owner;
  readonly #isLinked: boolean;
  readonly #process: Process;
  #state: TaskState = initial;
  #body: TaskBody | undefined;
  #wait: { readonly wait: TaskWait; readonly asResult: boolean } | undefined;
  readonly #stopping: TaskWait[] = [];

  /** @internal */
  constructor(fn: TaskFunction<unknown>, ties: Ties, options: TaskOptions = {}) {
    if (typeof fn !== "function") throw new OptionError("fn", fn, "a function of the ctx of the task");
    only("", options, ["label"]);
    const { owner, isLinked, supervisor } = ties;
    const { kernel, process } = owner;
    this.#owner = owner;
    this.#isLinked = isLinked && process !== undefined;
    const label = text("label", options.label ?? "task");
    this.#body = new TaskBody(fn);
    this.#process = kernel.spawn(this.#body, supervisor ?? process, { label });
    this.pid = this.#process.pid;
    kernel.shared?.created(this);
    kernel.links.watch(
      this.pid,
      (reason) => this.#ended(reason),
      () => undefined,
    );
    if (supervisor !== undefined) kernel.links.link(supervisor, this.pid);
    if (process === undefined) return;
    if (this.#isLinked) kernel.links.link(process, this.pid);
    process.extras.waits = include(process.extras.waits, this);
  }

  /**
   * Waits for the value. Only the owner waits, and once: a second wait rejects with TaskAwaitedError.
   *
   * @throws TaskExitedError when the task ends without a value, TaskTimeoutError after `timeoutMs`, the reason of `signal`,
   * TaskOwnerError in another process, TaskAwaitedError
   * @example const page = await task(ctx, ({ signal }) => fetch("http://words.example", { signal })).value({ timeoutMs: 1_000 });
   */
  value(options?: AwaitOptions): Promise<T> {
    return this.#await<T>(options, false);
  }

  /**
   * The same as {@link Task.value}, with failures and timeouts as values. For tasks whose crash is not the owner's crash: those
   * of a task supervisor without a link, those of code outside of processes, and those of a process that traps exits.
   *
   * @throws the reason of `signal`, TaskOwnerError, TaskAwaitedError
   */
  result(options?: AwaitOptions): Promise<TaskResult<T>> {
    return this.#await<TaskResult<T>>(options, true);
  }

  /**
   * Stops the task: it gets a `shutdown`, and is killed if it still runs after `timeoutMs` (5,000 unless given; 0 kills at
   * once). The owner is not affected. Resolves when the task has ended.
   */
  async stop(options: TaskStopOptions = {}): Promise<void> {
    only("", options, ["timeoutMs"]);
    const timeoutMs = delay("timeoutMs", options.timeoutMs ?? TASK_DEFAULTS.shutdownMs, 0, true);
    const { kernel, process } = this.#owner;
    const end = timeoutMs === 0 ? KILL : SHUTDOWN;
    kernel.shared?.object(this, "write");
    if (this.#state.outcome !== undefined) return;
    const wait = new TaskWait(this.pid, () => this.#exit(KILL));
    const promise = wait.await(kernel, process);
    wait.arm(this.#owner, timeoutMs, undefined);
    this.#stopping.push(wait);
    this.#exit(end);
    await promise;
  }

  /** {@link Task.stop} with its default time. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** @internal The owner has ended. */
  abandon(): void {
    this.#dispatch({ type: "orphaned", isLinked: this.#isLinked });
  }

  /** The pid of the task. */
  toString(): string {
    return String(this.pid);
  }

  #await<R>(options: AwaitOptions = {}, asResult: boolean): Promise<R> {
    let onTimeout: "kill" | "leave" = "kill";
    const wait = new TaskWait(this.pid, (it, timeoutMs, reason) =>
      this.#gaveUp(it, timeoutMs, reason, onTimeout),
    );
    const promise = wait.await(this.#owner.kernel, this.#owner.process) as Promise<R>;
    try {
      only("", options, ["timeoutMs", "signal", "onTimeout"]);
      onTimeout = oneOf("onTimeout", options.onTimeout ?? onTimeout, ["kill", "leave"]);
      const timeoutMs = options.timeoutMs ?? TASK_DEFAULTS.awaitTimeoutMs;
      delay("timeoutMs", timeoutMs, 0, true);
      checkOwner(`the task ${this.pid}`, this.#owner);
      if (this.#state.claim !== "free") throw new TaskAwaitedError(this.pid);
      this.#wait = { wait, asResult };
      this.#dispatch({ type: "awaited" });
      if (this.#wait !== undefined) wait.arm(this.#owner, timeoutMs, options.signal);
    } catch (error) {
      wait.fail(error);
    }
    return promise;
  }

  /** A wait has come to its limit. */
  #gaveUp(wait: TaskWait, timeoutMs: number | undefined, reason: unknown, onTimeout: "kill" | "leave"): void {
    const asResult = this.#wait?.asResult === true;
    this.#wait = undefined;
    if (timeoutMs === undefined) wait.fail(reason);
    else {
      const error = new TaskTimeoutError(this.pid, timeoutMs, onTimeout === "kill");
      if (asResult) wait.fulfil({ ok: false, error });
      else wait.fail(error);
    }
    this.#dispatch({ type: "gave-up", onTimeout });
  }

  #ended(reason: ExitReason): void {
    const { process } = this.#owner;
    const outcome: TaskOutcome =
      this.#body?.result !== undefined && reason.type === "normal"
        ? { ok: true, value: this.#body.result.value }
        : { ok: false, reason };
    this.#body = undefined;
    this.#dispatch({ type: "ended", outcome, owner: this.#fateOfOwner(process, reason) });
    if (process?.rare !== undefined) process.rare.waits = exclude(process.rare.waits, this);
    for (const wait of this.#stopping) wait.fulfil(undefined);
  }

  /** The effect of the task's end on its owner. The link is used after this. */
  #fateOfOwner(process: Process | undefined, reason: ExitReason): "dies" | "learns" | "apart" {
    if (!this.#isLinked || process === undefined) return "apart";
    this.#owner.kernel.shared?.links(process.pid);
    if (!process.alive) return "dies";
    const linked = includes(process.links, this.pid);
    if (!linked) return "apart";
    return exitAction("link", linked, reason, process.trapping, false) === "die" ? "dies" : "learns";
  }

  #dispatch(event: TaskEvent): void {
    this.#owner.kernel.shared?.object(this, "write");
    const [state, effects] = decide(this.#state, event);
    this.#state = state;
    for (const effect of effects) this.#perform(effect);
  }

  #perform(effect: TaskEffect): void {
    switch (effect.type) {
      case "settle":
        this.#settle(effect.outcome);
        return;
      case "kill":
        this.#exit(KILL);
        return;
      case "shut-down":
        this.#exit(SHUTDOWN);
        return;
      case "report":
        reportCrash(this.#owner.kernel, this.#process, effect.reason, undefined);
        return;
      default:
        effect satisfies never;
    }
  }

  #settle(outcome: TaskOutcome): void {
    if (this.#wait === undefined) return;
    const { wait, asResult } = this.#wait;
    this.#wait = undefined;
    if (outcome.ok) {
      wait.fulfil(asResult ? outcome : outcome.value);
      return;
    }
    const error = new TaskExitedError(this.pid, outcome.reason);
    if (asResult) wait.fulfil({ ok: false, error });
    else wait.fail(error);
  }

  /** Sends an exit signal to the task, whose end is not to be the owner's. */
  #exit(reason: ExitReason): void {
    const { kernel, process } = this.#owner;
    if (this.#isLinked && process !== undefined) kernel.links.unlink(process, this.pid);
    kernel.links.exit(process?.pid ?? kernel.outside, this.pid, reason, "exit");
  }
}

/**
 * Starts a task: a process that runs one function, beside its owner. The owner waits for the value with `value` or `result`.
 * Owner and task are linked: a crash of the task is the owner's crash, and any end of the owner, also a normal one, ends the
 * task. For code outside of all processes, give the system as the owner: a crash then rejects `value`, and is reported if
 * no code waits.
 *
 * @throws OptionError, ProcessExitedError when the owner has exited, SystemStoppedError
 * @see https://hexdocs.pm/elixir/Task.html
 * @example
 * const page = task(ctx, ({ signal }) => fetch("http://words.example", { signal }));
 * const body = await (await page.value({ timeoutMs: 2_000 })).text();
 */
export function task<R>(owner: TaskOwner, fn: TaskFunction<R>, options?: TaskOptions): Task<Awaited<R>> {
  return new Task<Awaited<R>>(fn, { owner: ownerOf(owner), isLinked: true }, options);
}

/** A wait has ended early: by its time, or for a reason. */
type GaveUp = (wait: TaskWait, timeoutMs: number | undefined, reason: unknown) => void;

/** The owner waits for its task: a request without a message. Its timeout and its AbortSignal may end the task too. */
class TaskWait extends Request<unknown> {
  readonly #task: Pid;
  readonly #gaveUp: GaveUp;

  constructor(task: Pid, gaveUp: GaveUp) {
    super();
    this.#task = task;
    this.#gaveUp = gaveUp;
  }

  /** Waits in the name of the owner. @throws OptionError */
  arm({ kernel, process }: Owner, timeoutMs: number, signal: AbortSignal | undefined): void {
    this.begin(kernel, process, String(this.#task), undefined, delay("timeoutMs", timeoutMs, 0, true));
    if (signal === undefined) return;
    kernel.shared?.signals();
    if (signal.aborted) this.aborted(signal.reason);
    else this.obey(signal);
  }

  override fire(): void {
    this.#gaveUp(this, this.timeoutMs, undefined);
  }

  override aborted(reason: unknown): void {
    this.#gaveUp(this, undefined, reason);
  }
}
