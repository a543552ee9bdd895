// Tells the program that called the command whether an error is a refusal, or means that there is no answer.

import { PayloadUnreadableError } from "../../host/payload/errors.js";
import { answersNo } from "../shell/answer.js";

const ANSWERS =
  /^ERR_(FLOW_(NOT_FOUND|STATE|WAIT_TIMEOUT|UNKNOWN|ID_TAKEN|INPUT|MESSAGE|FAILED)|SCHEDULE_NOT_FOUND)/;

/** The exit code of a command that fails: whether a host or store that works has said no. */
export function exitOf(error: unknown): number {
  return answersNo(error, ANSWERS);
}

/** Whether this program, and no host, lacks the codec of a value. */
export function isUnreadable(error: unknown): error is PayloadUnreadableError {
  return error instanceof PayloadUnreadableError;
}
