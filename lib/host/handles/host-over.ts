// Whether an error says that the store takes nothing more from a host.

import { SignalboxError } from "../../process/errors.js";
import { classOfCode } from "../../store/error-classes.js";

/** Whether the store takes nothing more from this host: its claim is lost, or the store is closed. */
export function isHostOver(error: unknown): error is Error {
  return error instanceof SignalboxError && classOfCode(error.code) === "over";
}
