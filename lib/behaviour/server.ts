// A server: state behind calls and casts, after OTP's gen_server, with the types of its messages inferred.

import type { Context } from "../process/context.js";
import type { DownSignal, ExitSignal, GroupSignal } from "../process/entries.js";
import { OptionError } from "../process/errors.js";
import type { Kernel } from "../process/kernel.js";
import { text } from "../process/options.js";
import type { Pid } from "../process/pid.js";
import type { ExitReason } from "../process/reason.js";
import { type Launch, launch, type Startable } from "../process/start.js";
import type { ProcessSystem } from "../process/system.js";
import { serverProcess } from "./server-process.js";
import { callMethods, castMethods, ServerRef } from "./server-ref.js";
import type { Handler, StateOf } from "./types.js";

/** What a server does. Handlers change the state in place; each is awaited before the next message. */
export interface ServerOptions<A extends readonly unknown[], R, C, K> {
  /** Makes the state; the server counts as started when it is done. May throw, or return `ignore` or `stop(reason)`. */
  readonly init: (ctx: Context<unknown>, ...args: A) => R;
  /**
   * Requests with a reply: what a handler returns is the reply. It may also return `defer(…)`, `refuse(error)`,
   * `replyAndStop(value, reason)` or `stop(reason)`. A throw is the server's crash, and ends every call to it.
   */
  readonly calls?: C & Record<string, Handler<StateOf<R>>>;
  /** Requests without a reply. A throw is the server's crash. */
  readonly casts?: K & Record<string, Handler<StateOf<R>>>;
  /** EXIT (when trapping), DOWN and group changes. */
  readonly signals?: {
    readonly exit?: (state: StateOf<R>, signal: ExitSignal) => unknown;
    readonly down?: (state: StateOf<R>, signal: DownSignal) => unknown;
    readonly group?: (state: StateOf<R>, signal: GroupSignal) => unknown;
  };
  /** Messages that are neither calls nor casts, such as those of `ctx.sendAfter(ctx.self, …)`. */
  readonly info?: (state: StateOf<R>, message: unknown) => unknown;
  /** Runs when the server stops by its own will, throws, or traps exits and is told to stop. */
  readonly terminate?: (state: StateOf<R>, reason: ExitReason) => unknown;
  /** What to call it in reports. Default `server`. */
  readonly label?: string;
  /** Starts it trapping exits, so that `terminate` runs when its supervisor stops it. Default false. */
  readonly trapExit?: boolean;
}

/** What `defineServer` makes: start it, make it a child of a supervisor, or get handles of running ones. */
export interface ServerDefinition<A extends readonly unknown[], C, K> extends Startable<A, ServerRef<C, K>> {
  /**
   * A handle of a server that runs already, by its pid or by the name it is registered under: under a name it still
   * holds after a restart.
   */
  at(system: ProcessSystem, address: Pid<never> | string): ServerRef<C, K>;
}

/**
 * Defines a server.
 *
 * @throws OptionError when a part of the definition is not what it has to be
 * @see https://www.erlang.org/doc/apps/stdlib/gen_server.html
 * @example
 * const Stock = defineServer({
 *   init: (_ctx, start: number) => ({ left: start }),
 *   calls: { take: (state, n: number) => (state.left -= n) },
 *   casts: { restock: (state, n: number) => { state.left += n; } },
 * });
 * const stock = await system.start(Stock, 100);
 * await stock.call.take(3); // 97
 */
export function defineServer<
  A extends readonly unknown[],
  R,
  C = Record<never, never>,
  K = Record<never, never>,
>(options: ServerOptions<A, R, C, K>): ServerDefinition<A, C, K> {
  const { init, info, terminate } = options;
  checkFunction("init", init);
  const calls = checkHandlers("calls", options.calls);
  const casts = checkHandlers("casts", options.casts);
  const signals = checkHandlers("signals", options.signals);
  if (info !== undefined) checkFunction("info", info);
  if (terminate !== undefined) checkFunction("terminate", terminate);
  const label = text("label", options.label ?? "server");
  const { trapExit = false } = options;
  const makeCalls = callMethods(Object.keys(calls));
  const makeCasts = castMethods(Object.keys(casts));
  const ref = (address: Pid<never> | string, kernel: Kernel): ServerRef<C, K> =>
    new ServerRef<C, K>(address, kernel, makeCalls, makeCasts);
  return {
    at: (system, address) => ref(address, system.kernel),
    [launch]: (args): Launch<ServerRef<C, K>> => ({
      behaviour: serverProcess({ init, calls, casts, signals, info, terminate } as never, args),
      options: { label, trapExit },
      ref,
    }),
  };
}

function checkFunction(path: string, value: unknown): void {
  if (typeof value !== "function") throw new OptionError(path, value, "a function");
}

/** Without a prototype: `toString` is a handler only when somebody wrote one. */
function checkHandlers(path: string, handlers: object = {}): Record<string, Handler<never>> {
  if (typeof handlers !== "object" || handlers === null)
    throw new OptionError(path, handlers, "an object of functions");
  for (const [name, handler] of Object.entries(handlers)) checkFunction(`${path}.${name}`, handler);
  return Object.assign(Object.create(null), handlers);
}
