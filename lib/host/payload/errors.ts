// Errors about values that flows store, and about values that come from outside.

import { SignalboxError } from "../../process/errors.js";
import { pathOf, type SchemaIssue } from "../../process/standard-schema.js";

/** Where a value comes from, for errors: `step "charge": result.items[3]`. */
function place(of: string, path: string): string {
  return of === "" ? path : `${of}: ${path}`;
}

/**
 * A value cannot be stored: it is, or contains, a function, a symbol, a class instance, a stream or something that cannot be read.
 * `path` leads to it. The step that returned the value has run, and its result is not recorded.
 *
 * @remedy Return data: plain objects, arrays, Dates, Maps, Sets, bigints, typed arrays, Errors. The message says what would be right
 * for this value.
 */
export class UnstorableValueError extends SignalboxError {
  static override readonly name: string = "UnstorableValueError";
  readonly code = "ERR_FLOW_UNSTORABLE";
  /** Never worth a retry: the same code returns the same kind of value. */
  readonly retriable = false;
  /** The way to what cannot be stored, such as `result.items[3].callback`. */
  readonly path: string;
  /** The value that is there, in words. */
  readonly found: string;
  /** The values that would be right. */
  readonly advice: string;
  constructor(
    path: string,
    found: string,
    advice: string,
    options: ErrorOptions & { readonly of?: string } = {},
  ) {
    super(`${place(options.of ?? "", path)} is ${found}, which cannot be stored: ${advice}`, options);
    this.path = path;
    this.found = found;
    this.advice = advice;
  }
  /** The same error with the place of the whole value before its path. @internal */
  under(root: string, of: string): UnstorableValueError {
    return new UnstorableValueError(`${root}${this.path}`, this.found, this.advice, {
      cause: this.cause,
      of,
    });
  }
}

/**
 * A value is larger than `maxBytes` allows.
 *
 * @remedy Store the value elsewhere, in a file, a bucket or a table, and return its name; or raise `maxBytes` of the flow host.
 */
export class PayloadTooLargeError extends SignalboxError {
  static override readonly name: string = "PayloadTooLargeError";
  readonly code = "ERR_FLOW_PAYLOAD_TOO_LARGE";
  /** Never worth a retry: the same code returns a value of the same size. */
  readonly retriable = false;
  /** The size of the value as it would be stored. */
  readonly bytes: number;
  /** The limit. */
  readonly maxBytes: number;
  constructor(root: string, of: string, bytes: number, maxBytes: number) {
    super(
      `${place(of, root)} has ${bytes} bytes, and maxBytes is ${maxBytes}: store it elsewhere and return its name, or raise maxBytes`,
    );
    this.bytes = bytes;
    this.maxBytes = maxBytes;
  }
}

/**
 * A stored value cannot be read: it was written by a codec that is not there, with another key, or it is damaged.
 *
 * @remedy Give the host the codec that the message names, as `codec` or in `readable`, with the key that it had. If the codec is
 * right, the value is damaged: read the cause.
 */
export class PayloadUnreadableError extends SignalboxError {
  static override readonly name: string = "PayloadUnreadableError";
  readonly code = "ERR_FLOW_PAYLOAD_UNREADABLE";
  /** The name of the codec that wrote the value. */
  readonly codec: string;
  constructor(codec: string, why: string, options?: ErrorOptions) {
    super(`a value written by the codec "${codec}" cannot be read: ${why}`, options);
    this.codec = codec;
  }
}

/** One thing that is wrong with a value from outside. */
export interface ValueProblem {
  /** Where it is, such as `lines.0.count`. Empty when the whole is wrong. */
  readonly path: string;
  /** What is wrong, in the words of the schema. */
  readonly message: string;
}

function problemsOf(issues: readonly SchemaIssue[]): readonly ValueProblem[] {
  return issues.map((issue) => ({
    path: pathOf(issue).map(String).join("."),
    message: String(issue.message),
  }));
}

function listed(problems: readonly ValueProblem[]): string {
  return problems.map(({ path, message }) => `\n  ${path === "" ? "(whole)" : path}: ${message}`).join("");
}

/**
 * The input of a flow does not fit its schema. Nothing was started. `problems` has everything that is wrong.
 *
 * @remedy Correct the input; each line of the message is a path and what is wrong there.
 */
export class FlowInputError extends SignalboxError {
  static override readonly name: string = "FlowInputError";
  readonly code = "ERR_FLOW_INPUT";
  /** All that is wrong, in the order of the schema. */
  readonly problems: readonly ValueProblem[];
  constructor(flow: string, issues: readonly SchemaIssue[]) {
    const problems = problemsOf(issues);
    super(`the input of flow ${flow} is invalid:${listed(problems)}`);
    this.problems = problems;
  }
}

/**
 * A message to a flow does not fit the schema of its topic. Nothing was sent. `problems` has everything that is wrong.
 *
 * @remedy Correct the message; each line of the text is a path and what is wrong there.
 */
export class MessageError extends SignalboxError {
  static override readonly name: string = "MessageError";
  readonly code = "ERR_FLOW_MESSAGE";
  /** The topic of the message. */
  readonly topic: string;
  /** All that is wrong, in the order of the schema. */
  readonly problems: readonly ValueProblem[];
  constructor(flow: string, topic: string, issues: readonly SchemaIssue[]) {
    const problems = problemsOf(issues);
    super(`the message "${topic}" to flow ${flow} is invalid:${listed(problems)}`);
    this.topic = topic;
    this.problems = problems;
  }
}

/**
 * What a flow publishes as its progress does not fit its schema. `problems` has everything that is wrong.
 *
 * @remedy Correct the call of `flow.progress`, or the schema of the flow's definition.
 */
export class ProgressError extends SignalboxError {
  static override readonly name: string = "ProgressError";
  readonly code = "ERR_FLOW_PROGRESS";
  /** All that is wrong, in the order of the schema. */
  readonly problems: readonly ValueProblem[];
  constructor(flow: string, issues: readonly SchemaIssue[]) {
    const problems = problemsOf(issues);
    super(`the progress of flow ${flow} is invalid:${listed(problems)}`);
    this.problems = problems;
  }
}
