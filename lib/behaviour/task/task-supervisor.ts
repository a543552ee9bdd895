// A supervisor of tasks, after Elixir's Task.Supervisor. Its tasks need not be linked to their owners, and end with it.

import { type Callbacks, type Stop, stop } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import { EffectLoop } from "../../process/effect-loop.js";
import type { Signal } from "../../process/entries.js";
import { NoProcessError, OptionError } from "../../process/errors.js";
import type { Inspected } from "../../process/inspected.js";
import type { Kernel } from "../../process/kernel.js";
import { checked, maybe, ms, whole } from "../../process/option-schema.js";
import { address as checkAddress, kernelOf, text } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { type ExitReason, KILL, SHUTDOWN } from "../../process/reason.js";
import { type Launch, launch, type Startable, supervising, supervisorSpawn } from "../../process/start.js";
import type { ProcessSystem } from "../../process/system.js";
import { TaskRefusedError } from "./errors.js";
import { TASK_DEFAULTS } from "./limits.js";
import { ownerOf, type TaskOwner } from "./owner.js";
import { Task, type TaskFunction, type TaskOptions } from "./task.js";
import {
  decide,
  initial,
  problem,
  type TaskSupervisorConfig,
  type TaskSupervisorEffect,
  type TaskSupervisorEvent,
  type TaskSupervisorState,
} from "./task-supervisor-machine.js";

/** Options of a task supervisor. */
export interface TaskSupervisorOptions {
  /** Registers the supervisor under this name. */
  readonly name?: string;
  /** The name of the supervisor in reports. Default `task supervisor`. */
  readonly label?: string;
  /** How many tasks may run at once, 1 or more. One more is refused with TaskRefusedError. Default `Infinity`. */
  readonly maxTasks?: number;
  /** How many milliseconds the tasks have to stop when the supervisor stops, until it kills them. Default 5,000. */
  readonly shutdownMs?: number;
}

/** The result of {@link taskSupervisor}: start it, or make it a child of a supervisor. */
export interface TaskSupervisorDefinition extends Startable<readonly [], TaskSupervisorRef> {
  readonly [supervising]: true;
  /**
   * A handle of a running task supervisor, by its pid or by its registered name. A handle by name still works after a restart.
   *
   * @throws OptionError
   */
  at(system: ProcessSystem, address: Pid | string): TaskSupervisorRef;
}

/** The process of a task supervisor. */
class TaskSupervisorProcess implements Callbacks<never> {
  readonly #loop: EffectLoop<TaskSupervisorState<Pid>, TaskSupervisorEvent<Pid>, TaskSupervisorEffect<Pid>>;
  #end: Stop | undefined;
  #ctx: Context<never> | undefined;

  constructor(config: TaskSupervisorConfig) {
    this.#loop = new EffectLoop(initial<Pid>(config), decide, (effect) => this.#perform(effect));
  }

  get tasks(): readonly Pid[] {
    return [...this.#loop.state.tasks];
  }

  /** Starts a task in the name of the supervisor, but in the step of the code that asks, so that there is a pid at once. */
  admit<T>(process: Process, start: () => Task<T>): Task<T> {
    process.kernel.shared?.process(process.pid, "write");
    const why = problem(this.#loop.state);
    if (why !== undefined) throw new TaskRefusedError(process.pid, why);
    const task = start();
    this.dispatch({ type: "started", task: task.pid });
    return task;
  }

  init(ctx: Context<never>): void {
    this.#ctx = ctx;
  }

  inspected(): Inspected {
    const { config, tasks, closing } = this.#loop.state;
    return { kind: "task supervisor", state: () => ({ ...config, tasks: [...tasks], closing }) };
  }

  handle(ctx: Context<never>, message: unknown): void {
    const { process } = ctx.self;
    process?.kernel.deadLetter(process.pid, message, "unhandled");
  }

  signal(_ctx: Context<never>, signal: Signal): Stop | undefined {
    return signal.type === "exit" ? this.dispatch({ type: "exited", task: signal.from }) : undefined;
  }

  parentExit(_ctx: Context<never>, reason: ExitReason): Stop | undefined {
    return this.dispatch({ type: "close", reason });
  }

  dispatch(event: TaskSupervisorEvent<Pid>): Stop | undefined {
    this.#loop.dispatch(event);
    return this.#end;
  }

  #perform(effect: TaskSupervisorEffect<Pid>): void {
    const ctx = this.#ctx as Context<never>;
    switch (effect.type) {
      case "shut-down":
      case "kill":
        for (const task of effect.tasks) ctx.exit(task, effect.type === "kill" ? KILL : SHUTDOWN);
        return;
      case "time-up-after":
        ctx.runAfter(effect.delayMs, () => this.dispatch({ type: "time-up" }));
        return;
      case "exit":
        this.#end = stop(effect.reason);
        return;
      default:
        effect satisfies never;
    }
  }
}

/** The handle of a running task supervisor. */
export class TaskSupervisorRef {
  readonly #address: Pid | string;
  readonly #kernel: Kernel;

  /** @internal */
  constructor(address: Pid | string, kernel: Kernel) {
    this.#address = address;
    this.#kernel = kernel;
  }

  /**
   * The pid of the supervisor. For a handle by name: of the process that has the name now.
   *
   * @throws NoProcessError when no process has it
   */
  get pid(): Pid {
    return typeof this.#address === "string" ? this.#kernel.locate(this.#address).pid : this.#address;
  }

  /**
   * Starts a task that is linked to its owner and to the supervisor: like {@link task}, and it ends with the supervisor too.
   *
   * @throws TaskRefusedError, NoProcessError when the supervisor does not run
   */
  async<R>(owner: TaskOwner, fn: TaskFunction<R>, options?: TaskOptions): Task<Awaited<R>> {
    return this.#start(owner, fn, true, options);
  }

  /**
   * Starts a task that is not linked to its owner: a crash rejects `value`, or is the error of `result`, and the owner lives.
   * The task goes on when its owner ends. If no code waits for the task, its crash is reported.
   *
   * @throws TaskRefusedError, NoProcessError when the supervisor does not run
   * @example
   * const outcome = await tasks.nolink(ctx, () => shelf.take("tea")).result({ timeoutMs: 100 });
   * log(outcome.ok ? outcome.value : outcome.error.message);
   */
  nolink<R>(owner: TaskOwner, fn: TaskFunction<R>, options?: TaskOptions): Task<Awaited<R>> {
    return this.#start(owner, fn, false, options);
  }

  /**
   * Starts a task whose result is not needed. A crash is reported.
   *
   * @throws TaskRefusedError, NoProcessError when the supervisor does not run
   */
  start(fn: TaskFunction<unknown>, options?: TaskOptions): Pid<unknown> {
    return this.#admitted({ kernel: this.#kernel, process: undefined }, fn, false, options).pid;
  }

  /** The tasks that run now, the oldest first. */
  tasks(): readonly Pid[] {
    const { process, supervisor } = this.#located();
    this.#kernel.shared?.process(process.pid, "write");
    return supervisor.tasks;
  }

  /** The pid or the name of the supervisor. */
  toString(): string {
    return String(this.#address);
  }

  #start<R>(
    owner: TaskOwner,
    fn: TaskFunction<R>,
    isLinked: boolean,
    options: TaskOptions | undefined,
  ): Task<Awaited<R>> {
    const found = ownerOf(owner);
    if (found.kernel !== this.#kernel)
      throw new OptionError("owner", owner, `a ctx of the system ${this.#kernel.node.name}, or that system`);
    return this.#admitted(found, fn, isLinked, options);
  }

  #admitted<T>(
    owner: ReturnType<typeof ownerOf>,
    fn: TaskFunction<unknown>,
    isLinked: boolean,
    options: TaskOptions | undefined,
  ): Task<T> {
    const { process, supervisor } = this.#located();
    return supervisor.admit(
      process,
      () => new Task<T>(fn, { owner, isLinked, supervisor: process }, options),
    );
  }

  #located(): { readonly process: Process; readonly supervisor: TaskSupervisorProcess } {
    const process = this.#kernel.locate(this.#address);
    const { behaviour } = process;
    if (behaviour instanceof TaskSupervisorProcess) return { process, supervisor: behaviour };
    throw new NoProcessError(`${this.#address} as a task supervisor`, this.#kernel.node.name);
  }
}

/**
 * Defines a supervisor of tasks. Tasks under it need not be linked to their owners. When it stops, all its tasks get a
 * `shutdown` at once, and those that still run after `shutdownMs` are killed.
 *
 * @throws OptionError when an option is not what it has to be
 * @see https://hexdocs.pm/elixir/Task.Supervisor.html
 * @example
 * const Tasks = taskSupervisor({ name: "tasks", maxTasks: 100 });
 * const tasks = await system.start(Tasks);
 * const outcome = await tasks.nolink(system, () => shelf.take("tea")).result();
 */
export function taskSupervisor(options: TaskSupervisorOptions = {}): TaskSupervisorDefinition {
  const { name, label, ...config } = checked(
    "",
    options,
    {
      name: maybe(text),
      label: text,
      maxTasks: whole(1, Number.POSITIVE_INFINITY),
      shutdownMs: ms(0, Number.POSITIVE_INFINITY),
    },
    { label: "task supervisor", maxTasks: Number.POSITIVE_INFINITY, shutdownMs: TASK_DEFAULTS.shutdownMs },
  );
  return {
    [supervising]: true,
    at: (system, address) => new TaskSupervisorRef(checkAddress("address", address), kernelOf(system)),
    [launch]: (): Launch<TaskSupervisorRef> => ({
      behaviour: new TaskSupervisorProcess(config),
      options: supervisorSpawn(label, name),
      ref: (pid, kernel) => new TaskSupervisorRef(pid, kernel),
    }),
  };
}
