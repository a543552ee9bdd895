// The two kinds of process as a user writes them: a function body that receives, or callbacks that are called.

import type { BodyContext } from "./body-context.js";
import type { MailboxLimits } from "./bound.js";
import type { Context } from "./context.js";
import type { Signal } from "./entries.js";
import type { Inspected } from "./inspected.js";
import { type ExitInput, type ExitReason, toReason } from "./reason.js";
import type { Claim } from "./via.js";

/**
 * A process written as one function. The function runs once, receives messages when it chooses to, and the process exits
 * when the function returns. The returned value is ignored, unless it is a {@link Stop}.
 */
export type Body<M> = (ctx: BodyContext<M>) => unknown;

/**
 * A process written as callbacks: the fast path. One callback runs at a time. When it returns a promise, the process waits
 * for that promise before it takes the next message. A callback ends the process by returning {@link stop}`(reason)` or by
 * calling `ctx.exit(reason)`.
 */
export interface Callbacks<M> {
  /** Runs before the first message. The process counts as started when `init` has ended. */
  init?(ctx: Context<M>): unknown;
  /** Called for each message. */
  handle(ctx: Context<M>, message: M): unknown;
  /** Called for each signal: EXIT (when trapping), DOWN and group changes. */
  signal?(ctx: Context<M>, signal: Signal): unknown;
  /**
   * Called for the EXIT of the parent when trapping. Without this callback, `terminate` runs and the process exits with
   * that reason.
   */
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
  /**
   * @internal The library's own helper: telemetry does not follow it.
   */
  readonly isHelper?: boolean;
  /**
   * @internal How inspection reads the state of the process and replaces its definition. Called when the process is inspected,
   * between two messages.
   */
  inspected?(ctx: Context<M>): Inspected;
  /** Runs once before the process exits: when it stops by itself, throws, or traps exits and gets the EXIT of its parent. */
  terminate?(ctx: Context<M>, reason: ExitReason): unknown;
}

/** The code of a process: a function body or callbacks. */
export type Behaviour<M> = Body<M> | Callbacks<M>;

/** A function body as an object, which gets the value that the function returns: the body of a task. */
export abstract class ValueBody {
  /** The function. */
  abstract run(ctx: BodyContext<unknown>): unknown;
  /** Called at the end of the process, unless the value is a {@link Stop}. */
  abstract returned(value: unknown): void;
}

/** The code that the process of a {@link Behaviour} runs. The library alone writes bodies that are objects; they have no callbacks. */
export type Code = Behaviour<unknown> | (ValueBody & Partial<Record<keyof Callbacks<unknown>, undefined>>);

/** Whether a value is one of these. */
export function isCode(given: Code | undefined): given is Code {
  return typeof given === "function" || typeof given?.handle === "function" || given instanceof ValueBody;
}

/**
 * A value that a callback or body returns to end its process with a reason, without the cost of a throw. See {@link
 * stop}.
 */
export class Stop {
  /** The reason with which the process exits. */
  readonly reason: ExitReason;
  /** Created by the library. */
  constructor(reason: ExitReason) {
    this.reason = reason;
  }
}

/**
 * A value that a callback or handler returns to have its present message set aside, for a {@link Stash} to put it back later.
 */
export class SetAside {
  /** Called by the library, with the message. */
  readonly take: (entry: unknown) => void;
  /** Created by the library. */
  constructor(take: (entry: unknown) => void) {
    this.take = take;
  }
}

const STOP_NORMAL = /* @__PURE__ */ new Stop(toReason("normal"));

/**
 * Ends the process when a callback or body returns it.
 *
 * @param reason - the exit reason, `normal` unless given
 * @example const once = system.spawn({ handle: () => stop("shutdown") });
 */
export function stop(reason: ExitInput = "normal"): Stop {
  return reason === "normal" ? STOP_NORMAL : new Stop(toReason(reason));
}

/** Returned by `init` when there is nothing to run: the process exits with `normal`, and its start counts as ignored. */
export const ignore: unique symbol = Symbol("signalbox.ignore");

/**
 * Returned by `init` when the start takes longer: the process handles messages, but counts as started only after it has
 * called `ctx.started()`.
 */
export const deferStart: unique symbol = Symbol("signalbox.deferStart");

/** Options of a spawn. */
export interface SpawnOptions {
  /** The text that stands for the process in logs and in its pid. A label is no address; see `name`. */
  readonly label?: string;
  /** Registers the process under this name, or under this key of a registry (`registry.claim(key)`), before it runs. */
  readonly name?: string | Claim;
  /** Whether the process traps exits from its start on. Default false. */
  readonly trapExit?: boolean;
  /** A bound for the mailbox. Without it the mailbox grows as needed. */
  readonly mailbox?: MailboxLimits;
  /**
   * How many milliseconds a stopping system gives the process before it kills the process. Used for processes without a
   * parent. `Infinity` waits until the limit of the whole stop. Default: the limit `shutdownMs`.
   */
  readonly shutdown?: number;
}

export const SPAWN_OPTIONS: ReadonlySet<string> = new Set<keyof SpawnOptions>([
  ...(["label", "name", "trapExit", "mailbox", "shutdown"] as const),
]);

/** How the start of a process ended. */
export type StartOutcome =
  | { readonly type: "started" }
  | { readonly type: "ignored" }
  | {
      readonly type: "failed";
      /** The exit reason of the process; `shutdown` with a detail when `init` took too long. */
      readonly reason: ExitReason;
    };
