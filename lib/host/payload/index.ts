/**
 * How values become durable: those of flows, of pipelines and of queues.
 *
 *     codec      PayloadCodec, the default codec, wrapping
 *     plain      the fast path: is a value plain JSON?
 *     survey     the careful walk: what cannot be stored, and what needs a record
 *     rich       everything that JSON would change, through devalue
 *     marks      which codec wrote a payload; references to large values
 *     payloads   stores and loads values: codecs, marks and limits together
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
