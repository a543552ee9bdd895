// Which objects can be stored, and what to do about those that cannot.

import { isError } from "../../process/show.js";

/** The kind of an object with a class of its own. */
export type BuiltIn =
  /** Has its data in itself, and `names` enumerable properties. */
  | { readonly type: "data" | "map" | "set"; readonly names: number }
  /** Bytes. Its properties are as many as its elements, and are not looked at. */
  | { readonly type: "bytes" }
  | { readonly type: "dom" }
  | { readonly type: "refused"; readonly found: string; readonly advice: string };

const DATA: BuiltIn = { type: "data", names: 0 };
const MAP: BuiltIn = { type: "map", names: 0 };
const SET: BuiltIn = { type: "set", names: 0 };
const BYTES: BuiltIn = { type: "bytes" };
const DOM: BuiltIn = { type: "dom" };

const refused = (found: string, advice: string): BuiltIn => ({ type: "refused", found, advice });

type Probe = (value: never) => unknown;

/** By prototype: something that only a genuine object of the class answers, and what such an object is. */
const GENUINE = new Map<object, readonly [probe: Probe, kind: BuiltIn]>([
  [Date.prototype, [(value: Date) => Date.prototype.getTime.call(value), DATA]],
  [Map.prototype, [(value: Map<unknown, unknown>) => Map.prototype.has.call(value, 0), MAP]],
  [Set.prototype, [(value: Set<unknown>) => Set.prototype.has.call(value, 0), SET]],
  [URL.prototype, [(value: URL) => value.href, DATA]],
  [URLSearchParams.prototype, [(value: URLSearchParams) => value.size, DATA]],
  [RegExp.prototype, [(value: RegExp) => value.source, DATA]],
  [Number.prototype, [(value: object) => Number.prototype.valueOf.call(value), DATA]],
  [Boolean.prototype, [(value: object) => Boolean.prototype.valueOf.call(value), DATA]],
  [BigInt.prototype, [(value: bigint) => BigInt.prototype.valueOf.call(value), DATA]],
  [DOMException.prototype, [(value: DOMException) => value.code, DOM]],
]);
const TYPED_ARRAY: object = Object.getPrototypeOf(Uint8Array.prototype);

/** The kind of the object. May throw when the object only looks like that kind. */
export function builtIn(value: object): BuiltIn {
  const prototype: object | null = Object.getPrototypeOf(value);
  const genuine = prototype === null ? undefined : GENUINE.get(prototype);
  if (genuine !== undefined) {
    const [probe, kind] = genuine;
    probe(value as never);
    const at = prototype === RegExp.prototype ? (value as RegExp).lastIndex : 0;
    return at === 0 ? kind : refused(`a RegExp with lastIndex ${at}`, "set its lastIndex to 0");
  }
  if (prototype === String.prototype)
    return { type: "data", names: String.prototype.valueOf.call(value).length };
  if (prototype === ArrayBuffer.prototype) return buffer(value as ArrayBuffer, DATA);
  if (prototype === DataView.prototype) return buffer((value as DataView).buffer, DATA);
  if (isBuffer(value) || (prototype !== null && Object.getPrototypeOf(prototype) === TYPED_ARRAY))
    return buffer((value as Uint8Array).buffer, BYTES);
  return refused(...foreign(value));
}

function buffer(of: ArrayBufferLike, kind: BuiltIn): BuiltIn {
  const { byteLength, resizable } = of as ArrayBuffer & { readonly resizable?: boolean };
  if (!(of instanceof ArrayBuffer)) return refused("shared memory", "copy it with new Uint8Array(bytes)");
  if (resizable === true) return refused(`a resizable buffer of ${byteLength} bytes`, "copy it with slice()");
  return kind;
}

/** A Buffer of Node. */
export function isBuffer(value: unknown): value is Buffer {
  return (
    typeof Buffer !== "undefined" &&
    value instanceof Buffer &&
    Object.getPrototypeOf(value) === Buffer.prototype
  );
}

/** An error of this realm or another one. */
export function isAnyError(value: object): value is Error {
  return isError(value) || Object.prototype.toString.call(value) === "[object Error]";
}

/** An object of no class, of this realm or another one. */
export function isPlainObject(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return true;
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, "isPrototypeOf");
}

/** Words for an object that cannot be stored, and what would be right. */
function foreign(value: object): [found: string, advice: string] {
  const found = `an instance of ${classOf(value)}`;
  const has = (method: PropertyKey): boolean =>
    typeof (value as Record<PropertyKey, unknown>)[method] === "function";
  if (has("then")) return [found, "await it, and return what it gives"];
  if (has("getReader") || has("pipe") || has(Symbol.asyncIterator) || has("next"))
    return [found, "read it to its end, and return the content"];
  if (value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef)
    return [found, "return what it refers to, in an object, Map or Set"];
  return [found, "return its data as a plain object"];
}

function classOf(value: object): string {
  const made: unknown = value.constructor;
  return typeof made === "function" && made.name !== "" ? made.name : "a class without a name";
}

/** Advice for a value that is not an object of a class. */
export const ADVICE = {
  function: "leave it out, or return the data that it needs",
  symbol: "use a text",
  depth: "return a flat list, or store the value elsewhere and return its name",
  hostile: "return a copy that can be read, such as structuredClone(value)",
} as const;
