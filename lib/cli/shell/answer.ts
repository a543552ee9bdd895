// The exit code of a failure: no, or no answer at all.

import { SignalboxError } from "../../process/errors.js";
import { EXIT } from "./exit.js";

/** A host or store that works has refused, and not by an error. */
export class Refusal extends Error {}

/** The code of an error, of the host's if it was raised there. */
export function codeOfError(error: unknown): string {
  if (!(error instanceof SignalboxError)) return "";
  const { remote } = error as { remote?: { code?: string } };
  return remote === undefined ? error.code : (remote.code ?? "");
}

/** @param answers - the error codes that mean that a host or store that works has refused */
export function answersNo(error: unknown, answers: RegExp): number {
  return error instanceof Refusal || answers.test(codeOfError(error)) ? EXIT.no : EXIT.misuse;
}
