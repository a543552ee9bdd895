// The marks before a stored payload. Payloads of the library's own codec have no mark; their texts begin with none of these.
//
//     #name:text              a text that the codec `name` wrote
//     <length>name<bytes>     bytes that the codec `name` wrote; its own codec writes texts alone
//     @writer.number.size     a reference to a large value in a table of its own

import { PayloadUnreadableError } from "./errors.js";

/** A payload as it stands in a row: marked with its codec, or a reference. */
export type Stored = string | Uint8Array;

/** The codec without a mark. */
export const OWN = "json";

const CODEC = "#";
const REFERENCE = "@";

/** Puts the name of a codec before its payload. */
export function mark(codec: string, payload: string | Uint8Array): Stored {
  if (codec === OWN && typeof payload === "string") return payload;
  if (typeof payload === "string") return `${CODEC}${codec}:${payload}`;
  const name = new TextEncoder().encode(codec);
  const marked = new Uint8Array(1 + name.length + payload.length);
  marked[0] = name.length;
  marked.set(name, 1);
  marked.set(payload, 1 + name.length);
  return marked;
}

/** Which codec wrote a payload, and what it wrote. */
export function unmark(stored: Stored): { readonly codec: string; readonly payload: string | Uint8Array } {
  if (typeof stored !== "string") {
    const start = 1 + (stored[0] ?? 0);
    return { codec: new TextDecoder().decode(stored.subarray(1, start)), payload: stored.subarray(start) };
  }
  if (!stored.startsWith(CODEC)) return { codec: OWN, payload: stored };
  const end = stored.indexOf(":");
  return { codec: stored.slice(1, end), payload: stored.slice(end + 1) };
}

/** Where a large value is: the writer's token, the number that it gave the value, and its size. */
export interface Reference {
  readonly writer: number;
  readonly number: number;
  /** Bytes, or characters of a text. */
  readonly size: number;
}

/** The text that stands in place of a large value. */
export function referenceText({ writer, number, size }: Reference): string {
  return `${REFERENCE}${writer}.${number}.${size}`;
}

/** The reference that a stored payload is, if it is one. */
export function referenceOf(stored: Stored): Reference | undefined {
  if (typeof stored !== "string" || !stored.startsWith(REFERENCE)) return undefined;
  const [writer, number, size] = stored.slice(1).split(".").map(Number);
  if ([writer, number, size].every(Number.isSafeInteger))
    return { writer: writer as number, number: number as number, size: size as number };
  throw new PayloadUnreadableError(OWN, `${stored.slice(0, 40)} is no reference`);
}
