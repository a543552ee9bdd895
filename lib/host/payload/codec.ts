// Codecs: how values become texts or bytes, and values again.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { isThenable } from "../../process/thenable.js";
import { errorClasses } from "./error-classes.js";
import type { ErrorClass } from "./error-record.js";
import { isPlainJson } from "./plain.js";
import { decodeRich, encodeRich, isRich } from "./rich.js";

/** An encoded value. */
export type Payload = string | Uint8Array;

/** Makes texts or bytes of values, and values of these. */
export interface PayloadCodec {
  /**
   * Stands in each payload, so that a host knows which codec reads it. Another key or another format needs another name: letters,
   * digits, `.`, `_` and `-`, at most 40.
   */
  readonly name: string;
  /** @throws UnstorableValueError when the value cannot be stored; its path begins at the value */
  encode(value: unknown): Payload | Promise<Payload>;
  /** @throws any error when the payload is damaged, or was encrypted with another key */
  decode(payload: Payload): unknown;
  /** The same codec, with error classes that come back as themselves. The host calls it with those of its flows. */
  withErrors?(errors: readonly ErrorClass[]): PayloadCodec;
}

/** Options of {@link jsonCodec}. */
export interface JsonCodecOptions {
  /** Classes of errors that come back as instances of their class. Their names must be unique. */
  readonly errors?: readonly ErrorClass[];
}

/** The codec that flows use unless they are given another one. See {@link jsonCodec}. */
export class JsonCodec implements PayloadCodec {
  readonly name = "json";
  readonly #errors: readonly ErrorClass[];
  readonly #classes: ReadonlyMap<string, ErrorClass>;
  constructor(errors: readonly ErrorClass[]) {
    this.#errors = errors;
    this.#classes = errorClasses(errors);
  }
  encode(value: unknown): string {
    return isPlainJson(value) ? JSON.stringify(value) : encodeRich(value);
  }
  decode(payload: Payload): unknown {
    if (typeof payload !== "string") throw new OptionError("payload", payload, "a text, not bytes");
    return isRich(payload) ? decodeRich(payload, this.#classes) : JSON.parse(payload);
  }
  withErrors(errors: readonly ErrorClass[]): JsonCodec {
    if (!Array.isArray(errors)) throw new OptionError("errors", errors, "an array of error classes");
    const more = errors.filter((one) => !this.#errors.includes(one));
    return more.length === 0 ? this : new JsonCodec([...this.#errors, ...new Set(more)]);
  }
}

/**
 * The codec that flows use unless they are given another one. Plain JSON values become JSON texts. Dates, Maps, Sets, bigints,
 * `undefined`, NaN, -0, infinities, typed arrays, ArrayBuffers, Buffers, URLs, RegExps, errors with their causes, shared and circular
 * references, sparse arrays and objects without a prototype are kept too. All else is refused with its path.
 *
 * @throws OptionError
 * @example
 * class PaymentDeclined extends Error {}
 * const codec = jsonCodec({ errors: [PaymentDeclined] });
 * codec.decode(codec.encode({ at: new Date(0), why: new PaymentDeclined("no funds") }));
 */
export function jsonCodec(options: JsonCodecOptions = {}): JsonCodec {
  only("", options, ["errors"]);
  return new JsonCodec(options.errors ?? []);
}

/** A change of bytes, and its reverse: encryption, compression. */
export interface ByteTransform {
  /** See {@link PayloadCodec.name}. */
  readonly name: string;
  /** From plain bytes to those that are stored. */
  encode(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
  /** @throws any error when the bytes are damaged, or were encrypted with another key */
  decode(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

/** The first byte tells whether the inner codec gave a text or bytes. */
const TEXT = 0;
const BYTES = 1;

/**
 * A codec that changes the bytes of another one: encrypts or compresses them.
 *
 * @param inner - encodes values; usually `jsonCodec()`
 * @param transform - what is done with its bytes, and the name of the new codec
 * @throws OptionError
 * @example
 * const mirrored = wrapCodec(jsonCodec(), {
 *   name: "mirrored",
 *   encode: (bytes) => bytes.slice().reverse(),
 *   decode: (bytes) => bytes.slice().reverse(),
 * });
 */
export function wrapCodec(inner: PayloadCodec, transform: ByteTransform): PayloadCodec {
  checkCodec("inner", inner);
  checkCodec("transform", transform);
  const { withErrors } = inner;
  return {
    name: transform.name,
    encode: (value) => after(inner.encode(value), (payload) => transform.encode(tagged(payload))),
    decode: (payload) => {
      if (typeof payload === "string") throw new TypeError("a text, where bytes were expected");
      return after(transform.decode(payload), (bytes) => inner.decode(untagged(bytes)));
    },
    ...(withErrors && { withErrors: (errors) => wrapCodec(withErrors.call(inner, errors), transform) }),
  };
}

function tagged(payload: Payload): Uint8Array {
  const bytes = typeof payload === "string" ? new TextEncoder().encode(payload) : payload;
  const result = new Uint8Array(bytes.length + 1);
  result[0] = typeof payload === "string" ? TEXT : BYTES;
  result.set(bytes, 1);
  return result;
}

function untagged(bytes: Uint8Array): Payload {
  const rest = bytes.subarray(1);
  if (bytes[0] === TEXT) return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(rest);
  if (bytes[0] === BYTES) return rest;
  throw new TypeError("neither a text nor bytes");
}

/** Goes on at once where nothing has to be waited for. */
export function after<T, R>(
  value: T | PromiseLike<T>,
  then: (value: T) => R,
): Awaited<R> | R | Promise<Awaited<R>> {
  return isThenable(value)
    ? (Promise.resolve(value as PromiseLike<T>).then(then) as Promise<Awaited<R>>)
    : then(value as T);
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/;

/** Requires a codec, or a transform, which looks the same. @throws OptionError */
export function checkCodec(path: string, given: PayloadCodec | ByteTransform): void {
  if (typeof given?.encode !== "function" || typeof given.decode !== "function")
    throw new OptionError(path, given, "an object with a name and the functions encode and decode");
  if (typeof given.name !== "string" || !NAME.test(given.name))
    throw new OptionError(`${path}.name`, given.name, "1 to 40 letters, digits, `.`, `_` or `-`");
  if (given.name === "json" && !(given instanceof JsonCodec))
    throw new OptionError(`${path}.name`, given.name, "another name: json is the library's own codec");
}
