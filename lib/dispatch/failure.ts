// Makes the error that the caller gets of the failure that the machine decided on.

import type { EndedAttempt } from "./attempts.js";
import type { Failure } from "./conversation-machine.js";
import type { Envelope } from "./envelope.js";
import {
  AttemptsExhaustedError,
  ConversationError,
  DeadlineError,
  type DispatchError,
  EvaluationError,
  NoConsumerError,
  RejectedError,
  UnknownConsumerError,
} from "./errors.js";

export function failureError(
  failure: Failure,
  group: string,
  deadlineMs: number,
  envelope: Envelope<unknown>,
  history: readonly EndedAttempt[],
): DispatchError {
  switch (failure.type) {
    case "no-consumer":
      return new NoConsumerError(group, failure.why, envelope, history);
    case "unknown-consumer":
      return new UnknownConsumerError(group, failure.selected, envelope, history);
    case "evaluation":
      return new EvaluationError(group, failure.cause, envelope, history);
    case "deadline":
      return new DeadlineError(group, deadlineMs, envelope, history);
    case "attempts":
      return new AttemptsExhaustedError(group, failure.failures, envelope, history);
    case "rejected":
      return new RejectedError(group, failure.reason, envelope, history);
    case "conversation":
      return new ConversationError(group, failure.end, failure.reason, envelope, history);
    default:
      return failure satisfies never;
  }
}
