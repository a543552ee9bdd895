// Looking into a running process, after OTP's sys: its state, suspend and resume, traces, and the swap of its definition.
//
// A request is an entry of the mailbox that counts toward no bound. The process answers it in order with its messages: after
// those that arrived before. A suspended process takes requests alone, and all of them.

import type { Context } from "./context.js";
import { InspectionTask } from "./entries.js";
import { NoProcessError, OptionError, SystemStoppedError } from "./errors.js";
import { hold, release } from "./hold.js";
import { isSwappable, type Swappable, successor } from "./inspected.js";
import {
  FormatError,
  InspectSelfError,
  NotSwappableError,
  OtherNodeError,
  StateTooLargeError,
  SwapError,
} from "./inspection-errors.js";
import { Trace, type TraceListener, type TraceOptions } from "./inspection-stream.js";
import { formattedState, InspectionRequest, inspectedOf } from "./inspection-trace.js";
import type { Kernel } from "./kernel.js";
import { only } from "./known-options.js";
import { address, count, delay, kernelOf } from "./options.js";
import { runningOwner } from "./origin.js";
import type { Pid } from "./pid.js";
import type { Process } from "./process.js";
import type { CallOptions, Request } from "./request.js";
import { Copying, TooManyParts } from "./snapshot.js";
import type { ProcessSystem } from "./system.js";
import { isThenable } from "./thenable.js";

/** Options of {@link inspect}. */
export interface InspectOptions {
  /** The process that makes the requests. When it exits, its requests end. */
  readonly from?: Context<never> | Context<unknown>;
}

/** Options of {@link Inspector.state}. */
export interface StateOptions<T> extends CallOptions {
  /** Makes what is returned of the state. It gets what the `format` of the definition shows, and must not change it. */
  readonly format?: (state: unknown) => T;
  /**
   * Parts of the state that are copied at most: values in its arrays, objects, Maps and Sets. A larger state fails the
   * request; 1 or more, or `Infinity`. Default 100,000.
   */
  readonly maxParts?: number;
}

/** Options of {@link Inspector.swap}. */
export interface SwapOptions<Old> extends CallOptions {
  /** The definition that has to be running. It also gives the migration the type of the old state. Default: any. */
  readonly from?: Swappable<Old>;
}

/** A suspended process. Its disposal resumes the process. */
export interface Suspension extends AsyncDisposable {
  /** Resumes the process, as {@link Inspector.resume} does. */
  resume(options?: CallOptions): Promise<void>;
}

/** The requests of one inspector to one process. {@link inspect} makes it. */
export class Inspector {
  readonly #kernel: Kernel;
  readonly #to: Pid | string;
  readonly #from: InspectOptions["from"];

  /** @internal */
  constructor(kernel: Kernel, to: Pid | string, from: InspectOptions["from"]) {
    this.#kernel = kernel;
    this.#to = to;
    this.#from = from;
  }

  /**
   * The state of the process between two messages: a copy, which later messages do not change. Of a server it is the state, of a
   * supervisor its strategy and children, of plain callbacks the fields of their object. A function body has none: undefined.
   * The `format` of the definition says what is shown, and `options.format` makes the answer from that.
   *
   * Plain data is copied: objects without a class, arrays, Maps and Sets. Instances of classes are shared with the process.
   * Nothing checks the type that you state for the answer.
   *
   * A large state is copied in slices: other processes and the host go on meanwhile, and the process itself takes no message
   * until its state is copied, or the request has ended.
   *
   * @throws NoProcessError, OtherNodeError, InspectSelfError, FormatError, StateTooLargeError; CallTimeoutError after `timeoutMs` (5,000 ms unless
   *   given), CalleeExitedError when the process exits first, the reason of `signal` when that is aborted first
   * @see https://www.erlang.org/doc/apps/stdlib/sys.html#get_state/1
   * @example const left = await inspect(system, stock.pid).state({ format: (state) => (state as { left: number }).left });
   */
  async state<T = unknown>(options: StateOptions<T> = {}): Promise<T> {
    only("", options, ["format", "maxParts", ...CALL]);
    const { format } = options;
    const maxParts = count("maxParts", options.maxParts ?? MAX_PARTS, 1, true);
    return this.#ask<T>("the state", ["format", "maxParts", ...CALL], options, (process, request) =>
      copyState(process, request, maxParts, () => {
        const state = formattedState(process);
        return format === undefined ? (state as T) : format(state);
      }),
    );
  }

  /**
   * Suspends the process: it handles no messages and no signals, only requests of inspectors. Timeouts of its callers go on.
   * The EXIT of its parent, and every exit signal that would end it anyway, still ends it, so its supervisor can stop it in
   * time. Resolves once the process is suspended. Suspending it twice has no further effect: one `resume` resumes it.
   *
   * A function body is suspended while it waits for a message; until then it runs on.
   *
   * @throws as {@link Inspector.state}
   * @see https://www.erlang.org/doc/apps/stdlib/sys.html#suspend/1
   * @example await using _ = await inspect(system, "stock").suspend();
   */
  async suspend(options: CallOptions = {}): Promise<Suspension> {
    await this.#ask<void>("a suspension", CALL, options, (process, request) => {
      hold(process);
      request.fulfil();
    });
    const resume = (given?: CallOptions): Promise<void> => this.resume(given);
    return {
      resume,
      [Symbol.asyncDispose]: () =>
        resume({ timeoutMs: Number.POSITIVE_INFINITY }).catch((error: unknown) => {
          // A process that has ended needs no resumption.
          if (this.#alive) throw error;
        }),
    };
  }

  /**
   * Resumes the process. It goes on with the messages that have waited, in order. Has no effect on a process that is not
   * suspended.
   *
   * @throws as {@link Inspector.state}
   */
  resume(options: CallOptions = {}): Promise<void> {
    return this.#ask<void>("a resumption", CALL, options, (process, request) => {
      release(process);
      request.fulfil();
    });
  }

  /**
   * Replaces the definition of a running server. Between two messages, `migrate` makes the new state from the old one; calls and
   * casts that wait in the mailbox meet the new definition. The process takes no messages while `migrate` runs, which may be
   * asynchronous. A suspended process stays suspended. The process keeps its pid, name, links, monitors and timers, and
   * `init` does not run. A restart by a supervisor starts the definition of the child spec.
   *
   * `migrate` must not change the old state: when it throws, or takes longer than the timeout, the old definition goes on with it.
   *
   * @throws NotSwappableError when the process does not run a definition of that kind; SwapError when `migrate` throws; else
   *   as {@link Inspector.state}
   * @see https://www.erlang.org/doc/apps/stdlib/sys.html#change_code/4
   * @example
   * const Counter = defineServer({ init: () => ({ count: 0 }), calls: { next: (state) => ++state.count } });
   * const Stepper = defineServer({ init: () => ({ count: 0, step: 1 }), calls: { next: (state) => (state.count += state.step) } });
   * const counter = await system.start(Counter);
   * await inspect(system, counter.pid).swap(Stepper, ({ count }) => ({ count, step: 10 }), { from: Counter });
   * await counter.call.next(); // 10
   */
  async swap<Old, New>(
    definition: Swappable<New>,
    migrate: (old: Old) => NoInfer<New> | PromiseLike<NoInfer<New>>,
    options: SwapOptions<Old> = {},
  ): Promise<void> {
    if (!isSwappable(definition))
      throw new OptionError(
        "definition",
        definition,
        "a definition that a process can take over: defineServer(…)",
      );
    if (typeof migrate !== "function")
      throw new OptionError("migrate", migrate, "a function of the old state");
    only("", options, ["from", ...CALL]);
    const { from } = options;
    if (from !== undefined && !isSwappable(from))
      throw new OptionError("from", from, "the definition that has to be running");
    return this.#ask<void>("a swap", ["from", ...CALL], options, (process, request) =>
      swap(process, request, definition, migrate as (old: unknown) => unknown, from),
    );
  }

  /**
   * Traces the process from now on, also if it is suspended: the messages, calls, casts and signals that it takes, the ends of its
   * calls, and its state when it has changed. The trace ends when the process exits, when `options.signal` is aborted, or
   * when it is disposed of. A process that is not traced pays nothing.
   *
   * With a listener, each event goes to the listener at once, within the turn of the process. A listener that throws is an
   * unhandled rejection of the host. Without one, the trace is an AsyncIterable with a buffer of `capacity` events. When the buffer is
   * full, the oldest event is dropped, and an event of type `dropped` says how many are missing.
   *
   * @throws NoProcessError, OtherNodeError, OptionError
   * @see https://www.erlang.org/doc/apps/stdlib/sys.html#trace/2
   * @example
   * const trace = inspect(system, "stock").trace({ signal: AbortSignal.timeout(10_000) });
   * for await (const event of trace) console.log(event);
   */
  trace(options?: TraceOptions): Trace;
  trace(listener: TraceListener, options?: TraceOptions): Trace;
  trace(first: TraceListener | TraceOptions = {}, second: TraceOptions = {}): Trace {
    const listener = typeof first === "function" ? first : undefined;
    const options = typeof first === "function" ? second : first;
    return new Trace(this.#kernel, () => this.#locate(), listener, options);
  }

  get #alive(): boolean {
    try {
      return this.#locate().alive;
    } catch {
      return false;
    }
  }

  /** @throws NoProcessError, OtherNodeError */
  #locate(): Process {
    const kernel = this.#kernel;
    const to = this.#to;
    if (typeof to !== "string" && to.node !== kernel.node) throw new OtherNodeError(to, kernel.node.name);
    const process = kernel.locate(to);
    if (kernel.stopped) throw new NoProcessError(String(to), kernel.node.name);
    return process;
  }

  /** Puts a request into the mailbox of the process, and arms what may end it. */
  #ask<R>(
    what: string,
    known: readonly string[],
    options: CallOptions,
    answer: (process: Process, request: Request<R>) => unknown,
  ): Promise<R> {
    const kernel = this.#kernel;
    const from = this.#from;
    if (from !== undefined && !from.alive) return from.refusal();
    const owner = from?.self.process;
    const request = new InspectionRequest<R>();
    const promise = request.await(kernel, owner);
    try {
      only("", options, known);
      const timeoutMs = delay("timeoutMs", options.timeoutMs ?? kernel.limits.callTimeoutMs, 0, true);
      kernel.shared?.stopping("read");
      if (kernel.stopped) throw new SystemStoppedError(kernel.node.name);
      const process = this.#locate();
      if (process === owner || process.pid === runningOwner()) throw new InspectSelfError(process.pid, what);
      if (options.signal !== undefined) kernel.shared?.signals();
      options.signal?.throwIfAborted();
      request.begin(kernel, owner, process.pid, process, timeoutMs);
      if (options.signal !== undefined) request.obey(options.signal);
      process.deliverSignal(
        // A request that has ended meanwhile must not take effect.
        new InspectionTask(() => (request.open ? answer(process, request) : undefined)),
      );
    } catch (error) {
      request.fail(error);
    }
    return promise;
  }
}

/** Default of {@link StateOptions.maxParts}. */
const MAX_PARTS = 100_000;

/** Parts that are copied in one turn. */
const SLICE = 2_000;

/** Answers with a copy of what `read` gives. A process whose state takes more than a slice waits for the rest. */
function copyState<T>(
  process: Process,
  request: Request<T>,
  maxParts: number,
  read: () => T,
): PromiseLike<void> | undefined {
  const { kernel } = process;
  const failed = (cause: unknown): void =>
    request.fail(
      cause instanceof TooManyParts
        ? new StateTooLargeError(process.pid, maxParts)
        : new FormatError(process.pid, cause),
    );
  let copying: Copying<T>;
  /** False when there is more to copy. */
  const advance = (): boolean => {
    try {
      if (!copying.advance(SLICE)) return false;
      request.fulfil(copying.copy);
    } catch (cause) {
      failed(cause);
    }
    return true;
  };
  try {
    copying = new Copying(read(), maxParts);
  } catch (cause) {
    failed(cause);
    return undefined;
  }
  if (advance()) return undefined;
  return new Promise<void>((done) => {
    const later = (): void => {
      kernel.addTimer(0, {
        fire: () => (!request.open || !process.alive || advance() ? done() : later()),
      });
    };
    later();
  });
}

/** Names of the options of every request. */
const CALL = ["timeoutMs", "signal"] as const;

/** Runs between two messages of the process. */
function swap(
  process: Process,
  request: Request<void>,
  definition: Swappable<unknown>,
  migrate: (old: unknown) => unknown,
  from: Swappable<unknown> | undefined,
): PromiseLike<void> | undefined {
  const next = definition[successor];
  const inspected = inspectedOf(process);
  const point = inspected?.swap;
  const refuse = (why: string): undefined => void request.fail(new NotSwappableError(process.pid, why));
  if (inspected === undefined || point === undefined)
    return refuse("runs no definition that could be swapped");
  if (next.kind !== inspected.kind)
    return refuse(`is a ${inspected.kind}, and the new definition is for a ${next.kind}`);
  if (from !== undefined && from[successor].definition !== point.definition)
    return refuse("runs another definition than `from` says");
  const takeOver = (state: unknown): void => {
    // Too late: the caller has given up, and the old definition goes on.
    if (!request.open || !process.alive) return;
    point.replace(next.definition, state);
    process.rare?.tracer?.look();
    request.fulfil();
  };
  const failed = (cause: unknown): void => request.fail(new SwapError(process.pid, cause));
  try {
    const state = migrate(inspected.state());
    if (!isThenable(state)) {
      takeOver(state);
      return undefined;
    }
    return new Promise<void>((done) => {
      request.onClose = () => done();
      Promise.resolve(state).then(takeOver, failed);
    });
  } catch (cause) {
    failed(cause);
    return undefined;
  }
}

/**
 * Looks into a running process: its state, suspend and resume, a trace, and the swap of its definition. A name is looked up at
 * each request, so an inspector by name still works after a restart.
 *
 * Requests are answered in order with the messages of the process, as OTP's system messages are. So a process that is busy
 * with one message answers after it, and `system.info(pid)` is what can be seen meanwhile.
 *
 * @throws OptionError
 * @see https://www.erlang.org/doc/apps/stdlib/sys.html
 * @example
 * const inspector = inspect(system, "stock");
 * console.log(await inspector.state());
 */
export function inspect(
  system: ProcessSystem,
  process: Pid | string,
  options: InspectOptions = {},
): Inspector {
  only("", options, ["from"]);
  return new Inspector(kernelOf(system), address("process", process), options.from);
}
