/**
 * How the values of flows become durable.
 *
 *     codec      PayloadCodec, the default codec, wrapping
 *     plain      the fast path: is a value plain JSON?
 *     survey     the careful walk: what cannot be stored, and what needs a record
 *     rich       everything that JSON would change, through devalue
 *     marks      which codec wrote a payload; references to large values
 *     blobs      large values in a table of their own
 *     payloads   what the engine calls
 *     checked    values from outside, and their schemas
 */

export {
  type ByteTransform,
  type JsonCodec,
  type JsonCodecOptions,
  jsonCodec,
  type Payload,
  type PayloadCodec,
  wrapCodec,
} from "./codec.js";
export type { ErrorClass } from "./error-record.js";
export {
  FlowInputError,
  MessageError,
  PayloadTooLargeError,
  PayloadUnreadableError,
  ProgressError,
  UnstorableValueError,
  type ValueProblem,
} from "./errors.js";
export { PAYLOAD_DEFAULTS, type PayloadLimits } from "./limits.js";
export type { PayloadOptions } from "./payloads.js";
