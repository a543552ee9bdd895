// Errors of sessions.

import { SignalboxError } from "../../process/errors.js";

/**
 * No flow answers a session: the flow does not exist, has ended, or does not answer this protocol.
 *
 * @remedy Give the answering definition the option `answers`, or call `flow.accept` with the same protocol in the flow that runs.
 */
export class SessionRejectedError extends SignalboxError {
  static override readonly name: string = "SessionRejectedError";
  readonly code = "ERR_SESSION_REJECTED";
  /** The protocol of the session. */
  readonly protocol: string;
  constructor(protocol: string, why: string) {
    super(`no flow answers the session "${protocol}": ${why}`);
    this.protocol = protocol;
  }
}

/**
 * The flow on the other side of a session failed, or was killed or cancelled. `cause` is its error. Thrown once for each session, by
 * the first receive or send that meets it.
 *
 * @remedy Undo what the two flows have done together, or begin a new session.
 */
export class SessionPeerError extends SignalboxError {
  static override readonly name: string = "SessionPeerError";
  readonly code = "ERR_SESSION_PEER";
  constructor(protocol: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`the other side of the session "${protocol}" failed: ${why}`, { cause });
  }
}

/**
 * The flow on the other side of a session has begun anew with `continueAsNew`, and has left its sessions. The `cause` of a
 * {@link SessionPeerError}.
 *
 * @remedy Close sessions before `continueAsNew`; or begin a new session with the flow.
 */
export class SessionLeftError extends SignalboxError {
  static override readonly name: string = "SessionLeftError";
  readonly code = "ERR_SESSION_LEFT";
  constructor(flow: string) {
    super(`flow "${flow}" has begun anew, and has left its sessions`);
  }
}

/**
 * A session is over: one of its sides closed it, or its flow ended.
 *
 * @remedy Receive with `for await`, which ends by itself, or agree on a last value.
 */
export class SessionEndedError extends SignalboxError {
  static override readonly name: string = "SessionEndedError";
  readonly code = "ERR_SESSION_ENDED";
  constructor(protocol: string, why: string) {
    super(`the session "${protocol}" is over: ${why}`);
  }
}

/**
 * Two receives wait in one session, or no flow answered a session in time.
 *
 * @remedy Await the first receive before the next. Give the flow that answers more time, or look why it does not accept.
 */
export class SessionWaitError extends SignalboxError {
  static override readonly name: string = "SessionWaitError";
  readonly code = "ERR_SESSION_WAIT";
  constructor(protocol: string, what: string) {
    super(`session "${protocol}": ${what}`);
  }
}
