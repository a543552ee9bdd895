// The exit code of a failure: no, or no answer at all.

import { SignalboxError } from "../../process/errors.js";
import { EXIT } from "./exit.js";

/** The code of an error, of the host's if it was raised there. */
export function codeOfError(error: unknown): string {
  if (!(error instanceof SignalboxError)) return "";
  const { remote } = error as { remote?: { code?: string } };
  return remote === undefined ? error.code : (remote.code ?? "");
}

/** @param answers - the codes by which somebody who works has said no */
export function answersNo(error: unknown, answers: RegExp): number {
  return answers.test(codeOfError(error)) ? EXIT.no : EXIT.misuse;
}
