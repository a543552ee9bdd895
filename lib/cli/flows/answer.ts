// What an error says to the program that called the command: no, or not at all.

import { PayloadUnreadableError } from "../../flow/payload/errors.js";
import { SignalboxError } from "../../process/errors.js";
import { EXIT } from "../shell/exit.js";

const ANSWERS =
  /^ERR_(FLOW_(NOT_FOUND|STATE|WAIT_TIMEOUT|UNKNOWN|ID_TAKEN|INPUT|MESSAGE|FAILED)|SCHEDULE_NOT_FOUND)/;

/** The exit code of a command that fails: whether a host or store that works has said no. */
export function exitOf(error: unknown): number {
  if (!(error instanceof SignalboxError)) return EXIT.misuse;
  const { remote } = error as { remote?: { code?: string } };
  const code = remote === undefined ? error.code : (remote.code ?? "");
  return ANSWERS.test(code) ? EXIT.no : EXIT.misuse;
}

/** Whether this program, and no host, lacks the codec of a value. */
export function isUnreadable(error: unknown): error is PayloadUnreadableError {
  return error instanceof PayloadUnreadableError;
}
