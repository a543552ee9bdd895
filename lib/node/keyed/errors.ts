// Errors of keyed processes.

import { SignalboxError } from "../../process/errors.js";

/**
 * No process of this key could be reached in time. The message was not handled, so it is safe to send it again.
 *
 * @remedy The text says what the last attempt met. Look whether a node runs these keys, whether the store answers, and whether the nodes
 * see each other. A node that was killed keeps its shards until their leases end: let `timeoutMs` be longer than `ttlMs`.
 */
export class KeyUnavailableError extends SignalboxError {
  static override readonly name: string = "KeyUnavailableError";
  /** Stable across versions: match on this rather than on the text. */
  readonly code = "ERR_KEY_UNAVAILABLE";
  /** The key. */
  readonly key: string;

  /** The library creates these errors. */
  constructor(kind: string, key: string, timeoutMs: number, why: string) {
    super(`no process of ${kind} ${key} within ${timeoutMs} ms: ${why}; the message was not handled`);
    this.key = key;
  }
}

/**
 * The node of this key has no room: too many processes, or too many requests that wait. The message was not handled.
 *
 * @remedy Send it again later, and less at once. Raise `maxKeys` or `maxWaiting`, let processes end when they are idle, or add nodes.
 */
export class KeyBusyError extends SignalboxError {
  static override readonly name: string = "KeyBusyError";
  /** Stable across versions: match on this rather than on the text. */
  readonly code = "ERR_KEY_BUSY";
  /** The key. */
  readonly key: string;

  /** The library creates these errors. */
  constructor(kind: string, key: string, node: string) {
    super(
      `${node} has no room for ${kind} ${key}: it has maxKeys processes, or maxWaiting requests wait there; the message was not handled`,
    );
    this.key = key;
  }
}

/**
 * The store has keys of this kind under another number of shards. With two numbers, one key would have two leases.
 *
 * @remedy Give all nodes the same `shards`. To change the number, stop all nodes, and delete the row of this name from the table
 * `keyed_kinds`.
 */
export class KeyShardsError extends SignalboxError {
  static override readonly name: string = "KeyShardsError";
  /** Stable across versions: match on this rather than on the text. */
  readonly code = "ERR_KEY_SHARDS";

  /** The library creates these errors. */
  constructor(kind: string, shards: number, stored: number) {
    super(`${kind} has ${stored} shards in the store, not ${shards}`);
  }
}

/**
 * The state of a key was not saved, because a save before failed or because another process of this key has saved since.
 *
 * @remedy Let the process end, as an error that is not caught does. The next process of the key begins with the state that was saved last.
 */
export class KeySaveError extends SignalboxError {
  static override readonly name: string = "KeySaveError";
  /** Stable across versions: match on this rather than on the text. */
  readonly code = "ERR_KEY_SAVE";
  /** The key. */
  readonly key: string;

  /** The library creates these errors. */
  constructor(kind: string, key: string, problem: string, cause: unknown) {
    super(`the state of ${kind} ${key} was not saved: ${problem}`, { cause });
    this.key = key;
  }
}
