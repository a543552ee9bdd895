// The trace of one process: the entries that it takes out of its mailbox, the results of its calls, and the changes of its state.
// Only a process that is traced has a Tracer, and its callbacks behind a Proxy; all others pay nothing.

import type { Callbacks } from "./behaviour.js";
import type { Context } from "./context.js";
import { isEntry, plain, type Signal, SignalEntry } from "./entries.js";
import type { Inspected } from "./inspected.js";
import { FormatError, StateTooLargeError } from "./inspection-errors.js";
import type { Process, ProcessTracer } from "./process.js";
import { DEAD, STARTING } from "./process-state.js";
import type { ExitReason } from "./reason.js";
import { Request } from "./request.js";
import { sameSnapshot, snapshot, TooManyParts } from "./snapshot.js";
import { isThenable } from "./thenable.js";
import { type Holding, holdFor } from "./via.js";

/**
 * One event in the life of a traced process. `atMs` is the time of the system's clock, as `ctx.now()` gives it.
 */
export type TraceEvent =
  | {
      /** The process takes a message. */
      readonly type: "message";
      /** When it happened, in monotonic milliseconds. */
      readonly atMs: number;
      /** The message. */
      readonly message: unknown;
    }
  | {
      /** The process takes a call. A server's call has a method; any other is the message that the caller built. */
      readonly type: "call";
      /** When it happened, in monotonic milliseconds. */
      readonly atMs: number;
      /** Numbers the calls of this trace. The `reply` has the same number. */
      readonly call: number;
      /** The method that was called. */
      readonly method: string | undefined;
      /** The arguments. */
      readonly args: readonly unknown[];
    }
  | {
      /** A server takes a cast. */
      readonly type: "cast";
      /** When it happened, in monotonic milliseconds. */
      readonly atMs: number;
      /** The method that was called. */
      readonly method: string;
      /** The arguments. */
      readonly args: readonly unknown[];
    }
  | {
      /** The process takes a signal: EXIT, DOWN or a group change. */
      readonly type: "signal";
      /** When it happened, in monotonic milliseconds. */
      readonly atMs: number;
      /** The signal. */
      readonly signal: Signal;
    }
  | {
      /** A call has ended: by its reply, or by an error. The error may be the timeout or the abort of the caller. */
      readonly type: "reply";
      /** When it happened, in monotonic milliseconds. */
      readonly atMs: number;
      /** The number of the call. */
      readonly call: number;
      /** Whether it was answered with a value. */
      readonly ok: boolean;
      /** The reply, or the error. */
      readonly value: unknown;
    }
  | {
      /** The state after a message or signal, formatted and copied, when it is not what it was before. */
      readonly type: "state";
      /** When it happened, in monotonic milliseconds. */
      readonly atMs: number;
      /** The state, formatted. */
      readonly state: unknown;
    }
  | {
      /** The state could not be formatted. */
      readonly type: "format";
      /** When it happened, in monotonic milliseconds. */
      readonly atMs: number;
      /** The error of the formatter, or the one for a state that is too large to be shown with each message. */
      readonly error: FormatError | StateTooLargeError;
    }
  | {
      /** The process has exited. Always the last event. */
      readonly type: "exit";
      /** When it happened, in monotonic milliseconds. */
      readonly atMs: number;
      /** The exit reason. */
      readonly reason: ExitReason;
    }
  | {
      /** The buffer of the trace was full: so many events are missing here. */
      readonly type: "dropped";
      /** How many events were dropped. */
      readonly count: number;
    };

/** Where the events of one trace go. Must not throw. */
export interface TraceSink {
  /** Whether the trace shows states. */
  readonly state: boolean;
  event(event: TraceEvent): void;
  /** The process has exited. */
  ended(): void;
}

/** A request of an inspector. It is no call that the process takes, so traces do not show it. */
export class InspectionRequest<R> extends Request<R> {}

/** All traces of one process. */
export class Tracer implements Holding, ProcessTracer {
  readonly #process: Process;
  readonly #sinks = new Set<TraceSink>();
  readonly #behaviour: Process["behaviour"];
  readonly #handle: Process["handle"];
  /** The numbers of the open calls that the process has taken, or that were open when the trace began. */
  readonly #calls = new WeakMap<Request, number>();
  #lastCall = 0;
  #lastState: unknown = NO_STATE;

  constructor(process: Process) {
    this.#process = process;
    this.#behaviour = process.behaviour;
    this.#handle = process.handle;
    for (let request = process.requests; request !== undefined; request = request.next)
      if (request.queuedIn !== process && !(request instanceof InspectionRequest)) this.#follow(request);
    holdFor(process, this);
    if (typeof this.#behaviour === "function" || this.#handle === undefined) return;
    process.behaviour = this.#wrap(this.#behaviour as Callbacks<unknown>);
    process.handle = (ctx, message) => this.#handled(ctx, message);
  }

  add(sink: TraceSink): void {
    this.#sinks.add(sink);
    if (sink.state && this.#lastState === NO_STATE && this.#process.state !== STARTING)
      this.#lastState = this.#readState();
  }

  /** Ends one trace. With the last one, the process is as it was before. */
  remove(sink: TraceSink): void {
    const process = this.#process;
    const behaviour = this.#behaviour;
    if (!this.#sinks.delete(sink) || this.#sinks.size > 0 || process.state === DEAD) return;
    process.behaviour = behaviour;
    process.handle = this.#handle;
    if (process.rare === undefined) return;
    process.rare.tracer = undefined;
    process.rare.holdings?.delete(this);
  }

  took(entry: unknown): void {
    if (isEntry(entry) && entry instanceof SignalEntry) this.#signal(entry.signal);
    else if (isEntry(entry) && entry instanceof Request) this.#called(entry, entry.message);
    else this.#message(plain(entry));
  }

  release(): void {
    const { exitReason } = this.#process;
    for (const sink of this.#sinks) {
      if (exitReason !== undefined) sink.event({ type: "exit", atMs: this.#now(), reason: exitReason });
      sink.ended();
    }
    this.#sinks.clear();
  }

  /** The behaviour, with its handlers of signals traced. `handle` is a field of the process. */
  #wrap(behaviour: Callbacks<unknown>): Callbacks<unknown> {
    return new Proxy(behaviour, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value !== "function") return value;
        if (key === "signal")
          return (ctx: Context<unknown>, signal: Signal) => {
            this.#signal(signal);
            return this.#after(Reflect.apply(value, target, [ctx, signal]));
          };
        return value.bind(target);
      },
    });
  }

  #handled(ctx: Context<unknown>, message: unknown): unknown {
    const process = this.#process;
    let request = process.requests;
    while (request !== undefined && !isTaken(request, message)) request = request.next;
    if (request === undefined) this.#message(message);
    else this.#called(request, message);
    return this.#after(this.#handle?.call(this.#behaviour as Callbacks<unknown>, ctx, message));
  }

  #called(request: Request, message: unknown): void {
    const { method, args } = inspectedOf(this.#process, this.#behaviour)?.describe?.(message) ?? {};
    const call = this.#follow(request);
    this.#emit({ type: "call", atMs: this.#now(), call, method, args: args ?? [message] });
  }

  #message(message: unknown): void {
    const known = inspectedOf(this.#process, this.#behaviour)?.describe?.(message);
    const atMs = this.#now();
    if (known === undefined) this.#emit({ type: "message", atMs, message });
    else this.#emit({ type: "cast", atMs, method: known.method, args: known.args });
  }

  #signal(signal: Signal): void {
    this.#emit({ type: "signal", atMs: this.#now(), signal });
  }

  /** Waits for the end of a call. Gives its number. */
  #follow(request: Request): number {
    const known = this.#calls.get(request);
    if (known !== undefined) return known;
    const call = ++this.#lastCall;
    this.#calls.set(request, call);
    const { onClose } = request;
    request.onClose = (ok, value) => {
      this.#emit({ type: "reply", atMs: this.#now(), call, ok, value });
      onClose?.(ok, value);
    };
    return call;
  }

  /** Looks at the state when a handler has ended. */
  #after(result: unknown): unknown {
    if (!isThenable(result)) {
      this.look();
      return result;
    }
    // The process waits for this promise alone, so that a cycle of calls is found as without a trace.
    return Promise.resolve(result).then((value) => {
      this.look();
      return value;
    });
  }

  look(): void {
    if (this.#process.state === DEAD || ![...this.#sinks].some(({ state }) => state)) return;
    const state = this.#readState();
    if (state === NO_STATE || sameSnapshot(state, this.#lastState)) return;
    this.#lastState = state;
    const atMs = this.#now();
    for (const sink of this.#sinks) if (sink.state) sink.event({ type: "state", atMs, state });
  }

  #readState(): unknown {
    if (inspectedOf(this.#process, this.#behaviour) === undefined) return NO_STATE;
    try {
      return snapshot(formattedState(this.#process, this.#behaviour), MOST_PARTS);
    } catch (cause) {
      const { pid } = this.#process;
      const error =
        cause instanceof TooManyParts ? new StateTooLargeError(pid, MOST_PARTS) : new FormatError(pid, cause);
      this.#emit({ type: "format", atMs: this.#now(), error });
      return NO_STATE;
    }
  }

  #emit(event: TraceEvent): void {
    for (const sink of this.#sinks) sink.event(event);
  }

  #now(): number {
    return this.#process.kernel.env.now();
  }
}

/** Whether this is the call that the process has just taken. */
function isTaken(request: Request, message: unknown): boolean {
  return (
    request.message === message && request.queuedIn === undefined && !(request instanceof InspectionRequest)
  );
}

/** The state is unknown. */
const NO_STATE: unique symbol = Symbol("no state");

/** Parts of a state that a trace copies and compares after each message. */
const MOST_PARTS = 10_000;

/** The tracer of a process, made for its first trace. */
export function tracerOf(process: Process): Tracer {
  const { extras } = process;
  extras.tracer ??= new Tracer(process);
  return extras.tracer as Tracer;
}

/** The members that the behaviour of a process offers to inspection, if it offers any. */
export function inspectedOf(
  process: Process,
  behaviour: Process["behaviour"] = process.behaviour,
): Inspected | undefined {
  return typeof behaviour === "function" ? undefined : behaviour.inspected?.(process.ctx);
}

/**
 * What may be shown of the state, not copied. Of plain callbacks, these are the fields of the object. A body has none.
 *
 * @throws what the formatter throws
 */
export function formattedState(
  process: Process,
  behaviour: Process["behaviour"] = process.behaviour,
): unknown {
  if (typeof behaviour === "function") return undefined;
  const inspected = inspectedOf(process, behaviour);
  if (inspected === undefined) return fieldsOf(behaviour);
  const state = inspected.state();
  return inspected.format === undefined ? state : inspected.format(state as never);
}

function fieldsOf(behaviour: object): unknown {
  const fields = Object.entries(behaviour).filter(([, value]) => typeof value !== "function");
  return fields.length === 0 ? undefined : Object.fromEntries(fields);
}
