// Maps errors to HTTP statuses.

/** What {@link httpStatus} gives. */
export type ErrorStatus = 400 | 404 | 409 | 429 | 500 | 503;

/** By status: the codes of errors that are for a client. Every other error is 500. */
export const ERROR_STATUSES: Readonly<Record<Exclude<ErrorStatus, 500>, readonly string[]>> = {
  /** The client sent a value that the schema of a flow or a pipeline refuses. */
  400: ["ERR_FLOW_INPUT", "ERR_FLOW_MESSAGE", "ERR_PIPELINE_INPUT"],
  /** There is nothing of this id or name. */
  404: [
    "ERR_FLOW_NOT_FOUND",
    "ERR_SCHEDULE_NOT_FOUND",
    "ERR_PIPELINE_EXECUTION_NOT_FOUND",
    "ERR_QUEUE_DEAD_LETTER_NOT_FOUND",
  ],
  /** The present state does not allow it: the same request fails again. */
  409: [
    "ERR_FLOW_ID_TAKEN",
    "ERR_FLOW_INPUT_DIFFERS",
    "ERR_FLOW_STATE",
    "ERR_PIPELINE_EXECUTION_ID_TAKEN",
    "ERR_STORE_CONFLICT",
    "ERR_KEY_TAKEN",
    "ERR_NAME_TAKEN",
  ],
  /** The client asks too often. */
  429: ["ERR_RATE_LIMIT"],
  /** It passes: the same request, with the same id, may be made again. */
  503: [
    "ERR_CALLEE_EXITED",
    "ERR_CALL_TIMEOUT",
    "ERR_MAILBOX_FULL",
    "ERR_NOT_REGISTERED",
    "ERR_NO_CONSUMER",
    "ERR_NO_PROCESS",
    "ERR_SYSTEM_STOPPED",
    "ERR_FLOW_OUTCOME_UNKNOWN",
    "ERR_PIPELINE_OUTCOME_UNKNOWN",
    "ERR_FLOW_WAIT_TIMEOUT",
    "ERR_HOST_GONE",
    "ERR_PIPELINE_WAIT_TIMEOUT",
    "ERR_QUEUE_FULL",
    "ERR_QUEUE_CLOSED",
    "ERR_QUEUE_TIMEOUT",
    "ERR_STORE_CLOSED",
    "ERR_STORE_CONNECTION",
    "ERR_STORE_FENCED",
    "ERR_STORE_FULL",
    "ERR_STORE_OVERLOADED",
    "ERR_STORE_OVERTAKEN",
    "ERR_STORE_TRANSACTION_TIMEOUT",
    "ERR_STORE_UNREACHABLE",
    "ERR_BULKHEAD_FULL",
    "ERR_CIRCUIT_OPEN",
    "ERR_ATTEMPT_TIMEOUT",
    "ERR_RETRY_DEADLINE",
    "ERR_POOL_FULL",
    "ERR_POOL_STOPPING",
    "ERR_JOB_DEADLINE",
  ],
};

const byCode = new Map(
  Object.entries(ERROR_STATUSES).flatMap(([status, codes]) =>
    codes.map((code) => [code, Number(status) as ErrorStatus] as const),
  ),
);

/**
 * The status with which a server answers a request that ended with this error: 404 for what is not there, 409 for what the state of
 * things does not allow, 503 for what passes, and so on by the error's `code`; 500 for every other error, which is a bug or unknown.
 * The table is in the guide to applications. Never throws.
 *
 * @example
 * function answerOf(error: Error): Response {
 *   return Response.json({ error: error.name }, { status: httpStatus(error) });
 * }
 */
export function httpStatus(error: unknown): ErrorStatus {
  // An error may be a Proxy that throws at every look.
  try {
    return byCode.get((error as { readonly code: string }).code) ?? 500;
  } catch {
    return 500;
  }
}
