// Which errors are final: the same rule for adapters of routes and for handlers of durable queues. Pure.

import { DeadLetterError, HopLimitError } from "../definition/errors.js";

/** Whether another attempt cannot help: the message is at fault, not a service. */
export function isForGood(error: unknown): boolean {
  if (error instanceof DeadLetterError || error instanceof HopLimitError) return true;
  try {
    return (error as { readonly retriable?: unknown } | null | undefined)?.retriable === false;
  } catch {
    return false;
  }
}
