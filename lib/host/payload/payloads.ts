// The engine's entry to payloads: encodes values for rows, and decodes them again.

import { InvariantError, OptionError, ThrownValueError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count } from "../../process/options.js";
import { isError, showCause, showError, stackOf } from "../../process/show.js";
import { after, checkCodec, jsonCodec, type Payload, type PayloadCodec } from "./codec.js";
import type { ErrorClass } from "./error-record.js";
import { PayloadTooLargeError, PayloadUnreadableError, UnstorableValueError } from "./errors.js";
import { PAYLOAD_DEFAULTS, type PayloadLimits } from "./limits.js";
import { mark, referenceOf, type Stored, unmark } from "./marks.js";

/** How the values of flows are stored. */
export interface PayloadOptions extends Partial<PayloadLimits> {
  /** Encodes and decodes values. Default: {@link jsonCodec}. */
  readonly codec?: PayloadCodec;
  /** Codecs that wrote older values, and only read now: after a change of the codec or its key. Plain JSON is always read. */
  readonly readable?: readonly PayloadCodec[];
  /** Classes of errors that come back as instances of their class after a restart. */
  readonly errors?: readonly ErrorClass[];
}

const KNOWN = ["codec", "readable", "errors", "maxBytes", "apartBytes"];

/** Values as rows hold them, for one host. A codec that works at once is never awaited. */
export class Payloads {
  readonly limits: PayloadLimits;
  readonly #codec: PayloadCodec;
  readonly #readers: ReadonlyMap<string, PayloadCodec>;

  /**
   * @param path - of the options, for errors
   * @throws OptionError
   */
  constructor(options: PayloadOptions = {}, path = "payloads") {
    only(path, options, KNOWN);
    const under = (name: string): string => (path === "" ? name : `${path}.${name}`);
    const { maxBytes, apartBytes } = { ...PAYLOAD_DEFAULTS, ...options };
    this.limits = {
      maxBytes: count(under("maxBytes"), maxBytes, 1, true),
      apartBytes: count(under("apartBytes"), apartBytes, 0, true),
    };
    const errors = options.errors ?? [];
    const own = jsonCodec().withErrors(errors);
    const ready = (codec: PayloadCodec, at: string): PayloadCodec => {
      checkCodec(at, codec);
      return codec.withErrors?.(errors) ?? codec;
    };
    this.#codec = options.codec === undefined ? own : ready(options.codec, under("codec"));
    const readers = new Map([[own.name, own as PayloadCodec]]);
    for (const [i, codec] of (options.readable ?? []).entries())
      readers.set(codec?.name, ready(codec, under(`readable[${i}]`)));
    this.#readers = readers.set(this.#codec.name, this.#codec);
  }

  /**
   * A value as a row holds it; a large one is put apart by BlobWriter.
   *
   * @param root - the name of the value in errors, such as `result` or `input`
   * @param of - the owner of the value, such as `step "charge"`
   * @param maxBytes - another limit than that of the options
   * @throws UnstorableValueError, PayloadTooLargeError; or rejects with them if the codec is asynchronous
   */
  store(
    value: unknown,
    root: string,
    of = "",
    maxBytes: number = this.limits.maxBytes,
  ): Stored | Promise<Stored> {
    let payload: Payload | Promise<Payload>;
    try {
      payload = this.#codec.encode(value);
    } catch (error) {
      throw error instanceof UnstorableValueError ? error.under(root, of) : error;
    }
    return after(payload, (given) => this.#stored(given, root, of, maxBytes));
  }

  /**
   * Encodes a thrown value for a row. Never refuses one: of an error that is too large, it keeps name, message and the beginning of the
   * stack.
   */
  storeThrown(thrown: unknown): Stored | Promise<Stored> {
    const brief = (why: unknown): Stored | Promise<Stored> => {
      if (why instanceof UnstorableValueError || why instanceof PayloadTooLargeError)
        return this.#storeUnlimited(briefly(thrown));
      throw why;
    };
    try {
      const stored = this.store(thrown, "error");
      return stored instanceof Promise ? stored.catch(brief) : stored;
    } catch (error) {
      return brief(error);
    }
  }

  /**
   * The value that a row holds.
   *
   * @throws PayloadUnreadableError, or rejects with it if the codec is asynchronous
   */
  load(stored: Stored): unknown {
    if (referenceOf(stored) !== undefined)
      throw new InvariantError("references are resolved before they are read");
    const { codec: name, payload } = unmark(stored);
    const codec = this.#readers.get(name);
    if (codec === undefined) {
      const known = [...this.#readers.keys()].join(", ");
      throw new PayloadUnreadableError(name, `this host has only ${known}; add the codec to readable`);
    }
    const unreadable = (cause: unknown): never => {
      const why = showCause(cause);
      throw new PayloadUnreadableError(name, `another key, or damaged: ${why}`, { cause });
    };
    try {
      const value = codec.decode(payload);
      return value instanceof Promise ? value.catch(unreadable) : value;
    } catch (error) {
      return unreadable(error);
    }
  }

  /** The value as a flow sees it, live and on replay alike: stored and loaded. */
  copyOf(value: unknown, root: string, of = ""): unknown {
    return after(this.store(value, root, of), (stored) => this.load(stored));
  }

  #storeUnlimited(value: unknown): Stored | Promise<Stored> {
    return after(this.#codec.encode(value), (payload) => mark(this.#codec.name, this.#checked(payload)));
  }

  #stored(given: Payload, root: string, of: string, maxBytes: number): Stored {
    const payload = this.#checked(given);
    const bytes = bytesOf(payload, maxBytes);
    if (bytes > maxBytes) throw new PayloadTooLargeError(root, of, bytes, maxBytes);
    return mark(this.#codec.name, payload);
  }

  #checked(payload: Payload): Payload {
    if (typeof payload === "string" || payload instanceof Uint8Array) return payload;
    throw new OptionError(`encode() of the codec ${this.#codec.name}`, payload, "a text or a Uint8Array");
  }
}

/** Most bytes of a character in UTF-8, where a character is a half of a surrogate pair. */
const MOST_BYTES = 3;

/** The size in UTF-8; exact only where it matters. */
export function bytesOf(payload: Payload, maxBytes: number): number {
  if (typeof payload !== "string" || payload.length * MOST_BYTES <= maxBytes) return payload.length;
  return new TextEncoder().encode(payload).length;
}

/** The most telling parts of what was thrown, short enough for any limit. */
function briefly(thrown: unknown): Error {
  if (!isError(thrown)) return withoutCause(new ThrownValueError(thrown));
  const brief = new Error(showError(thrown));
  const stack = stackOf(thrown);
  if (stack !== undefined) brief.stack = stack;
  return brief;
}

function withoutCause(error: Error): Error {
  Reflect.deleteProperty(error, "cause");
  return error;
}
