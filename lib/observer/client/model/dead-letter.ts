// A dead letter for people: those of pipelines and of queues have the same parts under different names. Pure.

import type { DeadMessage } from "../../../pipeline/operations/operations.js";
import type { DeadLetter } from "../../../pipeline/queues/dead-letters.js";
import type { Failure } from "../../../pipeline/queues/status.js";

/** What went wrong in one attempt. */
export interface LetterAttempt {
  readonly number: number;
  readonly error: string;
  readonly at: number | undefined;
  /** What is known besides: evidence that the message ended its process, or how often the store was in the way. */
  readonly note: string | undefined;
}

export interface ShownLetter {
  readonly id: string;
  readonly queue: string;
  readonly key: string | undefined;
  readonly at: number;
  readonly value: unknown;
  /** Where it died: `route charge, adapter bank`. */
  readonly place: string;
  readonly attempts: readonly LetterAttempt[];
  /** The last error, in one line. */
  readonly last: string;
}

export function letterOfPipeline(letter: DeadMessage): ShownLetter {
  const { id, queue, route, adapter, key, value, at, errors } = letter;
  const attempts = errors.map((error, i) => ({ number: i + 1, error, at: undefined, note: undefined }));
  const where = [
    route === undefined ? undefined : `route ${route}`,
    adapter === undefined ? undefined : `adapter ${adapter}`,
  ];
  const place = where.filter((one) => one !== undefined).join(", ");
  return {
    id,
    queue,
    key,
    value,
    at,
    place: place === "" ? "no route got it" : place,
    attempts,
    last: lastOf(attempts),
  };
}

export function letterOfQueue(queue: string, letter: DeadLetter<unknown>): ShownLetter {
  const { id, key, value, at, history } = letter;
  const attempts = history.map((failure) => ({
    number: failure.attempt,
    error: failure.error,
    at: failure.at,
    note: noteOf(failure),
  }));
  return { id, queue, key, value, at, place: `queue ${queue}`, attempts, last: lastOf(attempts) };
}

function noteOf({ evidence, setbacks }: Failure): string | undefined {
  if (evidence !== undefined) return `ended its process: ${evidence}`;
  return setbacks === undefined ? undefined : `no attempt: the store failed ${setbacks} times in a row`;
}

const lastOf = (attempts: readonly LetterAttempt[]): string =>
  attempts.at(-1)?.error.split("\n")[0] ?? "no error was recorded";

/**
 * Whether JSON holds all that the value was. Dates, maps and bytes are shown as texts: an edited value that holds them would not be what
 * it was.
 */
export function isEditable(value: unknown): boolean {
  return value !== undefined && !(typeof value === "string" && /^\w+, \d+ bytes: /.test(value));
}
