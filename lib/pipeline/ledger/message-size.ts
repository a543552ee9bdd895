// How large a message may be, as its row holds it.

import { bytesOf, type Payloads } from "../../host/payload/payloads.js";
import { MessageTooLargeError } from "./errors.js";
import type { Body } from "./live-message.js";

/** A message as its row holds it. Its pipeline limits its size, and not the limit of other values. @throws UnstorableValueError */
export function messageBody(payloads: Pick<Payloads, "store">, value: unknown): Body | Promise<Body> {
  return payloads.store(value, "message", "", Number.POSITIVE_INFINITY);
}

/** The body of a message, if it is not larger than its pipeline allows. @throws MessageTooLargeError */
export function bodyWithin(maxMessageBytes: number, body: Body, queue: string): Body {
  const bytes = bytesOf(body, maxMessageBytes);
  if (bytes > maxMessageBytes) throw new MessageTooLargeError(queue, bytes, maxMessageBytes);
  return body;
}
