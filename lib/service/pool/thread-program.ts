// The program of a thread: it loads the worker file, runs its functions and answers. A thread of the host gets the source of this
// class as text (node-thread.ts), so the class uses nothing of this file but types: all else comes with its kit. The simulator
// runs the same class in its own thread.

import type { JobTrace } from "../telemetry/edges.js";
import type { PoolJob } from "./job.js";
import type { FromThread, PackedError, PackedThrown, SAID, ToThread } from "./thread.js";

/** The functions that the program of a thread gets from its surroundings. */
export interface ThreadKit {
  readonly said: typeof SAID;
  readonly file: string;
  readonly idleMs: number;
  readonly maxHeapMb: number;
  load(file: string): Promise<Readonly<Record<string, unknown>>>;
  /** Whether the other side could not read the value. */
  isTooDeep(value: unknown): boolean;
  /** @throws DataCloneError, or RangeError for a value that is too deep */
  post(message: FromThread, transfer: readonly object[]): void;
  /** Calls `take` for every message from now on. */
  listen(take: (message: ToThread) => void): void;
  /** Takes a message that has arrived, without a turn of the event loop. */
  receive(): ToThread | undefined;
  /** Sleeps for a moment, or until a message arrives: true if one may have. */
  sleep(): boolean;
  uncloneablePart(value: unknown, path: string, transfer: readonly unknown[]): string;
  /** Runs a job inside its trace. */
  traced(trace: JobTrace, run: () => unknown): unknown;
  heapMb(): number;
  /** Milliseconds since some moment. */
  now(): number;
  after(ms: number, fn: () => void): () => void;
}

type Loaded = Readonly<Record<string, (this: PoolJob, ...args: readonly unknown[]) => unknown>>;

interface Running {
  readonly transfer: object[];
  aborted: boolean;
  controller: AbortController | undefined;
}

export class PoolThread {
  readonly #kit: ThreadKit;
  #functions: Loaded = {};
  /** Jobs that have begun and not ended. */
  readonly #running = new Map<number, Running>();
  /** Messages that a job has taken while it asked whether it is wanted. */
  readonly #early: ToThread[] = [];
  #cancelIdle: () => void = () => undefined;

  constructor(kit: ThreadKit) {
    this.#kit = kit;
  }

  async start(): Promise<void> {
    const { said, file, load, post, listen } = this.#kit;
    try {
      const module = await load(file);
      const { default: main } = module;
      // A CommonJS file whose names Node cannot see has them on its default export.
      const all = { ...(typeof main === "object" ? main : undefined), ...module };
      this.#functions = Object.fromEntries(
        Object.entries(all).filter(([, value]) => typeof value === "function"),
      ) as Loaded;
    } catch (error) {
      // The host ends the thread when it has heard why. A thread that ended by itself could be gone before it is heard.
      listen(() => undefined);
      post([0, said.unloadable, this.#pack(error)], []);
      return;
    }
    listen((message) => {
      this.#take(message);
      this.#next();
    });
    post([0, said.ready, Object.keys(this.#functions)], []);
    this.#next();
  }

  /**
   * Runs what has arrived, and sleeps when there is nothing: to be woken costs less than an event. It never sleeps or works on for
   * long, so that timers and output of the worker file go on.
   */
  #next(): void {
    const { receive, sleep, now, idleMs, after, post, said } = this.#kit;
    const until = now() + 10;
    do {
      for (let message = this.#early.shift() ?? receive(); message !== undefined; ) {
        this.#take(message);
        // The remaining messages come by event.
        if (this.#early.length === 0 && now() > until) return;
        message = this.#early.shift() ?? receive();
      }
    } while (this.#running.size === 0 && now() <= until && sleep());
    if (this.#running.size > 0 || idleMs === Number.POSITIVE_INFINITY) return;
    this.#cancelIdle();
    this.#cancelIdle = after(idleMs, () => post([0, said.idle, undefined], []));
  }

  #take(message: ToThread): void {
    this.#cancelIdle();
    if (message.length === 1) this.#abort(message[0]);
    else this.#run(...message);
  }

  #abort(id: number): void {
    const running = this.#running.get(id);
    if (running === undefined) return;
    running.aborted = true;
    running.controller?.abort();
  }

  #run(id: number, name: string, args: readonly unknown[], trace?: JobTrace): void {
    const running: Running = { transfer: [], aborted: false, controller: undefined };
    this.#running.set(id, running);
    try {
      const fn = this.#functions[name] as Loaded[string];
      const run = (): unknown => Reflect.apply(fn, this.#job(id, running), args);
      const result = (trace === undefined ? run() : this.#kit.traced(trace, run)) as
        | PromiseLike<unknown>
        | undefined;
      if (typeof result === "object" && result !== null && typeof result.then === "function")
        Promise.resolve(result).then(
          (value) => this.#settled(() => this.#fulfil(id, value, running.transfer)),
          (error) => this.#settled(() => this.#reject(id, error)),
        );
      else this.#fulfil(id, result, running.transfer);
    } catch (error) {
      this.#reject(id, error);
    }
  }

  /** A job has ended by its promise: no event follows that would look for the next one. */
  #settled(answer: () => void): void {
    answer();
    this.#next();
  }

  #fulfil(id: number, value: unknown, transfer: readonly object[]): void {
    const { said, post, maxHeapMb, heapMb, uncloneablePart } = this.#kit;
    this.#running.delete(id);
    const isWorn = maxHeapMb !== Number.POSITIVE_INFINITY && heapMb() > maxHeapMb;
    try {
      post(isWorn ? [id, said.fulfilled, value, true] : [id, said.fulfilled, value], transfer);
    } catch (error) {
      const path = uncloneablePart(value, "result", transfer);
      post([id, said.uncloneable, [path, this.#pack(error)], isWorn], []);
    }
  }

  #reject(id: number, thrown: unknown): void {
    const { said, post, maxHeapMb, heapMb } = this.#kit;
    this.#running.delete(id);
    const isWorn = maxHeapMb !== Number.POSITIVE_INFINITY && heapMb() > maxHeapMb;
    post([id, said.rejected, this.#pack(thrown), isWorn], []);
  }

  #job(id: number, running: Running): PoolJob {
    const { said, post } = this.#kit;
    const hear = (): void => this.#hear();
    return {
      get signal() {
        running.controller ??= new AbortController();
        if (running.aborted) running.controller.abort();
        return running.controller.signal;
      },
      get aborted() {
        hear();
        return running.aborted;
      },
      progress: (value) => post([id, said.progress, value], []),
      transfer: (object) => {
        running.transfer.push(object);
        return object;
      },
    };
  }

  /** Takes what arrives while a job works: jobs are for later. */
  #hear(): void {
    const { receive, after } = this.#kit;
    for (let message = receive(); message !== undefined; message = receive()) {
      if (message.length === 1) this.#abort(message[0]);
      else if (this.#early.push(message) === 1) after(0, () => this.#next());
    }
  }

  /** Packs what was thrown, with its causes. A cause that is among those above it is left out. */
  #pack(thrown: unknown, above: readonly unknown[] = []): PackedThrown {
    try {
      return this.#packed(thrown, above);
    } catch {
      return { value: "a value that cannot be read was thrown" };
    }
  }

  #packed(thrown: unknown, above: readonly unknown[]): PackedThrown {
    const isError = thrown instanceof Error || Object.prototype.toString.call(thrown) === "[object Error]";
    if (!isError) return { value: this.#cloneable(thrown) ? thrown : String(thrown) };
    const error = thrown as Error & { errors?: unknown; constructor?: { name?: unknown } };
    const path = [...above, error];
    const inner = (one: unknown): PackedThrown | undefined =>
      path.includes(one) || path.length > 10 ? undefined : this.#pack(one, path);
    const properties: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(error))
      if (key !== "cause" && key !== "errors" && this.#cloneable(value)) properties[key] = value;
    const errors = Array.isArray(error.errors) ? error.errors.map(inner) : undefined;
    const packed: PackedError = {
      name: String(error.name === "Error" ? (error.constructor?.name ?? "Error") : error.name),
      message: String(error.message),
      stack: typeof error.stack === "string" ? error.stack : undefined,
      properties,
      cause: error.cause === undefined ? undefined : inner(error.cause),
      errors: errors?.filter((one) => one !== undefined),
    };
    return { error: packed };
  }

  #cloneable(value: unknown): boolean {
    try {
      if (this.#kit.isTooDeep(value)) return false;
      structuredClone(value);
      return true;
    } catch {
      return false;
    }
  }
}
