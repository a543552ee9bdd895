// Queues of a pipeline: names with the type of their messages.

import { OptionError } from "../../process/errors.js";

const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

/** A queue of a pipeline. See {@link queue}. */
export interface Queue<in T = never> {
  /** Unique in its pipeline. */
  readonly name: string;
  /** @internal Types only: what may be published. */
  readonly types?: (value: T) => void;
}

/**
 * Names a queue of a pipeline and states the type of its messages. Each execution has queues of its own.
 *
 * @param name - letters, digits, `_` and `-`, a letter first
 * @throws OptionError
 * @example const strikes = queue<{ id: number; species: string }>("strikes");
 */
export function queue<T>(name: string): Queue<T> {
  return { name: checkName("name", name) };
}

/** The name of a queue, route, source or pipeline. @throws OptionError */
export function checkName(path: string, name: unknown): string {
  if (typeof name === "string" && NAME.test(name)) return name;
  throw new OptionError(path, name, "up to 64 letters, digits, _ and -, a letter first");
}
