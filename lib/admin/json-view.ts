// Values as JSON, for people and for programs in other languages: readable, and without a way back.

import { show } from "../process/show.js";

/** Anything that JSON has. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** Most levels of nested values. Deeper values are shown as a short text. */
const MAX_DEPTH = 64;
/** Most bytes of binary data that are shown. */
const MAX_BYTES = 64;

/**
 * A value as JSON. Dates become ISO texts, bigints texts such as `12n`, Maps with texts as keys objects, other Maps and Sets lists,
 * Errors objects with name, message, code and cause. Never throws.
 */
export function toJson(value: unknown): Json {
  return view(value, []);
}

function view(value: unknown, path: readonly object[]): Json {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (typeof value === "bigint") return `${value}n`;
  if (value === undefined) return null;
  if (typeof value !== "object" || path.length > MAX_DEPTH) return show(value);
  if (path.includes(value)) return "(contains itself)";
  try {
    return viewObject(value, [...path, value]);
  } catch {
    // A getter or a proxy that throws.
    return show(value);
  }
}

function viewObject(value: object, path: readonly object[]): Json {
  const inner = (one: unknown): Json => view(one, path);
  if (Array.isArray(value)) return value.map(inner);
  if (value instanceof Error) return viewError(value, inner);
  // Dates of any realm have it, and `Date` itself is not for lib.
  if ("toISOString" in value && typeof value.toISOString === "function" && "getTime" in value)
    return String(
      Number.isNaN((value as { getTime(): number }).getTime()) ? "Invalid Date" : value.toISOString(),
    );
  if (value instanceof Map) {
    const entries = [...value];
    if (entries.every(([key]) => typeof key === "string"))
      return record(entries as [string, unknown][], inner);
    return entries.map(([key, one]) => [inner(key), inner(one)]);
  }
  if (value instanceof Set) return [...value].map(inner);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return viewBytes(value);
  return record(Object.entries(value), inner);
}

function record(entries: readonly (readonly [string, unknown])[], inner: (one: unknown) => Json): Json {
  return Object.fromEntries(
    entries.filter(([, one]) => one !== undefined).map(([key, one]) => [key, inner(one)]),
  );
}

function viewError(error: Error, inner: (one: unknown) => Json): Json {
  const { name, message, cause } = error;
  const errors: unknown = "errors" in error ? error.errors : undefined;
  const code: unknown = "code" in error ? error.code : undefined;
  return record(Object.entries({ ...error, name, message, code, cause, errors }), inner);
}

function viewBytes(value: ArrayBufferView | ArrayBuffer): Json {
  const bytes =
    value instanceof ArrayBuffer
      ? new Uint8Array(value)
      : new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  const shown = [...bytes.subarray(0, MAX_BYTES)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${value.constructor.name}, ${bytes.length} bytes: ${shown}${bytes.length > MAX_BYTES ? "…" : ""}`;
}
