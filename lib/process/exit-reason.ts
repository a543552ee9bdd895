// Why a process ended, and why a message was not handled. Errors travel in an exit reason whole, with stack and cause. Every file may
// need these, so this one imports nothing.

/**
 * The reason a process ended with, as links, monitors and reports see it.
 *
 * | type | meaning |
 * |---|---|
 * | `normal` | its work was done |
 * | `shutdown` | an orderly stop; `detail` says more |
 * | `kill` | it ended itself with this word, which is not a kill signal |
 * | `killed` | an untrappable kill signal ended it |
 * | `noproc` | the process that it was linked to did not exist |
 * | `noconnection` | the node of the other process is unreachable; that process may still run |
 * | `crash` | it threw, rejected, or left a rejection unhandled |
 * | `custom` | a value of the user's own |
 */
export type ExitReason =
  | { readonly type: "normal" }
  | {
      readonly type: "shutdown";
      /** More about the stop: a value of the code that stopped the process. */
      readonly detail?: unknown;
    }
  | { readonly type: "kill" }
  | { readonly type: "killed" }
  | { readonly type: "noproc" }
  | { readonly type: "noconnection" }
  | {
      readonly type: "crash";
      /** The error, with its stack and cause. A thrown value that is no Error is the `cause` of a ThrownValueError. */
      readonly error: Error;
    }
  | {
      readonly type: "custom";
      /** The value of the user. */
      readonly value: unknown;
    };

/** Everything that is accepted as an exit reason: the plain words, an Error (which means a crash), or an ExitReason. */
export type ExitInput = "normal" | "shutdown" | "kill" | Error | ExitReason;

/** The reason of a process whose work is done. */
export const NORMAL: ExitReason = Object.freeze({ type: "normal" });
/** The reason of an orderly stop. */
export const SHUTDOWN: ExitReason = Object.freeze({ type: "shutdown" });
/** The word `kill` as a reason of one's own exit. */
export const KILL: ExitReason = Object.freeze({ type: "kill" });
/** The reason of a process that was killed. */
export const KILLED: ExitReason = Object.freeze({ type: "killed" });
/** The reason when a process does not exist. */
export const NOPROC: ExitReason = Object.freeze({ type: "noproc" });
/** The reason when a node is unreachable. */
export const NOCONNECTION: ExitReason = Object.freeze({ type: "noconnection" });

/** A `shutdown` reason with a detail. Every rule treats it like a plain `shutdown`. @example ctx.exit(shutdown("idle")); */
export function shutdown(detail: unknown): ExitReason {
  return { type: "shutdown", detail };
}

/**
 * An exit reason with a value of your own, to tell failures apart without an Error.
 *
 * @example ctx.exit(custom({ code: 7 }));
 */
export function custom(value: unknown): ExitReason {
  return { type: "custom", value };
}

/**
 * Why a message was not handled: there is no such process, the process exited before it handled the message, a bounded
 * mailbox was full, the node is unreachable, a signal arrived at a process without a `signal` callback, a bounded stash was
 * full, or a timer's message to another node holds what no wire can carry.
 */
export type DeadLetterReason =
  | "noproc"
  | "exited"
  | "mailbox-full"
  | "noconnection"
  | "unhandled"
  | "stash-full"
  | "unsendable";
