// A routing function in a worker thread of its own: one that loops for ever is stopped, which no thread can do to
// itself. The price is a trip to the other thread per choice; payloads must be structured-cloneable.

import { Worker } from "node:worker_threads";
import { OptionError, SignalboxError } from "../process/errors.js";
import type { Kernel } from "../process/kernel.js";
import { delay, text } from "../process/options.js";
import type { Timer } from "../process/timers.js";
import type { ConsumerView } from "./consumer.js";
import type { Envelope } from "./envelope.js";
import type { RouteContext } from "./route.js";

/** The isolated function did not answer in time. Its thread was ended; the next choice gets a new one. */
export class RouteTimeoutError extends SignalboxError {
  readonly code = "ERR_ROUTE_TIMEOUT";
  constructor(timeoutMs: number) {
    super(`the isolated routing function did not answer within ${timeoutMs} ms; its thread was ended`);
  }
}

/** The isolated function threw, or its module could not be loaded; the text is what the thread said. */
export class IsolatedRouteError extends SignalboxError {
  readonly code = "ERR_ISOLATED_ROUTE";
}

export interface IsolatedOptions {
  /** Name of the module's export. Default `default`. */
  readonly export?: string;
  /** Milliseconds that a choice may take, the loading of the module included. Default 5,000. */
  readonly timeout?: number;
}

interface Pending {
  readonly question: object;
  readonly resolve: (id: string | undefined) => void;
  readonly reject: (error: Error) => void;
  readonly kernel: Kernel;
  readonly asker: AbortSignal;
  readonly onAbort: () => void;
  timer: Timer | undefined;
}

interface Answer {
  readonly n: number;
  readonly id?: string;
  readonly error?: string;
}

const THREAD = `
const { parentPort, workerData } = require("node:worker_threads");
const loading = import(workerData.module);
loading.catch(() => undefined);
parentPort.on("message", async ({ n, envelope, consumers, context }) => {
  try {
    const route = (await loading)[workerData.name];
    if (typeof route !== "function") throw new TypeError("the module has no function " + workerData.name);
    const chosen = await route(envelope, consumers, context);
    parentPort.postMessage({ n, id: typeof chosen === "object" && chosen !== null ? chosen.id : chosen });
  } catch (error) {
    parentPort.postMessage({ n, error: error instanceof Error ? error.message : String(error) });
  }
});
`;

/** A routing function that runs elsewhere: what {@link isolated} makes. */
export class IsolatedRoute<T = unknown> {
  /** In types only. */
  declare protected readonly routes: (envelope: Envelope<T>) => void;
  readonly #module: string;
  readonly #name: string;
  readonly #timeoutMs: number;
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | undefined;
  #last = 0;

  /** @internal */
  constructor(module: string, name: string, timeoutMs: number) {
    this.#module = module;
    this.#name = name;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * @internal Chooses among the consumers; rejects when the function fails or takes too long.
   * @param asker - aborted when nobody wants the choice any more
   */
  choose(
    kernel: Kernel,
    envelope: Envelope<T>,
    consumers: readonly ConsumerView[],
    context: RouteContext,
    asker: AbortSignal,
  ): Promise<string | undefined> {
    const n = ++this.#last;
    const { id, payload, timestamp, causal, schema, publisher } = envelope;
    const question = {
      n,
      envelope: { id, payload, timestamp, causal, schema, publisher },
      consumers: consumers.map(plain),
      context,
    };
    return new Promise((resolve, reject) => {
      const onAbort = (): void => this.#forget(n);
      asker.addEventListener("abort", onAbort, { once: true });
      const pending: Pending = { question, resolve, reject, kernel, asker, onAbort, timer: undefined };
      this.#pending.set(n, pending);
      this.#ask(n, pending);
    });
  }

  #ask(n: number, pending: Pending): void {
    try {
      this.#thread().postMessage(pending.question);
    } catch (error) {
      this.#settle(n)?.reject(error as Error);
      return;
    }
    if (this.#timeoutMs !== Number.POSITIVE_INFINITY)
      pending.timer = pending.kernel.addTimer(this.#timeoutMs, { fire: () => this.#timedOut(n) });
  }

  /** Ends the thread. The next choice would start another. */
  async close(): Promise<void> {
    const worker = this.#worker;
    this.#abandon(new IsolatedRouteError("the isolated routing function was closed"));
    await worker?.terminate();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #thread(): Worker {
    if (this.#worker === undefined) {
      const worker = new Worker(THREAD, {
        eval: true,
        workerData: { module: this.#module, name: this.#name },
      });
      worker.on("message", (answer: Answer) => {
        const pending = this.#settle(answer.n);
        if (answer.error !== undefined) pending?.reject(new IsolatedRouteError(answer.error));
        else pending?.resolve(answer.id);
      });
      worker.on("error", (error) => this.#lost(worker, error));
      worker.on("exit", () =>
        this.#lost(worker, new IsolatedRouteError("the thread of the routing function ended")),
      );
      this.#worker = worker;
    }
    this.#worker.ref();
    return this.#worker;
  }

  #settle(n: number): Pending | undefined {
    const pending = this.#pending.get(n);
    if (pending === undefined) return undefined;
    this.#pending.delete(n);
    pending.asker.removeEventListener("abort", pending.onAbort);
    if (pending.timer !== undefined) pending.kernel.cancelTimer(pending.timer);
    // A thread with nothing to do must not keep the host alive.
    if (this.#pending.size === 0) this.#worker?.unref();
    return pending;
  }

  /** The thread is lost to this question; those that waited behind it begin again in the next one. */
  #timedOut(n: number): void {
    this.#settle(n)?.reject(new RouteTimeoutError(this.#timeoutMs));
    this.#drop();
    for (const [other, pending] of [...this.#pending]) {
      if (pending.timer !== undefined) pending.kernel.cancelTimer(pending.timer);
      this.#ask(other, pending);
    }
  }

  /** Nobody waits for this choice any more. A thread that may still be at it, with nobody else waiting, has to end. */
  #forget(n: number): void {
    if (this.#settle(n) !== undefined && this.#pending.size === 0) this.#drop();
  }

  #lost(worker: Worker, error: unknown): void {
    if (this.#worker === worker) this.#abandon(error as Error);
  }

  #abandon(error: Error): void {
    this.#drop();
    for (const n of [...this.#pending.keys()]) this.#settle(n)?.reject(error);
  }

  #drop(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    void worker?.terminate();
  }
}

function plain(consumer: ConsumerView): object {
  const { id, inFlight, maxInFlight, bufferDepth, maxBuffer, pressure, weight, tags, delivered } = consumer;
  return { id, inFlight, maxInFlight, bufferDepth, maxBuffer, pressure, weight, tags, delivered };
}

/**
 * Runs a routing function in a worker thread, so that an endless loop in it is that dispatch's error and nobody else's.
 * The function gets consumers without their pids and answers with one of them or its id.
 *
 * @param module - URL of the module that exports it: `new URL("./route.js", import.meta.url)`
 * @throws OptionError
 */
export function isolated<T = unknown>(module: URL | string, options: IsolatedOptions = {}): IsolatedRoute<T> {
  const url = module instanceof URL ? module.href : text("module", module);
  if (!/^(file|data|node):/.test(url))
    throw new OptionError("module", url, "the URL of a module (file: or data:)");
  return new IsolatedRoute(
    url,
    text("export", options.export ?? "default"),
    delay("timeout", options.timeout ?? 5_000, 1, true),
  );
}
