// Checks the SQL of users in a transaction: it must be one statement that neither ends the transaction, nor changes the connection,
// nor touches the tables of the library. The words of the statement decide, since node:sqlite has no authorizer before Node 24.10.

import type { SqlValue } from "../sql.js";
import { SqlError } from "../sql-errors.js";
import type { Parameter } from "./connection.js";
import { PREFIX } from "./table-sql.js";

/** One word, name, text or sign of a statement. */
interface Token {
  readonly kind: "word" | "name" | "text" | "parameter" | "sign";
  /** Without quotes, in lower case. */
  readonly text: string;
}

const TOKENS =
  /\s+|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'((?:[^']|'')*)'?|"((?:[^"]|"")*)"?|`((?:[^`]|``)*)`?|\[([^\]]*)\]?|(\?\d*|[:@$][\w$]+)|([A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)|(\d[\w.]*|.)/gy;

/** First words that are refused, and why. EXPLAIN leaves libsql's statement open, so that nothing can commit any more. */
const REFUSED: Readonly<Record<string, string>> = {
  begin: "the store begins the transaction",
  savepoint: "the transaction is as small as it can be",
  release: "the store ends the transaction",
  commit: "the store commits when the body has returned",
  end: "the store commits when the body has returned",
  rollback: "throw an error to roll back",
  attach: "a transaction uses this file alone",
  detach: "a transaction uses this file alone",
  pragma: "the settings of the connection belong to the store",
  vacuum: "it cannot run in a transaction",
  explain: "it does not belong into a transaction",
};

/**
 * Checks a statement and its parameters.
 *
 * @returns the parameters as drivers take them
 * @throws SqlError
 */
export function checkStatement(sql: unknown, parameters: readonly SqlValue[]): Parameter[] {
  if (typeof sql !== "string") throw new SqlError(String(sql), "a statement is a text");
  if (sql.includes("\0")) throw new SqlError(sql, "a statement has no NUL");
  const tokens = tokensOf(sql);
  const [first] = tokens;
  if (first === undefined) throw new SqlError(sql, "there is no statement");
  const why = first.kind === "word" ? REFUSED[first.text] : undefined;
  if (why !== undefined) throw new SqlError(sql, `${first.text.toUpperCase()} is refused: ${why}`);
  for (const token of tokens) checkToken(sql, token);
  checkEnd(sql, tokens);
  if (!Array.isArray(parameters)) throw new SqlError(sql, "parameters are an array");
  const wanted = countParameters(sql, tokens);
  if (wanted !== parameters.length)
    throw new SqlError(sql, `the statement has ${wanted} parameters, and ${parameters.length} were given`);
  return parameters.map((value, i) => toParameter(sql, value, i));
}

function tokensOf(sql: string): Token[] {
  const tokens: Token[] = [];
  for (const [, single, double, back, bracket, parameter, word, sign] of sql.matchAll(TOKENS)) {
    const name = double?.replaceAll('""', '"') ?? back?.replaceAll("``", "`") ?? bracket;
    if (single !== undefined) tokens.push({ kind: "text", text: single.replaceAll("''", "'").toLowerCase() });
    else if (name !== undefined) tokens.push({ kind: "name", text: name.toLowerCase() });
    else if (parameter !== undefined) tokens.push({ kind: "parameter", text: parameter });
    else if (word !== undefined) tokens.push({ kind: "word", text: word.toLowerCase() });
    else if (sign !== undefined) tokens.push({ kind: "sign", text: sign });
  }
  return tokens;
}

function checkToken(sql: string, { kind, text }: Token): void {
  // As in INSERT OR ROLLBACK and RAISE(ROLLBACK, …).
  if (kind === "word" && text === "rollback")
    throw new SqlError(
      sql,
      "ROLLBACK is refused: throw an error to roll back; a name of your own goes in quotes",
    );
  // SQLite takes a text for a name where it expects one.
  if (kind === "sign" || kind === "parameter") return;
  if (text.startsWith(PREFIX))
    throw new SqlError(
      sql,
      `${text} is a table of the library, or its name begins so: pass such a text as a parameter`,
    );
  if (text === "sqlite_sequence" || text.startsWith("sqlite_stat"))
    throw new SqlError(sql, `${text} belongs to the database`);
}

/** Drivers run the first statement of a text and ignore the others. The statements within a trigger belong to it. */
function checkEnd(sql: string, tokens: readonly Token[]): void {
  const semicolon = tokens.findIndex(({ kind, text }) => kind === "sign" && text === ";");
  const isTrigger =
    tokens[0]?.text === "create" &&
    tokens.slice(1, 3).some(({ kind, text }) => kind === "word" && text === "trigger");
  if (semicolon === -1 || isTrigger) return;
  if (tokens.slice(semicolon).some(({ text }) => text !== ";"))
    throw new SqlError(sql, "execute runs one statement: call it once for each");
}

function countParameters(sql: string, tokens: readonly Token[]): number {
  let most = 0;
  for (const { kind, text } of tokens) {
    if (kind !== "parameter") continue;
    if (!text.startsWith("?")) throw new SqlError(sql, `the parameter ${text} has a name: write ? or ?1`);
    // `?` is one more than the largest so far: SQLite's rule.
    most = text === "?" ? most + 1 : Math.max(most, Number(text.slice(1)));
  }
  return most;
}

const LEAST = -(2n ** 63n);
const MOST = 2n ** 63n - 1n;

function toParameter(sql: string, value: unknown, i: number): Parameter {
  switch (typeof value) {
    case "boolean":
      return value ? 1n : 0n;
    case "number":
      if (Number.isNaN(value)) break;
      // As an integer: drivers make a real of every number, and 1.0 || 'x' is not 1 || 'x'.
      return Number.isSafeInteger(value) && !Object.is(value, -0) ? BigInt(value) : value;
    case "bigint":
      if (value >= LEAST && value <= MOST) return value;
      break;
    case "string":
      if (!value.includes("\0") && (value as string & { isWellFormed(): boolean }).isWellFormed())
        return value;
      break;
    default:
      if (value === null || value instanceof Uint8Array) return value;
  }
  throw new SqlError(
    sql,
    `parameter ${i + 1} must be a text without NUL and lone surrogates, a number, a bigint of 64 bits, a boolean, bytes or null`,
  );
}
