// The two kinds of process as a user writes them: a function body that receives, or callbacks that are called.

import type { BodyContext } from "./body-context.js";
import type { Context } from "./context.js";
import type { Signal } from "./entries.js";
import { type ExitInput, type ExitReason, toReason } from "./reason.js";

/**
 * A process from a function: it runs once, receives when it likes, and its end is its exit. What it returns is
 * ignored, unless it is {@link Stop}.
 */
export type Body<M> = (ctx: BodyContext<M>) => unknown;

/**
 * A process from callbacks: the fast path. Each is called alone, and awaited when it returns a promise, before the
 * next message is looked at. A callback ends the process by returning {@link stop}`(reason)` or by `ctx.exit(reason)`.
 */
export interface Callbacks<M> {
  /** Runs before the first message. The process counts as started when it is done. */
  init?(ctx: Context<M>): unknown;
  handle(ctx: Context<M>, message: M): unknown;
  /** Meets EXIT (when trapping), DOWN and group changes. */
  signal?(ctx: Context<M>, signal: Signal): unknown;
  /** Meets the parent's EXIT when trapping, in place of the default: `terminate`, then the end with that reason. */
  parentExit?(ctx: Context<M>, reason: ExitReason): unknown;
  /**
   * @internal Meets its parent's `shutdown` when not trapping, at once and in the sender's turn. True: it ends by itself
   * when it has finished.
   */
  shutdown?(ctx: Context<M>, reason: ExitReason): boolean;
  /**
   * @internal A stopping system ends it after all others: others bring its end about.
   */
  readonly isLast?: boolean;
  /** Runs once when the process stops by its own will, throws, or traps exits and its parent tells it to stop. */
  terminate?(ctx: Context<M>, reason: ExitReason): unknown;
}

export type Behaviour<M> = Body<M> | Callbacks<M>;

/** Returned by a callback or body: the process ends with this reason, without the cost of a throw. */
export class Stop {
  readonly reason: ExitReason;
  constructor(reason: ExitReason) {
    this.reason = reason;
  }
}

const STOP_NORMAL = new Stop(toReason("normal"));

/**
 * Ends the process from within a callback: `return stop("shutdown")`.
 *
 * @param reason - `normal` unless given
 */
export function stop(reason: ExitInput = "normal"): Stop {
  return reason === "normal" ? STOP_NORMAL : new Stop(toReason(reason));
}

/** Returned by `init`: there is nothing to run here. The process ends `normal`; its starter is told `ignored`. */
export const ignore: unique symbol = Symbol("signalbox.ignore");

/**
 * Returned by `init`: the process takes messages already, but counts as started only when it calls `ctx.started()`,
 * as with proc_lib's init_ack.
 */
export const deferStart: unique symbol = Symbol("signalbox.deferStart");

/** Options of a spawn. */
export interface SpawnOptions {
  /** What to call the process in logs and in its pid's text. No address: see `name`. */
  readonly label?: string;
  /** Registers the process under this name before it runs. */
  readonly name?: string;
  /** Starts it trapping exits. */
  readonly trapExit?: boolean;
  /** Bounds the mailbox. Unbounded unless given. */
  readonly mailbox?: MailboxLimits;
  /**
   * Milliseconds that a stopping system gives the process to end in, before it kills it: for a process without a
   * parent. `Infinity`: as long as the whole stop may take. Default: the limit `shutdownMs`.
   */
  readonly shutdown?: number;
}

/**
 * A bound on waiting messages; signals are outside it and never dropped. When full:
 * `reject` throws MailboxFullError at the sender; `drop-newest` and `drop-oldest` make a dead letter of that message;
 * `exit` ends the receiver.
 */
export interface MailboxLimits {
  readonly capacity: number;
  readonly overflow: "reject" | "drop-newest" | "drop-oldest" | "exit";
}

/** How the start of a process ended. */
export type StartOutcome =
  | { readonly type: "started" }
  | { readonly type: "ignored" }
  | { readonly type: "failed"; readonly reason: ExitReason };
