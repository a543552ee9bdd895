// The process of a server: it passes calls, casts and other messages to their handlers, and does what the results say.
//
// After a handler, in this order: the reply goes out, then a `continue` runs or an idle timeout begins, then the next message
// comes. Rules: "The rules of gen_server that the traces exercise", spec/otp/README.md.

import { type Callbacks, deferStart, ignore, SetAside, Stop, stop } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import { type Signal, TaskEntry } from "../../process/entries.js";
import type { Inspected } from "../../process/inspected.js";
import type { TimerRef } from "../../process/owned-timer.js";
import type { Process } from "../../process/process.js";
import type { ExitReason } from "../../process/reason.js";
import { isThenable } from "../../process/thenable.js";
import { BadReturnError, UnknownRequestError } from "./errors.js";
import { CallMessage, CastMessage, OpenCall, StopMessage } from "./messages.js";
import {
  Answer,
  type Caller,
  Deferred,
  isResult,
  type Next,
  NoReply,
  Ready,
  Refusal,
  type Result,
  StopReply,
} from "./replies.js";
import type { CallScope } from "./types.js";

/** The kind of a server in inspections. */
export const SERVER = "server";

export type LooseHandler = (this: CallScope, state: unknown, ...args: readonly unknown[]) => unknown;

/** The definition of a server, without the types of its author. */
export interface LooseServer {
  readonly init: (ctx: Context<never>, ...args: readonly unknown[]) => unknown;
  readonly calls: Readonly<Record<string, LooseHandler>>;
  readonly casts: Readonly<Record<string, LooseHandler>>;
  readonly signals: { readonly [type in Signal["type"]]?: LooseHandler };
  readonly info: LooseHandler | undefined;
  readonly idle: LooseHandler | undefined;
  readonly idleMs: number;
  readonly terminate: LooseHandler | undefined;
  readonly format: ((state: never) => unknown) | undefined;
}

/** The `this` of the handlers of one server. */
class Scope implements CallScope {
  readonly ctx: Context<unknown>;
  /** The call that is being handled. */
  call: CallMessage | undefined = undefined;
  constructor(ctx: Context<unknown>) {
    this.ctx = ctx;
  }
  get caller(): Caller<unknown> {
    // In types, only handlers of calls have a caller.
    return this.call === undefined ? (undefined as never) : new OpenCall(this.call);
  }
}

/** One wait of an idle timeout. */
interface IdleWait {
  readonly timer: TimerRef | undefined;
}

const AFTER_CALL = "a value, reply, noReply, defer, refuse, replyAndStop or stop";
const AFTER_MESSAGE = "noReply, stop or a value, which is ignored";
const AFTER_INIT = "the state, ready, stop or ignore";

export class ServerProcess implements Callbacks<never> {
  /** Present if the definition has one: without it a process ends faster. Declared only: a field would be there in any case. */
  declare terminate?: (ctx: Context<never>, reason: ExitReason) => unknown;
  private server!: LooseServer;
  private readonly args: readonly unknown[];
  private scope!: Scope;
  private state: unknown = undefined;
  private idleWait: IdleWait | undefined = undefined;
  /** Sends the reply of a `replyAndStop`, once `terminate` has run. */
  private farewell: (() => void) | undefined = undefined;

  constructor(server: LooseServer, args: readonly unknown[]) {
    this.server = server;
    this.args = args;
    this.follow(server);
  }

  private follow(server: LooseServer): void {
    this.server = server;
    if (server.terminate !== undefined) this.terminate = (_ctx, reason) => this.leave(reason);
    // An object that loses a property becomes slow, so only a swap takes it away.
    else if (this.terminate !== undefined) delete this.terminate;
  }

  init(ctx: Context<never>): unknown {
    this.scope = new Scope(ctx as unknown as Context<unknown>);
    let made: unknown;
    try {
      made = this.server.init(ctx, ...this.args);
    } catch (thrown) {
      made = returned(thrown);
    }
    return isThenable(made) ? this.awaited(made, (value) => this.begin(value)) : this.begin(made);
  }

  private begin(made: unknown): unknown {
    if (made === ignore || (made instanceof Stop && !(made instanceof StopReply))) return made;
    if (made instanceof Ready) {
      this.state = made.state;
      this.goOn("init", undefined, made.next);
    } else if (isResult(made) || made === deferStart) throw badReturn("init", undefined, made, AFTER_INIT);
    else {
      this.state = made;
      this.rest();
    }
    return undefined;
  }

  handle(ctx: Context<never>, message: unknown): unknown {
    if (this.idleWait !== undefined) this.stirred();
    if (message instanceof CallMessage) return this.call(message);
    const { casts, info } = this.server;
    if (message instanceof CastMessage) {
      const { method, args } = message;
      const handler = casts[method];
      if (handler !== undefined) return this.run("casts", method, handler, args);
      return this.unhandled(ctx, message, () => new UnknownRequestError("cast", method, Object.keys(casts)));
    }
    if (message instanceof StopMessage) return stop(message.reason);
    return info === undefined ? this.unhandled(ctx, message) : this.run("info", undefined, info, [message]);
  }

  signal(ctx: Context<never>, signal: Signal): unknown {
    if (this.idleWait !== undefined) this.stirred();
    const handler = this.server.signals[signal.type];
    return handler === undefined
      ? this.unhandled(ctx, signal)
      : this.run("signals", signal.type, handler, [signal]);
  }

  private call(call: CallMessage): unknown {
    const handler = this.server.calls[call.method];
    if (handler === undefined) {
      call.refuse(new UnknownRequestError("call", call.method, Object.keys(this.server.calls)));
      return this.rest();
    }
    const { scope } = this;
    scope.call = call;
    let result: unknown;
    try {
      result = invoke(handler, scope, this.state, call.args);
    } catch (thrown) {
      result = returned(thrown);
    }
    if (isPlain(result)) {
      scope.call = undefined;
      call.answer(result);
      return this.rest();
    }
    return isThenable(result)
      ? this.awaited(result, (value) => this.settle(call, value))
      : this.settle(call, result);
  }

  /** Ends a call as its handler decided. Returns the Stop that ends the server, if there is one. */
  private settle(call: CallMessage, result: unknown): Stop | SetAside | undefined {
    this.scope.call = undefined;
    if (result instanceof SetAside) return this.setAside(result);
    if (result instanceof Stop) {
      if (!(result instanceof StopReply)) return result;
      const { value } = result;
      if (this.terminate === undefined) call.answer(value);
      else this.farewell = () => call.answer(value);
      return result;
    }
    if (!isResult(result)) {
      call.answer(result);
      return this.rest();
    }
    if (result instanceof Answer) call.answer(result.value);
    else if (result instanceof Refusal) call.refuse(result.error);
    else if (result instanceof Deferred) result.begin(new OpenCall(call));
    else if (!(result instanceof NoReply)) throw badReturn("calls", call.method, result, AFTER_CALL);
    return this.goOn("calls", call.method, (result as Result).next);
  }

  /** Runs a handler that has no caller to reply to. */
  private run(
    part: string,
    name: string | undefined,
    handler: LooseHandler,
    args: readonly unknown[],
  ): unknown {
    const { scope } = this;
    scope.call = undefined;
    let result: unknown;
    try {
      result = invoke(handler, scope, this.state, args);
    } catch (thrown) {
      result = returned(thrown);
    }
    if (isPlain(result)) return this.rest();
    return isThenable(result)
      ? this.awaited(result, (value) => this.done(part, name, value))
      : this.done(part, name, result);
  }

  /** Goes on with the result of a promise, unless the server has ended by then. */
  private awaited(result: PromiseLike<unknown>, goOn: (value: unknown) => unknown): unknown {
    const { ctx } = this.scope;
    const ifAlive = (value: unknown): unknown => (ctx.alive ? goOn(value) : undefined);
    return Promise.resolve(result).then(ifAlive, (thrown) => ifAlive(returned(thrown)));
  }

  private done(part: string, name: string | undefined, result: unknown): Stop | SetAside | undefined {
    if (result instanceof SetAside) return this.setAside(result);
    if (result instanceof NoReply) return this.goOn(part, name, result.next);
    if (result instanceof StopReply || (isResult(result) && !(result instanceof Stop)))
      throw badReturn(part, name, result, AFTER_MESSAGE);
    return result instanceof Stop ? result : this.rest();
  }

  /** The process sets its message aside. For the server it counts as handled. */
  private setAside(aside: SetAside): SetAside {
    this.rest();
    return aside;
  }

  // ── before the next message ───────────────────────────────────────────────────────────────────────────────────

  private goOn(part: string, name: string | undefined, next: Next | undefined): undefined {
    if (next?.continue !== undefined) {
      const work = next.continue;
      this.process.runNext(() => this.run("continue", undefined, work, []));
    } else if (next?.idleMs !== undefined) {
      if (this.server.idle === undefined)
        throw badReturn(part, name, next, "idleMs when the definition has the handler `idle`");
      this.awaitIdle(next.idleMs);
    } else this.rest();
    return undefined;
  }

  /** The handler did not choose the next action: the definition may. */
  private rest(): undefined {
    const { idleMs } = this.server;
    if (idleMs !== Number.POSITIVE_INFINITY) this.awaitIdle(idleMs);
    return undefined;
  }

  private awaitIdle(idleMs: number): void {
    if (idleMs === Number.POSITIVE_INFINITY) return;
    // Messages that wait already are handled before the task, and cancel the wait.
    const isDue = (): unknown => (this.idleWait === wait ? this.idled() : undefined);
    const timer = idleMs === 0 ? undefined : this.scope.ctx.runAfter(idleMs, isDue);
    const wait: IdleWait = { timer };
    this.idleWait = wait;
    if (idleMs === 0) this.process.deliverSignal(new TaskEntry(isDue));
  }

  private idled(): unknown {
    this.idleWait = undefined;
    const { idle } = this.server;
    return idle === undefined ? undefined : this.run("idle", undefined, idle, []);
  }

  /** A message has come. */
  private stirred(): void {
    const timer = this.idleWait?.timer;
    this.idleWait = undefined;
    if (timer !== undefined) this.scope.ctx.cancel(timer);
  }

  private unhandled(ctx: Context<never>, message: unknown, why?: () => Error): undefined {
    const { process } = ctx.self;
    process?.kernel.deadLetter(process.pid, message, "unhandled", why);
    return this.rest();
  }

  private get process(): Process {
    return this.scope.ctx.self.process as Process;
  }

  inspected(): Inspected {
    const { server } = this;
    return {
      kind: SERVER,
      state: () => this.state,
      format: server.format,
      describe: (message) =>
        message instanceof CallMessage || message instanceof CastMessage ? message : undefined,
      swap: {
        definition: server,
        replace: (next, migrated) => {
          this.follow(next as LooseServer);
          this.state = migrated;
        },
      },
    };
  }

  // ── the end ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** A last reply goes out after `terminate`, even when that throws. */
  private leave(reason: ExitReason): unknown {
    const { farewell } = this;
    this.scope.call = undefined;
    let result: unknown;
    try {
      result = this.server.terminate?.call(this.scope, this.state, reason);
    } catch (error) {
      farewell?.();
      throw error;
    }
    if (farewell === undefined) return result;
    if (isThenable(result)) return Promise.resolve(result).finally(farewell);
    farewell();
    return undefined;
  }
}

/** Spreading the arguments takes longer than most handlers, so the common numbers of them are written out. */
function invoke(handler: LooseHandler, scope: Scope, state: unknown, args: readonly unknown[]): unknown {
  switch (args.length) {
    case 0:
      return handler.call(scope, state);
    case 1:
      return handler.call(scope, state, args[0]);
    case 2:
      return handler.call(scope, state, args[0], args[1]);
    default:
      return handler.call(scope, state, ...args);
  }
}

/** Neither a promise nor a result of the library: by far the most handlers return such a value. */
function isPlain(result: unknown): boolean {
  return (
    typeof result === "number" ||
    result === undefined ||
    typeof result === "string" ||
    typeof result === "boolean"
  );
}

/** As in OTP, a result that is thrown counts as returned. Anything else that is thrown is an error. */
function returned(thrown: unknown): unknown {
  if (isResult(thrown)) return thrown;
  throw thrown;
}

function badReturn(part: string, name: string | undefined, result: unknown, allowed: string): BadReturnError {
  return new BadReturnError(name === undefined ? part : `${part}.${name}`, result, allowed);
}
