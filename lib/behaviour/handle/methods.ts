// The common part of the handles of servers and state machines: methods for calls, casts and asks, whose classes are created once for each
// definition, so that all its handles have the same shape.

import { Context } from "../../process/context.js";
import { NoProcessError, NotCallbacksError, OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { delay, flag, withMethod } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import type { CallOptions, Reply, Request } from "../../process/request.js";

/** A cast as its receiver gets it. */
export abstract class Cast {
  /** A note of telemetry about the cast. */
  tap: unknown = undefined;
  /** The name of the cast. */
  abstract readonly method: string;
}

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
export function checkCaller(options: CallerOptions): CallerOptions {
  only("", options, OPTIONS);
  const { timeoutMs, signal, withdraw, from } = options;
  if (timeoutMs !== undefined) delay("timeoutMs", timeoutMs, 0, true);
  if (signal !== undefined) withMethod("signal", signal, "throwIfAborted", "an AbortSignal");
  if (withdraw !== undefined) flag("withdraw", withdraw);
  if (from !== undefined && !(from instanceof Context))
    throw new OptionError("from", from, "the ctx of a process");
  return options;
}

/** Where a handle leads. */
export type Target = Pid<never> | string;

/** Creates the object with the methods of one handle. */
export type MethodsOf = (kernel: Kernel, to: Target, options: CallerOptions | undefined) => object;

/** How a definition makes the methods of its handles. */
export interface Methods {
  readonly calls: MethodsOf;
  readonly casts: MethodsOf;
  readonly asks: MethodsOf;
}

/** Makes the method of one name. It passes its message on to `go`, with the object that it is called on. */
type MethodOf<M, R> = (
  name: string,
  go: (methods: never, message: M) => R,
) => (this: never, ...args: never[]) => R;

function define(prototype: object, names: readonly string[], methodOf: (name: string) => unknown): void {
  for (const name of names) Object.defineProperty(prototype, name, { value: methodOf(name) });
}

/** Methods that return a promise of the reply. */
export function callMethods(
  names: readonly string[],
  methodOf: MethodOf<Request, Promise<unknown>>,
): MethodsOf {
  class CallMethods {
    // Private: a call may have any name.
    readonly #kernel: Kernel;
    readonly #to: Target;
    readonly #options: CallerOptions | undefined;
    constructor(kernel: Kernel, to: Target, options: CallerOptions | undefined) {
      this.#kernel = kernel;
      this.#to = to;
      this.#options = options;
    }
    static go(calls: CallMethods, message: Request): Promise<unknown> {
      const options = calls.#options;
      const from = options?.from;
      // A process that has exited makes no calls.
      if (from !== undefined && !from.alive) return from.refusal();
      const caller = from?.self.process;
      const promise = message.await(calls.#kernel, caller);
      calls.#kernel.calls.request(caller, calls.#to, message, options);
      return promise;
    }
  }
  define(CallMethods.prototype, names, (name) => methodOf(name, CallMethods.go));
  return (kernel, to, options) => new CallMethods(kernel, to, options);
}

/** Methods that send and return at once. */
export function castMethods(names: readonly string[], methodOf: MethodOf<Cast, void>): MethodsOf {
  class CastMethods {
    readonly #kernel: Kernel;
    readonly #to: Target;
    readonly #from: CallerOptions["from"];
    constructor(kernel: Kernel, to: Target, from: CallerOptions["from"]) {
      this.#kernel = kernel;
      this.#to = to;
      this.#from = from;
    }
    static go(casts: CastMethods, message: Cast): void {
      sendCast(casts.#kernel, casts.#to, casts.#from, message);
    }
  }
  define(CastMethods.prototype, names, (name) => methodOf(name, CastMethods.go));
  return (kernel, to, options) => new CastMethods(kernel, to, options?.from);
}

/** Sends a cast. @throws the exit of the process that it is sent by */
export function sendCast(kernel: Kernel, to: Target, from: CallerOptions["from"], message: Cast): void {
  if (from !== undefined && !from.alive) throw from.signal.reason;
  kernel.taps?.cast(message, message.method, to, from?.self.process);
  kernel.send(to, message, from?.self.process);
}

/** Methods whose last argument is a callback for the reply. */
export function askMethods(
  names: readonly string[],
  messageOf: (name: string, args: readonly unknown[]) => Request,
): MethodsOf {
  class AskMethods {
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
    static go(asks: AskMethods, name: string, args: unknown[]): void {
      const from = asks.#from;
      const options = asks.#options;
      if (!from?.alive) throw options?.from?.signal.reason;
      if (from.handle === undefined) throw new NotCallbacksError(from.pid);
      const onReply = args.pop();
      if (typeof onReply !== "function")
        throw new OptionError("onReply", onReply, "a function, the last argument");
      const message = messageOf(name, args);
      message.handBack(from, onReply as (reply: Reply<unknown>) => unknown);
      asks.#kernel.calls.request(from, asks.#to, message, options);
    }
  }
  define(
    AskMethods.prototype,
    names,
    (name) =>
      function (this: AskMethods, ...args: unknown[]): void {
        AskMethods.go(this, name, args);
      },
  );
  return (kernel, to, options) => new AskMethods(kernel, to, options);
}

/** Makes what is used of a handle with options, once. */
export class OptionedMethods<Call, Casts, Ask> {
  readonly #make: (methods: MethodsOf) => unknown;
  readonly #methods: Methods;
  #call: Call | undefined;
  #cast: Casts | undefined;
  #ask: Ask | undefined;
  constructor(kernel: Kernel, to: Target, methods: Methods, options: CallerOptions) {
    this.#make = (methodsOf) => methodsOf(kernel, to, options);
    this.#methods = methods;
  }
  get call(): Call {
    this.#call ??= this.#make(this.#methods.calls) as Call;
    return this.#call;
  }
  get cast(): Casts {
    this.#cast ??= this.#make(this.#methods.casts) as Casts;
    return this.#cast;
  }
  get ask(): Ask {
    this.#ask ??= this.#make(this.#methods.asks) as Ask;
    return this.#ask;
  }
}

/** The pid behind a handle: of the process that has the name now. @throws NoProcessError when no process has it */
export function pidOf(kernel: Kernel, address: Target): Pid<never> {
  if (typeof address !== "string") return address;
  const holder = kernel.names.find(address);
  if (holder === undefined) throw new NoProcessError(`"${address}"`, kernel.node.name);
  return holder.pid;
}

/** Sends a request to stop, if there is a process to stop. */
export function tellToStop(kernel: Kernel, address: Target, message: unknown): void {
  const alive = typeof address === "string" ? kernel.names.find(address) : address.process;
  if (alive !== undefined) kernel.send(address, message);
}
