// The handle of a server, with its calls and casts as methods.

import type { Context } from "../../process/context.js";
import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import { type ExitInput, toReason } from "../../process/reason.js";
import {
  askMethods,
  type CallerOptions,
  callMethods,
  castMethods,
  checkCaller,
  type Methods,
  OptionedMethods,
  pidOf,
  type Target,
  tellToStop,
} from "../handle/methods.js";
import { CallMessage, CastMessage, StopMessage } from "./messages.js";
import type { Asks, Calls, Casts } from "./types.js";

/** The methods of the handles of one definition. */
export function methodsOf(calls: readonly string[], casts: readonly string[]): Methods {
  return {
    calls: callMethods(
      calls,
      (name, go) =>
        function (this: never, ...args: unknown[]) {
          return go(this, new CallMessage(name, args));
        },
    ),
    casts: castMethods(
      casts,
      (name, go) =>
        function (this: never, ...args: unknown[]) {
          go(this, new CastMessage(name, args));
        },
    ),
    asks: askMethods(calls, (name, args) => new CallMessage(name, args)),
  };
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
    return pidOf(this.#kernel, this.#address);
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
    const checked = checkCaller(options);
    return new OptionedMethods<Calls<C>, Casts<K>, Asks<C>>(
      this.#kernel,
      this.#address,
      this.#methods,
      checked,
    );
  }

  /**
   * Tells the server to stop, with reason `shutdown` unless given. The server handles the messages that are already in its
   * mailbox, runs its `terminate` and exits. A supervisor may restart it. Has no effect when the server has exited.
   *
   * @throws OptionError when the reason is none
   */
  stop(reason: ExitInput = "shutdown"): void {
    tellToStop(this.#kernel, this.#address, new StopMessage(toReason(reason)));
  }

  /** The pid or the name of the server. */
  toString(): string {
    return String(this.#address);
  }
}
