// The handle of a server, with its calls and casts as methods. The classes behind them are created once per definition.

import { Context } from "../../process/context.js";
import { NoProcessError, NotCallbacksError, OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { delay, flag, withMethod } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { type ExitInput, toReason } from "../../process/reason.js";
import type { CallOptions, Reply } from "../../process/request.js";
import { CallMessage, CastMessage, StopMessage } from "./messages.js";
import type { Asks, Calls, Casts } from "./types.js";

/** Options for the calls of a handle, and the process that makes them. */
export interface CallerOptions extends CallOptions {
  /**
   * The process that makes the calls. When it exits, its calls end, and later calls and casts are refused. A process that
   * calls itself gets CallSelfError instead of a deadlock.
   */
  readonly from?: Context<never> | Context<unknown>;
}

const OPTIONS: readonly (keyof CallerOptions)[] = ["timeoutMs", "signal", "withdraw", "from"];

/** Checks options once, where they are given. @throws OptionError */
function checkOptions(options: CallerOptions): CallerOptions {
  only("", options, OPTIONS);
  const { timeoutMs, signal, withdraw, from } = options;
  if (timeoutMs !== undefined) delay("timeoutMs", timeoutMs, 0, true);
  if (signal !== undefined) withMethod("signal", signal, "throwIfAborted", "an AbortSignal");
  if (withdraw !== undefined) flag("withdraw", withdraw);
  if (from !== undefined && !(from instanceof Context))
    throw new OptionError("from", from, "the ctx of a process");
  return options;
}

type Target = Pid<never> | string;

/** Creates the object with the methods of one handle. */
export type MethodsOf = (kernel: Kernel, to: Target, options: CallerOptions | undefined) => object;

/** Creates a class with one method for each call, so that all handles of a definition have the same shape. */
export function callMethods(names: readonly string[]): MethodsOf {
  class ServerCalls {
    // Private: a call may have any name.
    readonly #kernel: Kernel;
    readonly #to: Target;
    readonly #options: CallerOptions | undefined;
    constructor(kernel: Kernel, to: Target, options: CallerOptions | undefined) {
      this.#kernel = kernel;
      this.#to = to;
      this.#options = options;
    }
    static request(calls: ServerCalls, message: CallMessage): Promise<unknown> {
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
  for (const name of names) {
    const method = function (this: ServerCalls, ...args: readonly unknown[]): Promise<unknown> {
      return ServerCalls.request(this, new CallMessage(name, args));
    };
    Object.defineProperty(ServerCalls.prototype, name, { value: method });
  }
  return (kernel, to, options) => new ServerCalls(kernel, to, options);
}

/** The same for casts. */
export function castMethods(names: readonly string[]): MethodsOf {
  class ServerCasts {
    readonly #kernel: Kernel;
    readonly #to: Target;
    readonly #from: CallerOptions["from"];
    constructor(kernel: Kernel, to: Target, from: CallerOptions["from"]) {
      this.#kernel = kernel;
      this.#to = to;
      this.#from = from;
    }
    static send(casts: ServerCasts, message: CastMessage): void {
      const from = casts.#from;
      if (from !== undefined && !from.alive) throw from.signal.reason;
      casts.#kernel.taps?.cast(message, message.method, casts.#to, from?.self.process);
      casts.#kernel.send(casts.#to, message, from?.self.process);
    }
  }
  for (const name of names) {
    const method = function (this: ServerCasts, ...args: readonly unknown[]): void {
      ServerCasts.send(this, new CastMessage(name, args));
    };
    Object.defineProperty(ServerCasts.prototype, name, { value: method });
  }
  return (kernel, to, options) => new ServerCasts(kernel, to, options?.from);
}

/** The same for calls whose reply goes to a callback. */
export function askMethods(names: readonly string[]): MethodsOf {
  class ServerAsks {
    readonly #kernel: Kernel;
    readonly #to: Target;
    readonly #options: CallerOptions | undefined;
    readonly #from: Process | undefined;
    constructor(kernel: Kernel, to: Target, options: CallerOptions | undefined) {
      this.#kernel = kernel;
      this.#to = to;
      this.#options = options;
      this.#from = options?.from?.self.process;
    }
    static request(asks: ServerAsks, name: string, args: unknown[]): void {
      const from = asks.#from;
      const options = asks.#options;
      if (!from?.alive) throw options?.from?.signal.reason;
      if (from.handle === undefined) throw new NotCallbacksError(from.pid);
      const onReply = args.pop();
      if (typeof onReply !== "function")
        throw new OptionError("onReply", onReply, "a function, the last argument");
      const message = new CallMessage(name, args);
      message.handBack(from, onReply as (reply: Reply<unknown>) => unknown);
      asks.#kernel.calls.request(from, asks.#to, message, options);
    }
  }
  for (const name of names) {
    const method = function (this: ServerAsks, ...args: unknown[]): void {
      ServerAsks.request(this, name, args);
    };
    Object.defineProperty(ServerAsks.prototype, name, { value: method });
  }
  return (kernel, to, options) => new ServerAsks(kernel, to, options);
}

/** How a definition makes the methods of its handles. */
export interface Methods {
  readonly calls: MethodsOf;
  readonly casts: MethodsOf;
  readonly asks: MethodsOf;
}

/** The calls and casts of a server, with options. See {@link ServerRef.with}. */
export interface ServerCaller<C, K> {
  /** The calls of the server, made with these options. */
  readonly call: Calls<C>;
  /** The casts of the server, made on behalf of `from` if given. */
  readonly cast: Casts<K>;
}

/** The same on behalf of a process. See {@link ServerRef.with}. */
export interface ServerAsker<C, K> extends ServerCaller<C, K> {
  /**
   * The calls of the server with a callback as their last argument, for a process made from callbacks. The process goes on, and
   * gets the reply between two of its messages, exactly once unless it exits first. It takes a fraction of an awaited call's time.
   */
  readonly ask: Asks<C>;
}

/** Makes what is used of it, once. */
class OptionedRef<C, K> implements ServerAsker<C, K> {
  readonly #make: <T>(methods: MethodsOf) => T;
  readonly #methods: Methods;
  #call: Calls<C> | undefined;
  #cast: Casts<K> | undefined;
  #ask: Asks<C> | undefined;
  constructor(kernel: Kernel, to: Target, methods: Methods, options: CallerOptions) {
    this.#make = (methodsOf) => methodsOf(kernel, to, options) as never;
    this.#methods = methods;
  }
  get call(): Calls<C> {
    const call = this.#call ?? this.#make<Calls<C>>(this.#methods.calls);
    this.#call = call;
    return call;
  }
  get cast(): Casts<K> {
    const cast = this.#cast ?? this.#make<Casts<K>>(this.#methods.casts);
    this.#cast = cast;
    return cast;
  }
  get ask(): Asks<C> {
    const ask = this.#ask ?? this.#make<Asks<C>>(this.#methods.asks);
    this.#ask = ask;
    return ask;
  }
}

/** A running server, by pid or by name. */
export class ServerRef<C, K> {
  /**
   * The calls of the server as methods: `await stock.call.take(3)`. A call rejects with CallTimeoutError after 5,000 ms, with
   * CalleeExitedError when the server exits first, and with the error of a refusal.
   */
  readonly call: Calls<C>;
  /** The casts of the server as methods: `stock.cast.restock(5)`. A cast to a server that has exited is a dead letter. */
  readonly cast: Casts<K>;
  readonly #address: Target;
  readonly #kernel: Kernel;
  readonly #methods: Methods;

  /** @internal */
  constructor(address: Pid<never> | string, kernel: Kernel, methods: Methods) {
    this.#address = address;
    this.#kernel = kernel;
    this.#methods = methods;
    this.call = methods.calls(kernel, address, undefined) as Calls<C>;
    this.cast = methods.casts(kernel, address, undefined) as Casts<K>;
  }

  /**
   * The pid of the server. For a handle by name: of the process that has the name now.
   *
   * @throws NoProcessError when no process has it
   */
  get pid(): Pid<never> {
    if (typeof this.#address !== "string") return this.#address;
    const holder = this.#kernel.names.find(this.#address);
    if (holder === undefined) throw new NoProcessError(`"${this.#address}"`, this.#kernel.node.name);
    return holder.pid;
  }

  /**
   * The same calls and casts with another timeout, with an AbortSignal, or on behalf of a process. The result can be kept and used
   * for many calls. With `from` it also has `ask`: calls that are answered by a callback.
   *
   * @throws OptionError
   * @example await stock.with({ timeoutMs: 100, signal }).call.take(3);
   */
  with(options: CallerOptions & { readonly from: Context<never> | Context<unknown> }): ServerAsker<C, K>;
  with(options: CallerOptions): ServerCaller<C, K>;
  with(options: CallerOptions): ServerCaller<C, K> {
    return new OptionedRef(this.#kernel, this.#address, this.#methods, checkOptions(options));
  }

  /**
   * Tells the server to stop, with reason `shutdown` unless given. The server handles the messages that are already in its
   * mailbox, runs its `terminate` and exits. A supervisor may restart it. Has no effect when the server has exited.
   *
   * @throws OptionError when the reason is none
   */
  stop(reason: ExitInput = "shutdown"): void {
    const message = new StopMessage(toReason(reason));
    const address = this.#address;
    const alive = typeof address === "string" ? this.#kernel.names.find(address) : address.process;
    if (alive !== undefined) this.#kernel.send(address, message);
  }

  /** The pid or the name of the server. */
  toString(): string {
    return String(this.#address);
  }
}
