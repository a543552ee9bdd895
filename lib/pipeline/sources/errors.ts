// Errors of sources, and of requests over HTTP.

import { SignalboxError } from "../../process/errors.js";
import { showThrown } from "../../process/show.js";

/**
 * A record of a file cannot be read: the line is no JSON, a CSV record has too few fields, a schema refuses it. The execution fails.
 *
 * @remedy Mend the line that the message names. Or let the source pass damaged records on with `damaged: "pass"`, and put
 *   `giveUpDamaged()` behind it: then they become dead letters, and the others go on.
 */
export class DamagedRecordError extends SignalboxError {
  static override readonly name: string = "DamagedRecordError";
  readonly code = "ERR_PIPELINE_DAMAGED_RECORD";
  /** The same record comes again at every attempt. */
  readonly retriable = false;
  /** @param line - counts from 1 */
  constructor(file: string, line: number, reason: string) {
    super(`${file}, line ${line}: ${reason}`);
  }
}

/**
 * A file has changed since the execution has read it, so that its checkpoint does not fit any more: it is shorter, or its last line
 * has grown. Lines that are appended are no such change.
 *
 * @remedy Put the file back as it was, and resume the execution. Or cancel it, and start one with the new file.
 */
export class FileChangedError extends SignalboxError {
  static override readonly name: string = "FileChangedError";
  readonly code = "ERR_PIPELINE_FILE_CHANGED";
  /** The same happens at every attempt. */
  readonly retriable = false;
  constructor(file: string, what: string) {
    super(`${file} has changed while it was read: ${what}`);
  }
}

/**
 * A server has answered with a status that is no success.
 *
 * @remedy `retriable` says whether the request was tried again: 408, 425, 429, 500, 502, 503 and 504 are. For another status mend the
 *   request, which `url`, `headers` and `body` of the adapter make, and replay the dead letter.
 */
export class HttpStatusError extends SignalboxError {
  static override readonly name: string = "HttpStatusError";
  readonly code = "ERR_PIPELINE_HTTP_STATUS";
  /** The status. */
  readonly status: number;
  /** Whether another attempt may help. */
  readonly retriable: boolean;
  /** How many milliseconds the server asks to wait before the next attempt. */
  readonly retryAfterMs: number | undefined;
  /** The beginning of the body, as text. */
  readonly body: string;
  /** @param request - method and URL, for people */
  constructor(
    request: string,
    status: number,
    retriable: boolean,
    retryAfterMs: number | undefined,
    body: string,
  ) {
    super(`${request}: status ${status}`);
    this.status = status;
    this.retriable = retriable;
    this.retryAfterMs = retryAfterMs;
    this.body = body;
  }
}

/**
 * The body of a response is larger than allowed, or is not what was expected, such as JSON. The request is not repeated.
 *
 * @remedy Raise `maxBytes` of the adapter or the source; or let its `result` or `page` read what the server really sends.
 */
export class HttpBodyError extends SignalboxError {
  static override readonly name: string = "HttpBodyError";
  readonly code = "ERR_PIPELINE_HTTP_BODY";
  /** The same comes again at every attempt. */
  readonly retriable = false;
  constructor(request: string, what: string, cause?: unknown) {
    super(`${request}: ${what}`, cause === undefined ? undefined : { cause });
  }
}

/**
 * A request got no response: the host is unknown, the connection was refused or broke off, or the request is malformed.
 *
 * @remedy See `cause`. If `retriable` is false, the request itself is wrong: mend the URL, the method or the headers that it has.
 */
export class HttpFailedError extends SignalboxError {
  static override readonly name: string = "HttpFailedError";
  readonly code = "ERR_PIPELINE_HTTP_FAILED";
  /** Whether another attempt may help. */
  readonly retriable: boolean;
  constructor(request: string, retriable: boolean, cause: unknown) {
    super(`${request}: ${reasonOf(cause)}`, { cause });
    this.retriable = retriable;
  }
}

/** fetch says `fetch failed`, and its cause why. */
function reasonOf(error: unknown): string {
  const { cause } = error as { readonly cause?: unknown };
  return showThrown(cause === undefined ? error : cause);
}
