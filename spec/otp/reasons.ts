// The words in which a trace names exit reasons, and the reasons of this library that they stand for.

import { custom, type ExitReason, FailedChild } from "signalbox";

/** The reason that a trace means by `word`: the library's own where it has one, else a value of the user's. */
export function reasonOf(word: string): ExitReason {
  switch (word) {
    case "normal":
    case "shutdown":
    case "kill":
    case "killed":
    case "noproc":
    case "noconnection":
      return { type: word };
    default:
      return custom(word);
  }
}

/** How a trace names `reason`: a crash by its message alone, a shutdown with a detail by the detail's kind. */
export function wordOf(reason: ExitReason): string {
  switch (reason.type) {
    case "custom":
      return String(reason.value);
    case "crash":
      return reason.error.message;
    case "shutdown":
      return reason.detail === undefined ? "shutdown" : `shutdown:${kindOf(reason.detail)}`;
    default:
      return reason.type;
  }
}

/** OTP's tuple {failed_to_start_child, Id, Reason} is a FailedChild here. */
function kindOf(detail: unknown): string {
  return detail instanceof FailedChild ? "failed_to_start_child" : String(detail);
}
