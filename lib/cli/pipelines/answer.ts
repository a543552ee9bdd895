// Tells the program that called the command whether an error is a refusal, or means that there is no answer.

import { answersNo, codeOfError } from "../shell/answer.js";

export { codeOfError };

const ANSWERS =
  /^ERR_QUEUE_DEAD_LETTER_NOT_FOUND$|^ERR_PIPELINE_(EXECUTION_(NOT_FOUND|ID_TAKEN|FAILED|OVER)|WAIT_TIMEOUT|UNKNOWN|INPUT|REPLAY|CHANGE|FILE$|FAULTS|MESSAGE_TOO_LARGE)/;

/** The exit code of a command that fails: whether a host or store that works, or a check, has said no. */
export function exitOf(error: unknown): number {
  return answersNo(error, ANSWERS);
}
