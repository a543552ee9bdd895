// A routing function in a worker thread of its own. The thread can be stopped when the function loops for ever, which the
// main thread could not do to itself. Each choice costs a message to the thread and back, and payloads must be cloneable.

import { OptionError, SignalboxError } from "../process/errors.js";
import type { Kernel } from "../process/kernel.js";
import { only } from "../process/known-options.js";
import { delay, text } from "../process/options.js";
import { HostThread } from "../process/thread.js";
import type { Timer } from "../process/timer-queue.js";
import type { Envelope } from "./envelope.js";
import type { ConsumerView } from "./member.js";
import type { RouteContext } from "./route.js";

/**
 * An isolated routing function did not answer in time. Its thread was ended, and the next choice gets a new
 * thread.
 *
 * @remedy Look for an endless loop in the function, or raise `timeoutMs` of `isolated`.
 */
export class RouteTimeoutError extends SignalboxError {
  static override readonly name: string = "RouteTimeoutError";
  readonly code = "ERR_ROUTE_TIMEOUT";
  constructor(timeoutMs: number) {
    super(`the isolated routing function did not answer within ${timeoutMs} ms; its thread was ended`);
  }
}

/**
 * An isolated routing function threw, or its module could not be loaded. The text is the thread's error.
 *
 * @remedy Run the function directly in a test; check the URL of the module and its export.
 */
export class IsolatedRouteError extends SignalboxError {
  static override readonly name: string = "IsolatedRouteError";
  readonly code = "ERR_ISOLATED_ROUTE";
}

/** Options of {@link isolated}. */
export interface IsolatedOptions {
  /** Name of the export that is the routing function. Default `default`. */
  readonly export?: string;
  /** Milliseconds after which a choice fails; loading the module counts. `Infinity` for never. Default 5,000. */
  readonly timeoutMs?: number;
}

interface Pending {
  readonly n: number;
  readonly question: object;
  readonly resolve: (id: string | undefined) => void;
  readonly reject: (error: Error) => void;
  readonly kernel: Kernel;
  readonly asker: AbortSignal;
  readonly onAbort: () => void;
  timer: Timer | undefined;
  /** The question was sent to the thread. */
  asked: boolean;
  /** The question was in a thread that ended, with others. Suspects are asked one at a time. */
  suspect: boolean;
  /** A dispatch waits for the answer. */
  wanted: boolean;
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

/** A routing function in a worker thread. {@link isolated} makes it. Close it when it is not used any more. */
export class IsolatedRoute<T = unknown> {
  /** In types only. */
  declare protected readonly routes: (envelope: Envelope<T>) => void;
  readonly #module: string;
  readonly #name: string;
  readonly #timeoutMs: number;
  readonly #pending = new Map<number, Pending>();
  #worker: HostThread | undefined;
  #last = 0;
  /** Number of questions whose answer a dispatch waits for. */
  #wanted = 0;
  /** There may be suspects among the questions. */
  #careful = false;

  /** @internal */
  constructor(module: string, name: string, timeoutMs: number) {
    this.#module = module;
    this.#name = name;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * @internal Chooses among the consumers; rejects when the function fails or takes too long.
   * @param asker - aborted when the dispatch does not need the choice any more
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
      const onAbort = (): void => this.#forget(pending);
      asker.addEventListener("abort", onAbort, { once: true });
      const state = { timer: undefined, asked: false, suspect: false, wanted: true };
      const pending: Pending = { n, question, resolve, reject, kernel, asker, onAbort, ...state };
      this.#pending.set(n, pending);
      this.#wanted++;
      if (this.#careful) this.#next();
      else this.#ask(pending);
    });
  }

  /** Asks all questions at once. If there are suspects, it asks one of them alone, before all others. */
  #next(): void {
    const all = [...this.#pending.values()];
    const suspect = all.find((one) => one.suspect);
    this.#careful = suspect !== undefined;
    if (suspect === undefined) for (const one of all) this.#ask(one);
    else if (!all.some((one) => one.asked)) this.#ask(suspect);
  }

  #ask(pending: Pending): void {
    if (pending.asked) return;
    pending.asked = true;
    try {
      this.#thread().post(pending.question);
    } catch (error) {
      this.#settle(pending)?.reject(error as Error);
      if (this.#careful) this.#next();
      return;
    }
    if (this.#timeoutMs !== Number.POSITIVE_INFINITY)
      pending.timer = pending.kernel.addTimer(this.#timeoutMs, { fire: () => this.#timedOut(pending) });
  }

  /** Ends the thread. A later choice starts a new one. */
  async close(): Promise<void> {
    const worker = this.#worker;
    this.#drop();
    const closed = new IsolatedRouteError("the isolated routing function was closed");
    for (const pending of [...this.#pending.values()]) this.#settle(pending)?.reject(closed);
    await worker?.end();
  }

  /** Closes the route at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #thread(): HostThread {
    if (this.#worker === undefined) {
      const data = { module: this.#module, name: this.#name };
      const worker: HostThread = new HostThread(
        { program: THREAD, data },
        {
          said: (answer) => this.#answered(answer as Answer),
          ended: ({ error }) =>
            this.#lost(worker, error ?? new IsolatedRouteError("the thread of the routing function ended")),
        },
      );
      this.#worker = worker;
    }
    this.#worker.work();
    return this.#worker;
  }

  #answered(answer: Answer): void {
    const pending = this.#settle(this.#pending.get(answer.n));
    if (answer.error !== undefined) pending?.reject(new IsolatedRouteError(answer.error));
    else pending?.resolve(answer.id);
    if (this.#careful) this.#next();
  }

  #settle(pending: Pending | undefined): Pending | undefined {
    if (pending === undefined || !this.#pending.delete(pending.n)) return undefined;
    pending.asker.removeEventListener("abort", pending.onAbort);
    this.#stopClock(pending);
    if (pending.wanted) this.#wanted--;
    // An idle thread must not keep the host alive.
    if (this.#pending.size === 0) this.#worker?.rest();
    return pending;
  }

  #stopClock({ timer, kernel }: Pending): void {
    if (timer !== undefined) kernel.cancelTimer(timer);
  }

  /** Ends the thread. The questions behind this one are asked again in the next thread. */
  #timedOut(pending: Pending): void {
    this.#settle(pending)?.reject(new RouteTimeoutError(this.#timeoutMs));
    this.#again();
  }

  /**
   * No dispatch waits for this choice any more, but the thread may still work on it, perhaps for ever. If no other dispatch
   * waits for the thread, the thread ends. Otherwise the question keeps its place and its time limit, so that the questions
   * behind it lose nothing.
   */
  #forget(pending: Pending): void {
    pending.wanted = false;
    this.#wanted--;
    if (!pending.asked) this.#settle(pending);
    else if (this.#wanted === 0 || this.#timeoutMs === Number.POSITIVE_INFINITY) this.#again();
  }

  /** The thread has ended. A single open question is the cause. Of several open questions each is asked alone. */
  #lost(worker: HostThread, error: unknown): void {
    if (this.#worker !== worker) return;
    const asked = [...this.#pending.values()].filter((one) => one.asked);
    if (asked.length === 1) this.#settle(asked[0])?.reject(error as Error);
    else for (const one of asked) one.suspect = true;
    this.#again();
  }

  /** Drops the thread, and asks a new one the questions whose answers are still wanted. */
  #again(): void {
    this.#drop();
    for (const pending of [...this.#pending.values()]) {
      this.#stopClock(pending);
      pending.asked = false;
      if (!pending.wanted) this.#settle(pending);
    }
    this.#next();
  }

  #drop(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    void worker?.end();
  }
}

function plain(consumer: ConsumerView): object {
  const { id, inFlight, maxInFlight, bufferDepth, maxBuffer, pressure, weight, tags, delivered } = consumer;
  return { id, inFlight, maxInFlight, bufferDepth, maxBuffer, pressure, weight, tags, delivered };
}

/**
 * Runs a routing function in a worker thread. If the function loops for ever, only the dispatch that asked it fails. The
 * function gets the consumers without their pids, and answers with one of them or its id. Envelopes must be cloneable
 * (`structuredClone`).
 *
 * @param module - URL of the module that exports it: `new URL("./route.js", import.meta.url)`
 * @throws OptionError
 * @example
 * await using route = isolated<Order>(new URL("./route.js", import.meta.url), { timeoutMs: 100 });
 * const pickers = new ConsumerGroup<Order>({ route });
 */
export function isolated<T = unknown>(module: URL | string, options: IsolatedOptions = {}): IsolatedRoute<T> {
  only("", options, ["export", "timeoutMs"]);
  const url = module instanceof URL ? module.href : text("module", module);
  if (!/^(file|data|node):/.test(url))
    throw new OptionError("module", url, "the URL of a module (file: or data:)");
  return new IsolatedRoute(
    url,
    text("export", options.export ?? "default"),
    delay("timeoutMs", options.timeoutMs ?? 5_000, 1, true),
  );
}
