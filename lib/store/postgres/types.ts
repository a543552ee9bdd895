// Values of the server as values of JavaScript, by the server's number for their type.

import type { Received } from "./connection.js";

const BOOL = 16;
const BYTEA = 17;
const INT8 = 20;
const INT2 = 21;
const INT4 = 23;
const OID = 26;
const FLOAT4 = 700;
const FLOAT8 = 701;

const text = (value: string): Received => value;
const flag = (value: string): Received => value === "t" || value === "true";
/** A number, or a bigint where a number would not be exact. */
const whole = (value: string): Received => {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : BigInt(value);
};

const HEX = 16;
function bytes(value: string): Received {
  // "\x", then two digits for each byte: `bytea_output` is set so for each connection.
  const found = new Uint8Array((value.length - 2) / 2);
  for (let i = 0; i < found.length; i++) found[i] = Number.parseInt(value.slice(2 + 2 * i, 4 + 2 * i), HEX);
  return found;
}

const PARSERS: Readonly<Record<number, (value: string) => Received>> = {
  [BOOL]: flag,
  [BYTEA]: bytes,
  [INT8]: whole,
  [INT2]: Number,
  [INT4]: Number,
  [OID]: Number,
  [FLOAT4]: Number,
  [FLOAT8]: Number,
};

/**
 * Reads the text of a value of this type. Whole numbers, floating point numbers, booleans and bytes have a type of their own; all
 * else is the server's text: `numeric`, because a number would not be exact; `timestamptz`, `jsonb` and the like.
 */
export function parserOf(type: number): (value: string) => Received {
  return PARSERS[type] ?? text;
}

/** The types that have a parser of their own. */
export const PARSED: readonly number[] = Object.keys(PARSERS).map(Number);
