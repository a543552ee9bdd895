// The exit-signal table of OTP as one pure function (Erlang reference manual, "Processes: receiving exit signals").

import type { ExitReason } from "./reason.js";

/** Where an exit signal comes from: a link whose other end exited, or an explicit `exit(pid, reason)`. */
export type ExitSource = "link" | "exit";

/**
 * The effect of an exit signal on its receiver: `drop` ignores the signal, `die` ends the receiver with the reason of the signal,
 * `killed` ends it with `killed`, and `message` puts an EXIT into its mailbox.
 */
export type ExitAction = "drop" | "die" | "killed" | "message";

/**
 * Decides what an exit signal does to its receiver.
 *
 * @param source - along a link, or sent with `exit(pid, reason)`
 * @param linked - whether the link is still active on the receiver's side (meaningless for `exit`)
 * @param reason - the reason carried
 * @param trapping - whether the receiver traps exits
 * @param fromSelf - whether the receiver sent it to itself
 */
export function exitAction(
  source: ExitSource,
  linked: boolean,
  reason: ExitReason,
  trapping: boolean,
  fromSelf: boolean,
): ExitAction {
  if (source === "link") {
    if (!linked) return "drop";
    if (trapping) return "message";
    return reason.type === "normal" ? "drop" : "die";
  }
  if (reason.type === "kill") return "killed";
  if (trapping) return "message";
  if (reason.type === "normal" && !fromSelf) return "drop";
  return "die";
}
