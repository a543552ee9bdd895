// Errors as those get them who asked from outside: at an admin socket, or through an observer.

import { isError, show } from "../process/show.js";
import { RemoteOperationError } from "./errors.js";

/** An error as JSON. */
export interface Fault {
  readonly name: string;
  readonly code?: string;
  readonly message: string;
}

/** Most characters of a message. */
const MESSAGE = 4_000;

/** What the other side is told of an error: of one with which another program has answered, what it was there. Never throws. */
export function faultOf(error: unknown): Fault {
  try {
    if (isError(error)) return faultOfError(error);
  } catch {
    // It throws when it is looked at.
  }
  return { name: "Error", message: show(error).slice(0, MESSAGE) };
}

function faultOfError(error: Error): Fault {
  const { name, message } = error;
  const { code } = error as { readonly code?: unknown };
  const remote = error instanceof RemoteOperationError ? error.remote : { name, code };
  return {
    name: String(remote.name),
    ...(typeof remote.code === "string" && { code: remote.code }),
    message: String(message).slice(0, MESSAGE),
  };
}
