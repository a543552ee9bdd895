// The exit code of a failure: no, or no answer at all.

import { SignalboxError } from "../../process/errors.js";
import { EXIT } from "./exit.js";

/** Somebody who works has said no, and not by an error. */
export class Refusal extends Error {}

/** The code of an error, of the host's if it was raised there. */
export function codeOfError(error: unknown): string {
  if (!(error instanceof SignalboxError)) return "";
  const { remote } = error as { remote?: { code?: string } };
  return remote === undefined ? error.code : (remote.code ?? "");
}

/** @param answers - the codes by which somebody who works has said no */
export function answersNo(error: unknown, answers: RegExp): number {
  return error instanceof Refusal || answers.test(codeOfError(error)) ? EXIT.no : EXIT.misuse;
}
