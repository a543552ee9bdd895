// Exit reasons as people give them, and as code that has thrown gives them.

import { OptionError, ThrownValueError } from "./errors.js";
import { type ExitInput, type ExitReason, KILL, NORMAL, SHUTDOWN } from "./exit-reason.js";
import { isError } from "./show.js";

export * from "./exit-reason.js";
export { formatReason } from "./show.js";

/** The reason of a process that threw `thrown`. */
export function crash(thrown: unknown): ExitReason {
  return { type: "crash", error: isError(thrown) ? thrown : new ThrownValueError(thrown) };
}

const TYPES: readonly unknown[] = [
  "normal",
  "shutdown",
  "kill",
  "killed",
  "noproc",
  "noconnection",
  "crash",
  "custom",
];

/**
 * Reads what a user gave as a reason.
 *
 * @throws OptionError when it is none
 */
export function toReason(input: ExitInput): ExitReason {
  switch (input) {
    case "normal":
      return NORMAL;
    case "shutdown":
      return SHUTDOWN;
    case "kill":
      return KILL;
  }
  if (isError(input)) return crash(input);
  try {
    const { type, error } = input as { type: unknown; error?: unknown };
    if (TYPES.includes(type) && (type !== "crash" || isError(error))) {
      // A getter may give something else, or throw, the next time.
      const { value: fixedType } = Object.getOwnPropertyDescriptor(input, "type") ?? {};
      const { value: fixedError } = Object.getOwnPropertyDescriptor(input, "error") ?? {};
      return fixedType === type && fixedError === error ? input : ({ ...input, type, error } as ExitReason);
    }
  } catch {
    // Reading the value threw.
  }
  throw new OptionError(
    "reason",
    input,
    '"normal", "shutdown", "kill", an Error, custom(value) or an ExitReason (`crash` with an Error)',
  );
}

/** The reason in a signal of another node. An invalid one becomes a crash with the validation error: the exit itself has happened. */
export function receivedReason(reason: ExitReason): ExitReason {
  try {
    return toReason(reason);
  } catch (error) {
    return crash(error);
  }
}

/** True for the two orderly ends, `normal` and `shutdown`. A transient child is not restarted after them. */
export function isOrderly(reason: ExitReason): boolean {
  const type = (reason as ExitReason | undefined | null)?.type;
  if (!TYPES.includes(type)) throw new OptionError("reason", reason, "an ExitReason");
  return type === "normal" || type === "shutdown";
}
