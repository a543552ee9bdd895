// The errors of a dispatch. Each has the envelope and the attempts that were made.

import { SignalboxError } from "../process/errors.js";
import { type ExitReason, formatReason } from "../process/reason.js";
import type { EndedAttempt } from "./attempts.js";
import type { NoConsumerReason } from "./conversation-machine.js";
import type { Envelope } from "./envelope.js";

/** Base class of the errors of a dispatch. */
export abstract class DispatchError extends SignalboxError {
  static override readonly name: string = "DispatchError";
  /** The envelope of the dispatch that failed. */
  readonly envelope: Envelope<unknown>;
  /** The attempts that ended without a delivery, in order. */
  readonly history: readonly EndedAttempt[];

  constructor(text: string, envelope: Envelope<unknown>, history: readonly EndedAttempt[], cause?: unknown) {
    super(`${text}${tried(history)}`, cause === undefined ? undefined : { cause });
    this.envelope = envelope;
    this.history = history;
  }
}

/** Attempts that the text of an error names. `history` has more of them. */
const MENTIONED = 5;

function tried(history: readonly EndedAttempt[]): string {
  const last = history.slice(-MENTIONED);
  if (last.length === 0) return "";
  const more = history.length > last.length ? "among others " : "";
  return `; tried ${more}${last.map((one) => `${one.consumer} (${one.end}: ${formatReason(one.reason)})`).join(", ")}`;
}

const WHY: { readonly [why in NoConsumerReason]: string } = {
  empty: "the group has no members; join some, or set `patienceMs` so that the dispatch waits for one",
  excluded: "the envelope has failed on every member",
  none: "the routing function chose none of the candidates",
  rejecting: "the chosen consumer has a full buffer",
  "waiting-full": "the number of waiting dispatches has reached `maxWaiting`",
};

/**
 * No consumer takes the envelope: the group is empty, or the routing function chose none.
 *
 * @remedy Start consumers in the group, raise `patienceMs` so that dispatches wait longer for one, or let the
 * routing function choose a fallback.
 */
export class NoConsumerError extends DispatchError {
  static override readonly name: string = "NoConsumerError";
  readonly code = "ERR_NO_CONSUMER";
  /** Why no consumer takes the envelope. */
  readonly why: NoConsumerReason;
  constructor(
    group: string,
    why: NoConsumerReason,
    envelope: Envelope<unknown>,
    history: readonly EndedAttempt[],
  ) {
    super(`no consumer of ${group} is available: ${WHY[why]}`, envelope, history);
    this.why = why;
  }
}

/**
 * The routing function chose something that is not one of the candidates.
 *
 * @remedy Return one of the candidates that the function was given, or `undefined` for none.
 */
export class UnknownConsumerError extends DispatchError {
  static override readonly name: string = "UnknownConsumerError";
  readonly code = "ERR_UNKNOWN_CONSUMER";
  /** The answer of the routing function, as text. */
  readonly selected: string;
  constructor(
    group: string,
    selected: string,
    envelope: Envelope<unknown>,
    history: readonly EndedAttempt[],
  ) {
    super(
      `the routing function of ${group} chose ${selected}, which is not one of the candidates that it was given`,
      envelope,
      history,
    );
    this.selected = selected;
  }
}

/**
 * The routing function threw, or did not answer in time. `cause` is the error.
 *
 * @remedy Correct the routing function: it must not throw, and it must answer within its time.
 */
export class EvaluationError extends DispatchError {
  static override readonly name: string = "EvaluationError";
  readonly code = "ERR_EVALUATION";
  constructor(group: string, cause: unknown, envelope: Envelope<unknown>, history: readonly EndedAttempt[]) {
    const text = cause instanceof Error ? cause.message : String(cause);
    super(`the routing function of ${group} failed: ${text}`, envelope, history, cause);
  }
}

/**
 * The deadline passed before a consumer had settled the envelope. A consumer may still finish its work on
 * it.
 *
 * @remedy Raise `deadlineMs`, add consumers, or let consumers watch `delivery.signal`. Give the envelope an
 * id before you dispatch it again, so that it is not done twice.
 */
export class DeadlineError extends DispatchError {
  static override readonly name: string = "DeadlineError";
  readonly code = "ERR_DEADLINE";
  /** The deadline of the caller that gets this error, in milliseconds. */
  readonly deadlineMs: number;
  constructor(
    group: string,
    deadlineMs: number,
    envelope: Envelope<unknown>,
    history: readonly EndedAttempt[],
  ) {
    super(`no consumer of ${group} settled the envelope within ${deadlineMs} ms`, envelope, history);
    this.deadlineMs = deadlineMs;
  }
}

/**
 * The envelope failed at as many consumers as `maxAttempts` allows. It is a dead letter now.
 *
 * @remedy Read `history` for the reason of each failure. Mend the consumers or the envelope, then
 * dispatch the envelope again; or raise `maxAttempts`.
 */
export class AttemptsExhaustedError extends DispatchError {
  static override readonly name: string = "AttemptsExhaustedError";
  readonly code = "ERR_ATTEMPTS_EXHAUSTED";
  constructor(
    group: string,
    failures: number,
    envelope: Envelope<unknown>,
    history: readonly EndedAttempt[],
  ) {
    super(
      `the envelope failed on ${failures} consumers of ${group}, and \`maxAttempts\` allows no more`,
      envelope,
      history,
      cause(history),
    );
  }
}

/**
 * A consumer rejected the envelope with `final: true`, so that no other consumer gets it. `cause` is the
 * consumer's reason.
 *
 * @remedy Handle `cause` as the answer of the consumer; do not dispatch the same envelope again unchanged.
 */
export class RejectedError extends DispatchError {
  static override readonly name: string = "RejectedError";
  readonly code = "ERR_REJECTED";
  constructor(
    group: string,
    reason: ExitReason,
    envelope: Envelope<unknown>,
    history: readonly EndedAttempt[],
  ) {
    const why = reason.type === "custom" ? reason.value : errorOf(reason);
    super(`a consumer of ${group} rejected the envelope with \`final\``, envelope, history, why);
  }
}

/**
 * A dispatch ended without an acknowledgement: the crash policy gave up, or the conversation itself died.
 *
 * @remedy Read the reason in the message. Mend that, then dispatch the envelope again; an id keeps it from
 * being done twice.
 */
export class ConversationError extends DispatchError {
  static override readonly name: string = "ConversationError";
  readonly code = "ERR_CONVERSATION";
  /**
   * - `crashed`: the consumer crashed, and `onCrash` is `fail`.
   * - `compensated`: the consumer crashed, and its work was undone.
   * - `compensation-failed`: the consumer crashed, and undoing its work failed.
   * - `died`: the process of the dispatch itself was ended.
   */
  readonly end: "crashed" | "compensated" | "compensation-failed" | "died";
  /** Exit reason of the consumer, the compensation or the conversation. */
  readonly reason: ExitReason;
  constructor(
    group: string,
    end: ConversationError["end"],
    reason: ExitReason,
    envelope: Envelope<unknown>,
    history: readonly EndedAttempt[],
  ) {
    super(
      `${ENDS[end]} (group ${group}): ${formatReason(reason)}`,
      envelope,
      history,
      cause(history) ?? errorOf(reason),
    );
    this.end = end;
    this.reason = reason;
  }
}

const ENDS: { readonly [end in ConversationError["end"]]: string } = {
  crashed: "the consumer crashed, and `onCrash` is `fail`",
  compensated: "the consumer crashed, and its work was compensated",
  "compensation-failed": "the consumer crashed, and the compensation failed as well",
  died: "the process of the dispatch itself was ended",
};

function errorOf(reason: ExitReason): Error | undefined {
  return reason.type === "crash" ? reason.error : undefined;
}

function cause(history: readonly EndedAttempt[]): Error | undefined {
  const last = history.at(-1);
  return last === undefined ? undefined : errorOf(last.reason);
}
