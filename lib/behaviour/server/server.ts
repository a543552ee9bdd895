// A server: a state that calls and casts read and change, after OTP's gen_server. The types of the messages are inferred.

import type { MailboxLimits } from "../../process/bound.js";
import { checkBound } from "../../process/bound.js";
import type { Context } from "../../process/context.js";
import type { DownSignal, ExitSignal, GroupSignal } from "../../process/entries.js";
import { OptionError } from "../../process/errors.js";
import { type Swappable, successor } from "../../process/inspected.js";
import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { checked, fn, maybe, ms } from "../../process/option-schema.js";
import { address, callable, flag, kernelOf, text } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import type { ExitReason } from "../../process/reason.js";
import { type Launch, launch, type Startable, serverSpawn } from "../../process/start.js";
import type { ProcessSystem } from "../../process/system.js";
import { type LooseHandler, type LooseServer, SERVER, ServerProcess } from "./server-process.js";
import { methodsOf, ServerRef } from "./server-ref.js";
import type { CallScope, Handler, HandlerScope, HandlersOf, StateOf } from "./types.js";

/**
 * The definition of a server. Handlers change the state in place. The server awaits each handler before it takes the
 * next message.
 */
export interface ServerOptions<A extends readonly unknown[], R, C, K> {
  /**
   * Creates the state. The server counts as started when `init` has ended. `init` may throw, or return `ready(state, next)`,
   * `ignore` or `stop(reason)`.
   */
  readonly init: (ctx: Context<unknown>, ...args: A) => R;
  /**
   * Requests with a reply: the result of a handler is the reply. A handler may also return `reply(value, next)`, `noReply(next)`,
   * `defer(…)`, `refuse(error)`, `replyAndStop(value, reason)` or `stop(reason)`. A throw crashes the server and ends all its open
   * calls. Arrow functions get the state and the arguments; methods also have `this.caller` and `this.ctx`.
   */
  readonly calls?: C & Record<string, Handler<StateOf<R>>> & ThisType<CallScope>;
  /** Requests without a reply. A throw crashes the server. A handler may return `noReply(next)` or `stop(reason)`. */
  readonly casts?: K & Record<string, Handler<StateOf<R>>> & ThisType<HandlerScope>;
  /** Handlers of signals: EXIT (when trapping), DOWN and group changes. They may return what those of casts may. */
  readonly signals?: {
    /** Called for an EXIT, when the server traps exits. */
    readonly exit?: (this: HandlerScope, state: StateOf<R>, signal: ExitSignal) => unknown;
    /** Called for the DOWN of a monitored process. */
    readonly down?: (this: HandlerScope, state: StateOf<R>, signal: DownSignal) => unknown;
    /** Called for a change in a monitored group. */
    readonly group?: (this: HandlerScope, state: StateOf<R>, signal: GroupSignal) => unknown;
  };
  /** The handler of messages that are neither calls nor casts, such as those of `ctx.sendAfter(ctx.self, …)`. */
  readonly info?: (this: HandlerScope, state: StateOf<R>, message: unknown) => unknown;
  /**
   * Called when the server has got no message for `idleMs` milliseconds. Every message ends the wait, and the handler of that
   * message begins the next one. After `idle` itself another wait begins only if `idle` or the definition says so.
   */
  readonly idle?: (this: HandlerScope, state: StateOf<R>) => unknown;
  /**
   * How many milliseconds the server waits for a message before it calls `idle`, unless a handler returns another `idleMs`. 1 or
   * more, default `Infinity`.
   */
  readonly idleMs?: number;
  /** Runs before the server exits: when it stops by itself, throws, or traps exits and gets a `shutdown` from its parent. */
  readonly terminate?: (this: HandlerScope, state: StateOf<R>, reason: ExitReason) => unknown;
  /**
   * What inspection shows of the state. Use it to hide secrets and to leave out what is large. It must not change the state.
   * Default: all of it.
   */
  readonly format?: (state: StateOf<R>) => unknown;
  /** The name of the server in reports. Default `server`. */
  readonly label?: string;
  /** A bound for the mailbox. Without it the mailbox grows as needed. A start or a child spec may give another one. */
  readonly mailbox?: MailboxLimits;
  /** Whether the server traps exits, so that `terminate` runs when its supervisor stops it. Default false. */
  readonly trapExit?: boolean;
}

/** The result of `defineServer`: start it, make it a child of a supervisor, or get handles of running servers. */
export interface ServerDefinition<A extends readonly unknown[], C, K, S = unknown>
  extends Startable<A, ServerRef<C, K>>,
    Swappable<S> {
  /**
   * A handle of a running server, by its pid or by its registered name. A handle by name still works after a restart of the
   * server: `Stock.at(system, "stock")`.
   */
  at(system: ProcessSystem, address: Pid<never> | string): ServerRef<C, K>;
}

/**
 * Defines a server: a process with a state, calls that reply and casts that do not.
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
>(options: ServerOptions<A, R, C, K>): ServerDefinition<A, HandlersOf<C>, HandlersOf<K>, StateOf<R>> {
  type Ref = ServerRef<HandlersOf<C>, HandlersOf<K>>;
  const { label, trapExit, mailbox, ...server } = checked(
    "",
    options,
    {
      init: fn<LooseServer["init"]>(),
      calls: handlersAt,
      casts: handlersAt,
      signals: (path, given) => handlersAt(path, given, ["exit", "down", "group"]),
      info: maybe(fn<LooseHandler>()),
      idle: maybe(fn<LooseHandler>()),
      idleMs: ms(1, Number.POSITIVE_INFINITY),
      terminate: maybe(fn<LooseHandler>()),
      format: maybe(fn<(state: never) => unknown>()),
      label: text,
      mailbox: maybe(checkBound),
      trapExit: flag,
    },
    { calls: {}, casts: {}, signals: {}, idleMs: Number.POSITIVE_INFINITY, label: "server", trapExit: false },
  );
  if (server.idleMs !== Number.POSITIVE_INFINITY) callable("idle", server.idle);
  const methods = methodsOf(Object.keys(server.calls), Object.keys(server.casts));
  const ref = (address: Pid<never> | string, kernel: Kernel): Ref => new ServerRef(address, kernel, methods);
  return {
    at: (system, where) => ref(address("address", where), kernelOf(system)),
    [successor]: { kind: SERVER, definition: server },
    [launch]: (args): Launch<Ref> => ({
      behaviour: new ServerProcess(server, args),
      options: serverSpawn(label, trapExit, mailbox),
      ref,
    }),
  };
}

/** An object of functions. Without a prototype, so that no other name finds one. */
function handlersAt(path: string, given: unknown, known?: readonly string[]): Record<string, LooseHandler> {
  if (typeof given !== "object" || given === null)
    throw new OptionError(path, given, `an object of ${known?.join(", ") ?? "functions"}`);
  if (known !== undefined) only(path, given, known);
  for (const [name, handler] of Object.entries(given)) callable(`${path}.${name}`, handler);
  return Object.assign(Object.create(null), given);
}
