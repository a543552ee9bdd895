// Operations that change something: how long they may take, and what is known when no answer came.

import { CallTimeoutError } from "../../process/errors.js";
import { StoreError, type StoreSource } from "../../store/index.js";
import { FlowOutcomeUnknownError } from "./errors.js";

/** How long a store without a server may take, in milliseconds: another program may hold its lock. */
const STORE_MS = 30_000;
/** What a host adds to the time of its store, in milliseconds. */
const HOST_MS = 5_000;

/** How long an operation waits for its answer, in milliseconds: longer than its store waits for the server. */
export const operationMs = ({ unreachableMs = STORE_MS }: Pick<StoreSource, "unreachableMs">): number =>
  unreachableMs + HOST_MS;

/** The error of an operation on the flow or execution with this id whose outcome is unknown. */
type UnknownOutcome = (operation: string, id: string, cause: unknown) => Error;

const unknownOfFlow: UnknownOutcome = (operation, id, cause) =>
  new FlowOutcomeUnknownError(operation, id, cause);

/**
 * Says so when nobody knows whether an operation took place.
 *
 * @throws FlowOutcomeUnknownError, or what is given for it; and what the operation throws
 */
export async function answered<T>(
  operation: string,
  id: string,
  answer: Promise<T>,
  unknown: UnknownOutcome = unknownOfFlow,
): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (isUnknown(error)) throw unknown(operation, id, error);
    throw error;
  }
}

/** A request that the host had taken, or a commit whose answer was lost. One that was withdrawn never takes place. */
function isUnknown(error: unknown): boolean {
  if (error instanceof CallTimeoutError) return error.request !== "withdrawn";
  return error instanceof StoreError && (error as { readonly known?: unknown }).known === "unknown";
}
