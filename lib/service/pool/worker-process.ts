// The process of one worker: it owns a thread. When the process exits, for any reason, the thread ends; when the thread
// ends, the process exits and its reason says why.

import { type Callbacks, deferStart, stop } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { AsyncContext } from "../../process/environment.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { crash } from "../../process/reason.js";
import { captureSenderContext } from "../../process/sender-context.js";
import { isProxy, type ThreadEnd } from "../../process/thread.js";
import { WorkerExitedError, WorkerFileError } from "../../process/thread-errors.js";
import type { JobTrace } from "../telemetry/edges.js";
import { uncloneablePart } from "./cloneable.js";
import { revive } from "./revive.js";
import {
  type FromThread,
  type OpenThread,
  type PackedThrown,
  SAID,
  type ThreadPort,
  type ThreadSpec,
} from "./thread.js";

/** To a worker: run a job. Without a name: the job is withdrawn. */
export interface Task {
  readonly id: number;
  readonly name: string | undefined;
  readonly args: readonly unknown[];
  readonly transfer: readonly object[] | undefined;
  readonly trace: JobTrace | undefined;
}

/** From a worker to its pool. */
export class WorkerSaid {
  readonly worker: number;
  readonly message: FromThread;
  constructor(worker: number, message: FromThread) {
    this.worker = worker;
    this.message = message;
  }
}

export interface WorkerOptions {
  readonly open: OpenThread;
  readonly spec: ThreadSpec;
  readonly pool: Pid<unknown>;
  /** The number of the worker within its pool. */
  readonly worker: number;
  /** The thread begins to end; `gone` resolves when it has ended. */
  readonly onEnd: (gone: Promise<unknown>) => void;
}

export class WorkerProcess implements Callbacks<Task> {
  readonly #options: WorkerOptions;
  #port: ThreadPort | undefined;
  #gone: Promise<unknown> | undefined;
  #isReady = false;
  /** Jobs that the thread has not answered. */
  #open = 0;
  /** Where their answers belong, if messages carry contexts. */
  readonly #contexts = new Map<number, AsyncContext>();

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  /** The start lasts until the worker file is loaded. It traps no exits before that: a file may load for ever. */
  init(ctx: Context<Task>): unknown {
    const { open, spec } = this.#options;
    const events = {
      said: (message: FromThread): void => this.#said(ctx, message),
      ended: (end: ThreadEnd): void => this.#ended(ctx, end),
    };
    this.#port = open(spec, events, ctx as Context<never>);
    // However the process ends, a kill included.
    ctx.signal.addEventListener("abort", () => void this.#end(), { once: true });
    return deferStart;
  }

  handle(ctx: Context<Task>, { id, name, args, transfer, trace }: Task): void {
    const port = this.#port as ThreadPort;
    if (name === undefined) {
      port.post([id], undefined);
      return;
    }
    if (++this.#open === 1) port.keepAlive(true);
    const context = captureSenderContext((ctx.self.process as Process).kernel);
    if (context !== undefined) this.#contexts.set(id, context);
    try {
      port.post(trace === undefined ? [id, name, args] : [id, name, args, trace], transfer);
    } catch (error) {
      const path = uncloneablePart(args, "args", transfer ?? [], isProxy);
      this.#said(ctx, [id, SAID.uncloneable, [path, { value: error }]]);
    }
  }

  /** The pool stops this worker: the thread is gone before the process is. */
  terminate(): Promise<unknown> {
    return this.#end();
  }

  #end(): Promise<unknown> {
    if (this.#gone === undefined) {
      this.#gone = this.#port?.end() ?? Promise.resolve();
      this.#options.onEnd(this.#gone);
    }
    return this.#gone;
  }

  /** Called by the host, outside of the process's turns. */
  #said(ctx: Context<Task>, message: FromThread): void {
    if (!ctx.alive) return;
    const [id, said, value] = message;
    const { pool, worker } = this.#options;
    if (said === SAID.unloadable) {
      this.#fail(ctx, "could not be loaded", revive(value as PackedThrown));
      return;
    }
    if (said === SAID.ready && (value as readonly string[]).length === 0) {
      this.#fail(ctx, "exports no function", undefined);
      return;
    }
    const tell = (): void => ctx.send(pool, new WorkerSaid(worker, message));
    const context = this.#contexts.get(id);
    if (said < SAID.progress) {
      if (--this.#open === 0) this.#port?.keepAlive(false);
      this.#contexts.delete(id);
    }
    if (context === undefined) tell();
    else context.runInAsyncScope(tell);
    if (said === SAID.ready) this.#ready(ctx);
  }

  #ready(ctx: Context<Task>): void {
    this.#isReady = true;
    this.#port?.keepAlive(false);
    ctx.trapExit(true);
    ctx.started();
  }

  #fail(ctx: Context<Task>, why: string, cause: unknown): void {
    const error = new WorkerFileError(this.#options.spec.file, why, cause);
    (ctx.self.process as Process).perform(() => stop(crash(error)));
  }

  #ended(ctx: Context<Task>, { code, error }: ThreadEnd): void {
    if (!ctx.alive) return;
    const { file } = this.#options.spec;
    const ended = new WorkerExitedError(file, code, error);
    if (this.#isReady) (ctx.self.process as Process).perform(() => stop(crash(ended)));
    else this.#fail(ctx, "ended its thread while it was loaded", ended);
  }
}
