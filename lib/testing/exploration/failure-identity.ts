// Tells one bug from another: two failures are of one bug if the same assertion failed, at the same place, with the same shape.

import { placeOf } from "../../process/own-code.js";

/** Quoted texts, and lists and objects without others inside. */
const QUOTED = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`/g;
const BRACKETED = /\[[^[\]]*\]|\{[^{}]*\}|\([^()]*\)/g;
const NUMBER = /-?\d[\d.,_]*|#+/g;
/** A word with letters and digits, such as an id or a token. */
const ID = /\b(?=\w*\d)(?=\w*[A-Za-z_])[\w-]{2,}\b/g;

/** A message without what differs from schedule to schedule: its first line up to a colon, without numbers, ids and values. */
export function shapeOf(message: string): string {
  let shape = (message.split("\n", 1)[0] as string)
    .replace(QUOTED, "…")
    .replace(ID, "#")
    .replace(NUMBER, "#");
  for (let before = ""; before !== shape; ) {
    before = shape;
    shape = shape.replace(BRACKETED, "…");
  }
  return (shape.split(":", 1)[0] as string).trim();
}

/**
 * Identifies the bug behind a failure: class and code of the error, name of the invariant or monitor, place in the code of the test or the
 * service, and shape of the message.
 */
export function identityOf(error: unknown): string {
  if (!(error instanceof Error)) return `${typeof error} ${shapeOf(String(error))}`;
  const { code, invariant, monitor, cause } = error as Error &
    Partial<Record<"code" | "invariant" | "monitor", unknown>>;
  // An invariant that throws has the assertion as its cause.
  const thrown = invariant !== undefined && cause instanceof Error ? cause : error;
  const place = placeOf(thrown.stack ?? "");
  return [error.name, code, invariant, monitor, place, shapeOf(thrown.message)].join("\n");
}
