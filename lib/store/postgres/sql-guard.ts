// Checks the SQL of users in a transaction: it must be one statement that neither ends the transaction nor changes the session, and
// that does not name the tables of the library. The server itself refuses a text of several statements.

import type { SqlValue } from "../sql.js";
import { SqlError } from "../sql-errors.js";
import type { Parameter } from "./connection.js";

/** First words that are refused, and why. */
const REFUSED: Readonly<Record<string, string>> = {
  begin: "the store begins the transaction",
  start: "the store begins the transaction",
  commit: "the store commits when the body has returned",
  end: "the store commits when the body has returned",
  prepare: "the store commits when the body has returned",
  rollback: "throw an error to roll back",
  abort: "throw an error to roll back",
  savepoint: "each statement has a savepoint already: one that fails leaves the transaction as it was",
  release: "each statement has a savepoint already: one that fails leaves the transaction as it was",
  set: "the settings of the session belong to the store",
  reset: "the settings of the session belong to the store",
  discard: "the settings of the session belong to the store",
  listen: "watch the store instead",
  unlisten: "watch the store instead",
  notify: "it takes one lock over all commits of the server: notify by the write set instead",
  copy: "there is no stream to copy from or to",
};

const COMMENTS = /--[^\n]*|\/\*[\s\S]*?\*\//g;
/** A literal or a text in dollars: their contents are no words of the statement. */
const LITERALS = /'(?:[^']|'')*'|\$([A-Za-z_]*)\$[\s\S]*?\$\1\$/g;

/**
 * Checks a statement and its parameters.
 *
 * @returns the parameters as drivers take them
 * @throws SqlError
 */
export function checkStatement(
  namespace: string,
  sql: unknown,
  parameters: readonly SqlValue[],
): Parameter[] {
  if (typeof sql !== "string" || sql.trim() === "") throw new SqlError(String(sql), "a statement is a text");
  const words = sql.replaceAll(LITERALS, "''").replaceAll(COMMENTS, " ");
  const first = /[A-Za-z]+/.exec(words)?.[0].toLowerCase() ?? "";
  const why = REFUSED[first];
  if (why !== undefined) throw new SqlError(sql, `${first.toUpperCase()} is refused: ${why}`);
  if (namesOf(words).some((name) => name === namespace || name.startsWith("$")))
    throw new SqlError(sql, `the tables of ${namespace} belong to the library: change them by write sets`);
  if (!Array.isArray(parameters)) throw new SqlError(sql, "parameters are an array");
  return parameters.map((value, i) => toParameter(sql, value, i));
}

/** The names before a dot: schemas, tables, aliases. And all names in quotes. */
function namesOf(words: string): string[] {
  const names: string[] = [];
  for (const [, inQuotes, word] of words.matchAll(/"((?:[^"]|"")*)"|([A-Za-z_][\w$]*)\s*\./g))
    names.push(inQuotes?.replaceAll('""', '"') ?? (word as string).toLowerCase());
  return names;
}

function toParameter(sql: string, value: unknown, i: number): Parameter {
  switch (typeof value) {
    case "number":
    case "bigint":
      return String(value);
    case "string":
    case "boolean":
      return value;
    default:
      if (value === null || value instanceof Uint8Array) return value;
  }
  throw new SqlError(sql, `parameter ${i + 1} must be a text, a number, a bigint, a boolean, bytes or null`);
}
