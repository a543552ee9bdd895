// Errors of registries.

import { SignalboxError } from "../../process/errors.js";
import type { Pid } from "../../process/pid.js";
import { show } from "../../process/show.js";

/**
 * The key of a unique registry belongs to a process already. `holder` is that process.
 *
 * @remedy Ask the holder instead, wait for its end, or register under another key.
 */
export class KeyTakenError extends SignalboxError {
  static override readonly name: string = "KeyTakenError";
  /** Stable across versions: match on this rather than on the text. */
  readonly code = "ERR_KEY_TAKEN";
  /** The key that is taken. */
  readonly key: unknown;
  /** The process that has it. */
  readonly holder: Pid;

  /** The library creates these errors. */
  constructor(registry: string, key: unknown, holder: Pid) {
    super(`the key ${show(key)} of the registry "${registry}" is held by ${holder}; choose another key`);
    this.key = key;
    this.holder = holder;
  }
}

/**
 * A process wanted to change the value of a key under which it is not registered.
 *
 * @remedy Register first. Only the process that registered changes its values.
 */
export class NotRegisteredError extends SignalboxError {
  static override readonly name: string = "NotRegisteredError";
  /** Stable across versions: match on this rather than on the text. */
  readonly code = "ERR_NOT_REGISTERED";
  /** The key. */
  readonly key: unknown;

  /** The library creates these errors. */
  constructor(registry: string, key: unknown, owner: Pid) {
    super(`${owner} has no entry with the key ${show(key)} in the registry "${registry}"; register it first`);
    this.key = key;
  }
}
