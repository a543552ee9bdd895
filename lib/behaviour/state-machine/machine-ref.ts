// The handle of a state machine, with its calls and casts as methods. The classes behind them are created once per definition.

import type { Context } from "../../process/context.js";
import { NoProcessError, NotCallbacksError, OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { type ExitInput, toReason } from "../../process/reason.js";
import type { CallOptions, Reply } from "../../process/request.js";
import { CallEvent, CastEvent, StopMachine } from "./machine-process.js";
import type { TypedEvent } from "./moves.js";
import type { MachineAsks, MachineCalls, MachineCasts, Sendable } from "./types.js";

/** Options for the calls of a handle, and the process that makes them. */
export interface MachineCallerOptions extends CallOptions {
  /**
   * The process that makes the calls. When it exits, its calls end, and later calls and casts are refused. A machine that calls
   * itself gets CallSelfError instead of a deadlock.
   */
  readonly from?: Context<never> | Context<unknown>;
}

type Target = Pid<never> | string;

/** Creates the object with the methods of one handle. */
export type EventMethods = (kernel: Kernel, to: Target, options: MachineCallerOptions | undefined) => object;

/** Creates a class with one method for each event, so that all handles of a definition have the same shape. */
export function callMethods(types: readonly string[]): EventMethods {
  class MachineCallMethods {
    readonly #kernel: Kernel;
    readonly #to: Target;
    readonly #options: MachineCallerOptions | undefined;
    constructor(kernel: Kernel, to: Target, options: MachineCallerOptions | undefined) {
      this.#kernel = kernel;
      this.#to = to;
      this.#options = options;
    }
    static request(calls: MachineCallMethods, message: CallEvent): Promise<unknown> {
      const options = calls.#options;
      const from = options?.from;
      // A process that has exited makes no calls. Its signal holds the reason.
      if (from !== undefined && !from.alive) return Promise.reject(from.signal.reason);
      const caller = from?.self.process;
      const promise = message.await(calls.#kernel, caller);
      calls.#kernel.calls.request(caller, calls.#to, message, options);
      return promise;
    }
  }
  for (const type of types) {
    const value = function (this: MachineCallMethods, payload?: object): Promise<unknown> {
      return MachineCallMethods.request(this, new CallEvent({ ...payload, type }));
    };
    Object.defineProperty(MachineCallMethods.prototype, type, { value });
  }
  return (kernel, to, options) => new MachineCallMethods(kernel, to, options);
}

/** The same for calls whose reply goes to a callback. */
export function askMethods(types: readonly string[]): EventMethods {
  class MachineAskMethods {
    readonly #kernel: Kernel;
    readonly #to: Target;
    readonly #options: MachineCallerOptions | undefined;
    readonly #from: Process | undefined;
    constructor(kernel: Kernel, to: Target, options: MachineCallerOptions | undefined) {
      this.#kernel = kernel;
      this.#to = to;
      this.#options = options;
      this.#from = options?.from?.self.process;
    }
    static request(asks: MachineAskMethods, event: TypedEvent, onReply: unknown): void {
      const from = asks.#from;
      const options = asks.#options;
      if (!from?.alive) throw options?.from?.signal.reason;
      if (from.handle === undefined) throw new NotCallbacksError(from.pid);
      if (typeof onReply !== "function")
        throw new OptionError("onReply", onReply, "a function, the last argument");
      const message = new CallEvent(event);
      message.handBack(from, onReply as (reply: Reply<unknown>) => unknown);
      asks.#kernel.calls.request(from, asks.#to, message, options);
    }
  }
  for (const type of types) {
    const bare: TypedEvent = Object.freeze({ type });
    const value = function (this: MachineAskMethods, first: unknown, second?: unknown): void {
      if (typeof first === "function") MachineAskMethods.request(this, bare, first);
      else MachineAskMethods.request(this, { ...(first as object | undefined), type }, second);
    };
    Object.defineProperty(MachineAskMethods.prototype, type, { value });
  }
  return (kernel, to, options) => new MachineAskMethods(kernel, to, options);
}

/** How a definition makes the methods of its handles. */
export interface MachineMethods {
  readonly calls: EventMethods;
  readonly casts: EventMethods;
  readonly asks: EventMethods;
}

/** The calls and casts of a machine, with options. See {@link StateMachineRef.with}. */
export interface MachineCaller<V extends TypedEvent> {
  /** The calls of the machine, made with these options. */
  readonly call: MachineCalls<V>;
  /** The casts of the machine, made on behalf of `from` if given. */
  readonly cast: MachineCasts<V>;
  /** Sends an event, on behalf of `from` if given. */
  send(event: Sendable<V>): void;
}

/** The same on behalf of a process. See {@link StateMachineRef.with}. */
export interface MachineAsker<V extends TypedEvent> extends MachineCaller<V> {
  /**
   * The calls of the machine with a callback as their last argument, for a process made from callbacks. The process goes on, and
   * gets the reply between two of its messages, exactly once unless it exits first. It takes a fraction of an awaited call's time.
   */
  readonly ask: MachineAsks<V>;
}

/** The same for casts. */
export function castMethods(types: readonly string[]): EventMethods {
  class MachineCastMethods {
    readonly #kernel: Kernel;
    readonly #to: Target;
    readonly #from: MachineCallerOptions["from"];
    constructor(kernel: Kernel, to: Target, from: MachineCallerOptions["from"]) {
      this.#kernel = kernel;
      this.#to = to;
      this.#from = from;
    }
    static send(casts: MachineCastMethods, event: TypedEvent): void {
      send(casts.#kernel, casts.#to, casts.#from, event);
    }
  }
  for (const type of types) {
    const bare: TypedEvent = Object.freeze({ type });
    const value = function (this: MachineCastMethods, payload?: object): void {
      MachineCastMethods.send(this, payload === undefined ? bare : { ...payload, type });
    };
    Object.defineProperty(MachineCastMethods.prototype, type, { value });
  }
  return (kernel, to, options) => new MachineCastMethods(kernel, to, options?.from);
}

function send(kernel: Kernel, to: Target, from: MachineCallerOptions["from"], event: TypedEvent): void {
  if (from !== undefined && !from.alive) throw from.signal.reason;
  const message = new CastEvent(event);
  kernel.taps?.cast(message, message.method, to, from?.self.process);
  kernel.send(to, message);
}

/** A running state machine, by pid or by name. */
export class StateMachineRef<V extends TypedEvent> {
  /**
   * The calls of the machine as methods: `await payment.call.pay({ card })`. A call rejects with CallTimeoutError after 5,000 ms,
   * with CalleeExitedError when the machine exits first, and with the error of a refusal.
   */
  readonly call: MachineCalls<V>;
  /** The casts of the machine as methods: `payment.cast.cancel()`. A cast to a machine that has exited is a dead letter. */
  readonly cast: MachineCasts<V>;
  readonly #address: Target;
  readonly #kernel: Kernel;
  readonly #methods: MachineMethods;

  /** @internal */
  constructor(address: Target, kernel: Kernel, methods: MachineMethods) {
    this.#address = address;
    this.#kernel = kernel;
    this.#methods = methods;
    this.call = methods.calls(kernel, address, undefined) as MachineCalls<V>;
    this.cast = methods.casts(kernel, address, undefined) as MachineCasts<V>;
  }

  /**
   * The pid of the machine. For a handle by name: of the process that has the name now.
   *
   * @throws NoProcessError when no process has it
   */
  get pid(): Pid<never> {
    if (typeof this.#address !== "string") return this.#address;
    const holder = this.#kernel.names.find(this.#address);
    if (holder === undefined) throw new NoProcessError(`"${this.#address}"`, this.#kernel.node.name);
    return holder.pid;
  }

  /** Sends an event that is no call, as a whole: `payment.send({ type: "cancel" })`. Does the same as the methods of `cast`. */
  send(event: Sendable<V>): void {
    send(this.#kernel, this.#address, undefined, event as TypedEvent);
  }

  /**
   * The same calls and casts with another timeout, with an AbortSignal, or on behalf of a process.
   *
   * @example await payment.with({ timeoutMs: 100, signal }).call.pay({ card });
   */
  with(options: MachineCallerOptions & Required<Pick<MachineCallerOptions, "from">>): MachineAsker<V>;
  with(options: MachineCallerOptions): MachineCaller<V>;
  with(options: MachineCallerOptions): MachineCaller<V> {
    const { calls, casts, asks } = this.#methods;
    const kernel = this.#kernel;
    const address = this.#address;
    return {
      call: calls(kernel, address, options) as MachineCalls<V>,
      cast: casts(kernel, address, options) as MachineCasts<V>,
      send: (event) => send(kernel, address, options.from, event as TypedEvent),
      ...(options.from === undefined ? {} : { ask: asks(kernel, address, options) as MachineAsks<V> }),
    };
  }

  /**
   * Tells the machine to stop, with reason `shutdown` unless given. The machine handles the messages that are already in its
   * mailbox, runs its `terminate` and exits; what is postponed is not handled. Has no effect when the machine has exited.
   *
   * @throws OptionError when the reason is none
   */
  stop(reason: ExitInput = "shutdown"): void {
    const message = new StopMachine(toReason(reason));
    const address = this.#address;
    const alive = typeof address === "string" ? this.#kernel.names.find(address) : address.process;
    if (alive !== undefined) this.#kernel.send(address, message);
  }

  /** The pid or the name of the machine. */
  toString(): string {
    return String(this.#address);
  }
}
