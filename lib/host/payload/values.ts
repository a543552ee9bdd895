// How a durable host encodes the values of its work.

import type { PayloadLimits } from "./limits.js";
import type { Stored } from "./marks.js";
import type { Payloads } from "./payloads.js";

/** Encodes values and decodes them: to text or bytes, at once unless a codec is asynchronous. `null` stands for undefined. */
export interface ValueCodec {
  /**
   * @param where - the owner of the value, for errors
   * @param root - the name of the value in the paths of errors
   * @throws UnstorableValueError, PayloadTooLargeError
   */
  encode(
    value: unknown,
    where: string,
    root: "input" | "result" | "message" | "progress",
  ): Stored | null | Promise<Stored | null>;
  /** @throws PayloadUnreadableError */
  decode(stored: Stored | null): unknown;
}

/** All that a host does with values. */
export interface Values extends ValueCodec {
  readonly limits: PayloadLimits;
  /** Encodes a thrown value. Never refuses one. */
  encodeThrown(thrown: unknown): Stored | Promise<Stored>;
}

export function valueCodec(payloads: Pick<Payloads, "store" | "load">): ValueCodec {
  return {
    encode: (value, where, root) => (value === undefined ? null : payloads.store(value, root, where)),
    decode: (stored) => (stored === null ? undefined : payloads.load(stored)),
  };
}
