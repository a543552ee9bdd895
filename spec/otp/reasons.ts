// The words in which a trace names exit reasons, and the reasons of this library that they stand for.

import { custom, type ExitReason, FailedChild, SignalboxError, shutdown } from "signalbox";

/** What the traces call the errors that the library raises for what a callback did wrong, by their codes. */
const WORDS: { readonly [code: string]: string } = {
  ERR_BAD_ACTION: "bad_action",
  ERR_BAD_ENTER_ACTION: "bad_enter_action",
  ERR_BAD_ENTER_STEP: "bad_enter_return",
  ERR_BAD_RETURN: "bad_return",
  ERR_BAD_STEP: "bad_return",
};

/** The reason that a trace means by `word`: the library's own where it has one, else a value of the user's. */
export function reasonOf(word: unknown): ExitReason {
  switch (word) {
    case "normal":
    case "shutdown":
    case "kill":
    case "killed":
    case "noproc":
    case "noconnection":
      return { type: word };
    default:
      return typeof word === "string" && word.startsWith(SHUTDOWN)
        ? shutdown(word.slice(SHUTDOWN.length))
        : custom(word);
  }
}

const SHUTDOWN = "shutdown:";

/** How a trace names `reason`: a crash by its message alone, a shutdown with a detail by the detail's kind. */
export function wordOf(reason: ExitReason): string {
  switch (reason.type) {
    case "custom":
      return String(reason.value);
    case "crash":
      return wordOfError(reason.error);
    case "shutdown":
      return reason.detail === undefined ? "shutdown" : `shutdown:${kindOf(reason.detail)}`;
    default:
      return reason.type;
  }
}

function wordOfError(error: Error): string {
  const word = error instanceof SignalboxError ? WORDS[error.code] : undefined;
  return word ?? error.message;
}

/** OTP's tuple {failed_to_start_child, Id, Reason} is a FailedChild here. */
function kindOf(detail: unknown): string {
  return detail instanceof FailedChild ? "failed_to_start_child" : String(detail);
}
