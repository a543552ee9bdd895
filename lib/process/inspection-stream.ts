// The reader's side of a trace: a bounded buffer that is an AsyncIterable, or a listener.

import { unwatchAbort, watchAbort } from "./abort.js";
import { type TraceEvent, type Tracer, tracerOf } from "./inspection-trace.js";
import type { Settler } from "./interception.js";
import type { Kernel } from "./kernel.js";
import { only } from "./known-options.js";
import { hear } from "./listening.js";
import { count, flag } from "./options.js";
import type { Process } from "./process.js";

/** Gets the events of a trace. */
export type TraceListener = (event: TraceEvent) => void;

/** The limit of a trace. */
export const TRACE_DEFAULTS = {
  /** Events that wait for the reader of an AsyncIterable. */
  capacity: 1_000,
} as const;

/** Options of a trace. */
export interface TraceOptions {
  /** Ends the trace. */
  readonly signal?: AbortSignal;
  /** Events that wait for the reader before the oldest one is dropped, 1 or more. Default 1,000. */
  readonly capacity?: number;
  /** Whether the trace shows the state when it has changed, which costs a copy after each message. Default true. */
  readonly state?: boolean;
}

/** A trace of one process. {@link Inspector.trace} makes it. */
export class Trace implements AsyncIterableIterator<TraceEvent, undefined>, AsyncDisposable {
  /** @internal */
  readonly state: boolean;
  readonly #kernel: Kernel;
  readonly #process: Process;
  readonly #tracer: Tracer | undefined;
  readonly #listener: TraceListener | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #capacity: number;
  readonly #waiting: Settler[] = [];
  #buffer: TraceEvent[] = [];
  #dropped = 0;
  #open: boolean;

  /** @internal */
  constructor(
    kernel: Kernel,
    locate: () => Process,
    listener: TraceListener | undefined,
    options: TraceOptions,
  ) {
    only("", options, ["signal", "capacity", "state"]);
    this.#capacity = count("capacity", options.capacity ?? TRACE_DEFAULTS.capacity, 1, true);
    this.state = flag("state", options.state ?? true);
    this.#kernel = kernel;
    this.#listener = listener;
    this.#signal = options.signal;
    this.#process = locate();
    kernel.shared?.process(this.#process.pid, "write");
    if (this.#signal !== undefined) kernel.shared?.signals();
    this.#open = this.#signal?.aborted !== true;
    this.#tracer = this.#open ? tracerOf(this.#process) : undefined;
    this.#tracer?.add(this);
    if (this.#open && this.#signal !== undefined) watchAbort(this.#signal, this);
  }

  /** The next event. Done when the trace has ended. */
  next(): Promise<IteratorResult<TraceEvent, undefined>> {
    if (this.#dropped > 0) {
      const event = { type: "dropped", count: this.#dropped } as const;
      this.#dropped = 0;
      return Promise.resolve({ done: false, value: event });
    }
    const value = this.#buffer.shift();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (!this.#open) return Promise.resolve(DONE);
    return new Promise((resolve, reject) => {
      const ends: Settler = { resolve, reject };
      this.#kernel.interception?.gate(undefined, "a trace", ends);
      this.#waiting.push(ends);
    });
  }

  /** Ends the trace: a `for await` that is left calls it. */
  return(): Promise<IteratorResult<TraceEvent, undefined>> {
    this.#close();
    return Promise.resolve(DONE);
  }

  /** The stream itself. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Ends the trace. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#close();
  }

  /** @internal */
  event(event: TraceEvent): void {
    const { shared } = this.#kernel;
    shared?.listeners("write");
    if (this.#listener !== undefined) {
      this.#tell(this.#listener, event);
      return;
    }
    const reader = this.#waiting.shift();
    if (reader !== undefined) {
      this.#settle(reader, { done: false, value: event });
      return;
    }
    if (this.#buffer.length >= this.#capacity) {
      this.#buffer.shift();
      this.#dropped++;
    }
    this.#buffer.push(event);
  }

  /** @internal The process has exited. The items in the buffer can still be read. */
  ended(): void {
    this.#open = false;
    if (this.#signal !== undefined) unwatchAbort(this.#signal, this);
    for (const reader of this.#waiting.splice(0)) this.#settle(reader, DONE);
  }

  /** @internal */
  aborted(): void {
    this.#close();
  }

  #close(): void {
    this.#buffer = [];
    this.#dropped = 0;
    if (!this.#open) return;
    this.#kernel.shared?.process(this.#process.pid, "write");
    this.#tracer?.remove(this);
    this.ended();
  }

  #settle(reader: Settler, result: IteratorResult<TraceEvent, undefined>): void {
    this.#kernel.scheduler.resume({ owner: undefined, resume: () => reader.resolve?.(result as never) });
  }

  #tell(listener: TraceListener, event: TraceEvent): void {
    hear(this.#kernel, `a listener of a trace of ${this.#process.pid}`, listener, () => listener(event));
  }
}

const DONE: IteratorResult<TraceEvent, undefined> = { done: true, value: undefined };
