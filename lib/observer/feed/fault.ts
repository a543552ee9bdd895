// Errors as viewers get them.

import { RemoteOperationError } from "../../admin/errors.js";
import { isError, show } from "../../process/show.js";
import type { Fault } from "./feed-state.js";

/** Most characters of a message. */
const MESSAGE = 1_000;

/** An error as JSON: of one that a host has answered with, what it was there. */
export function faultOf(error: unknown): Fault {
  if (!isError(error)) return { name: "Error", message: show(error).slice(0, MESSAGE) };
  const { name, message } = error;
  const { code } = error as { readonly code?: unknown };
  const remote = error instanceof RemoteOperationError ? error.remote : { name, code };
  return {
    name: String(remote.name),
    ...(typeof remote.code === "string" && { code: remote.code }),
    message: String(message).slice(0, MESSAGE),
  };
}
