// The process of a server: it passes calls and casts to their handlers, and the results of calls back to the callers.

import { type Callbacks, ignore, Stop, stop } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Signal } from "../../process/entries.js";
import { SignalboxError } from "../../process/errors.js";
import type { ExitReason } from "../../process/reason.js";
import { Request } from "../../process/request.js";
import { isThenable } from "../../process/thenable.js";
import { Deferred, Refusal, StopReply } from "./replies.js";

/** A call as the server receives it: the request itself is the message. */
export class CallMessage extends Request {
  readonly method: string;
  readonly args: readonly unknown[];
  constructor(method: string, args: readonly unknown[]) {
    super();
    this.method = method;
    this.args = args;
    this.message = this;
  }
}

/** A cast as the server receives it. */
export class CastMessage {
  readonly method: string;
  readonly args: readonly unknown[];
  /** What telemetry notes about the cast. */
  tap: unknown = undefined;
  constructor(method: string, args: readonly unknown[]) {
    this.method = method;
    this.args = args;
  }
}

/** The request of a handle to stop the server. */
export class StopMessage {
  readonly reason: ExitReason;
  constructor(reason: ExitReason) {
    this.reason = reason;
  }
}

/**
 * A server got a call or cast that its definition does not have. The handle probably belongs to another
 * kind of server.
 *
 * @remedy Use the handle that `start` or `at` of the right definition returned.
 */
export class UnknownRequestError extends SignalboxError {
  static override readonly name: string = "UnknownRequestError";
  /** Stable across versions: match on this rather than on the text. */
  readonly code = "ERR_UNKNOWN_REQUEST";
  /** The library creates these errors. */
  constructor(kind: string, method: string, known: readonly string[]) {
    super(`this server has no ${kind} "${method}"; it has ${known.length === 0 ? "none" : known.join(", ")}`);
  }
}

/** What a server is to inspection. */
export const SERVER = "server";

type Loose = (state: unknown, ...args: readonly unknown[]) => unknown;

/** The definition of a server, without the types of its author. */
export interface LooseServer {
  readonly init: (ctx: Context<never>, ...args: readonly unknown[]) => unknown;
  readonly calls: Readonly<Record<string, Loose>>;
  readonly casts: Readonly<Record<string, Loose>>;
  readonly signals?: { readonly [type in Signal["type"]]?: (state: unknown, signal: Signal) => unknown };
  readonly info?: (state: unknown, message: unknown) => unknown;
  readonly terminate?: (state: unknown, reason: ExitReason) => unknown;
  readonly format?: (state: never) => unknown;
}

export function serverProcess(server: LooseServer, args: readonly unknown[]): Callbacks<never> {
  let { calls, casts, signals, info } = server;
  let definition = server;
  let state: unknown;
  const keep = (made: unknown): unknown => {
    if (made instanceof Stop || made === ignore) return made;
    state = made;
    return undefined;
  };
  const handle = (ctx: Context<never>, message: unknown): unknown => {
    if (message instanceof CallMessage) {
      const handler = calls[message.method];
      if (handler === undefined) {
        message.fail(new UnknownRequestError("call", message.method, Object.keys(calls)));
        return undefined;
      }
      const result = handler(state, ...message.args);
      return isThenable(result)
        ? Promise.resolve(result).then((value) => answer(message, value))
        : answer(message, result);
    }
    if (message instanceof CastMessage) {
      const handler = casts[message.method];
      return handler === undefined ? unhandled(ctx, message) : onlyStop(handler(state, ...message.args));
    }
    if (message instanceof StopMessage) return stop(message.reason);
    return info === undefined ? unhandled(ctx, message) : onlyStop(info(state, message));
  };
  const terminate = (_ctx: unknown, reason: ExitReason): unknown => definition.terminate?.(state, reason);
  const callbacks: Callbacks<never> = {
    init: (ctx) => {
      const made = server.init(ctx, ...args);
      return isThenable(made) ? Promise.resolve(made).then(keep) : keep(made);
    },
    handle,
    signal: (ctx, signal) => {
      const handler = signals?.[signal.type];
      return handler === undefined ? unhandled(ctx, signal) : onlyStop(handler(state, signal));
    },
    inspected: () => ({
      kind: SERVER,
      state: () => state,
      format: definition.format,
      swap: {
        definition,
        replace: (next, migrated) => {
          definition = next as LooseServer;
          ({ calls, casts, signals, info } = definition);
          state = migrated;
          callbacks.terminate = terminate;
        },
      },
    }),
  };
  // Without `terminate` a process ends faster.
  if (server.terminate !== undefined) callbacks.terminate = terminate;
  return callbacks;
}

function unhandled(ctx: Context<never>, message: unknown): undefined {
  const { process } = ctx.self;
  process?.kernel.deadLetter(process.pid, message, "unhandled");
}

/** Ends a call as its handler decided. Returns the Stop that ends the server, if there is one. */
function answer(call: CallMessage, result: unknown): Stop | undefined {
  if (result instanceof Deferred) {
    result.begin({
      get open() {
        return call.open;
      },
      reply: (value) => call.fulfil(value),
      refuse: (error) => call.fail(error),
    });
    return undefined;
  }
  if (result instanceof Refusal) {
    call.fail(result.error);
    return undefined;
  }
  if (result instanceof Stop) {
    if (result instanceof StopReply) call.fulfil(result.value);
    return result;
  }
  call.fulfil(result);
  return undefined;
}

/** The result of a cast is ignored, unless it is a promise to await or a Stop. */
function onlyStop(result: unknown): unknown {
  return result instanceof Stop || isThenable(result) ? result : undefined;
}
