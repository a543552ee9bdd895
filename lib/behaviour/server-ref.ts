// The handle of a server: its calls and casts as methods, made once per definition.

import type { Context } from "../process/context.js";
import { NoProcessError } from "../process/errors.js";
import type { Kernel } from "../process/kernel.js";
import type { Pid } from "../process/pid.js";
import { type ExitInput, toReason } from "../process/reason.js";
import type { CallOptions } from "../process/request.js";
import { CallMessage, CastMessage, StopMessage } from "./server-process.js";
import type { Calls, Casts } from "./types.js";

/** Options of the calls of a handle, and who makes them. */
export interface CallerOptions extends CallOptions {
  /**
   * The process that asks: its exit then ends the call, after its exit calls and casts are refused, and calling itself
   * is an error instead of a deadlock.
   */
  readonly from?: Context<never> | Context<unknown>;
}

type Target = Pid<never> | string;

/** Makes the methods object of one handle. */
export type MethodsOf = (kernel: Kernel, to: Target, options: CallerOptions | undefined) => object;

/** A class with a method per call, so that every handle of a definition has the same shape. */
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
      // A process that has ended calls nobody; its signal tells why.
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
      casts.#kernel.send(casts.#to, message);
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

/** A running server, by pid or by name. */
export class ServerRef<C, K> {
  /** Calls: `await stock.call.take(3)`. Each ends by its reply, its timeout (5 s), or the server's death. */
  readonly call: Calls<C>;
  /** Casts: `stock.cast.restock(5)`. To a server that is gone they are dead letters. */
  readonly cast: Casts<K>;
  readonly #address: Target;
  readonly #kernel: Kernel;
  readonly #makeCalls: MethodsOf;
  readonly #makeCasts: MethodsOf;

  /** @internal */
  constructor(address: Target, kernel: Kernel, makeCalls: MethodsOf, makeCasts: MethodsOf) {
    this.#address = address;
    this.#kernel = kernel;
    this.#makeCalls = makeCalls;
    this.#makeCasts = makeCasts;
    this.call = makeCalls(kernel, address, undefined) as Calls<C>;
    this.cast = makeCasts(kernel, address, undefined) as Casts<K>;
  }

  /** The pid of the server; of whoever holds the name now, for a handle by name. @throws NoProcessError when nobody does */
  get pid(): Pid<never> {
    if (typeof this.#address !== "string") return this.#address;
    const holder = this.#kernel.names.find(this.#address);
    if (holder === undefined) throw new NoProcessError(`"${this.#address}"`, this.#kernel.node.name);
    return holder.pid;
  }

  /**
   * The same calls and casts with other limits, or in a process's name.
   *
   * @example await stock.with({ timeoutMs: 100, signal }).call.take(3);
   */
  with(options: CallerOptions): { readonly call: Calls<C>; readonly cast: Casts<K> } {
    return {
      call: this.#makeCalls(this.#kernel, this.#address, options) as Calls<C>,
      cast: this.#makeCasts(this.#kernel, this.#address, options) as Casts<K>,
    };
  }

  /**
   * Tells the server to end, with `shutdown` unless given, after what waits in its mailbox already; its `terminate`
   * runs, as with gen_server:stop. A supervisor may start it again. Nothing happens when it is gone.
   */
  stop(reason: ExitInput = "shutdown"): void {
    const message = new StopMessage(toReason(reason));
    const address = this.#address;
    const alive = typeof address === "string" ? this.#kernel.names.find(address) : address.process;
    if (alive !== undefined) this.#kernel.send(address, message);
  }

  toString(): string {
    return String(this.#address);
  }
}
