// The errors of hosts, of executions, and of operations on them.

import { SignalboxError } from "../../process/errors.js";
import { utcOf } from "../../process/process-name.js";
import type { SchemaIssue } from "../../process/standard-schema.js";
import type { PipelineSummary } from "./operations.js";

/**
 * A dead letter cannot go on in its execution, because that has failed or was cancelled.
 *
 * @remedy Replay it: `replay(id, { messages: [...] })` does it in a new execution.
 */
export class ExecutionOverError extends SignalboxError {
  static override readonly name: string = "ExecutionOverError";
  readonly code = "ERR_PIPELINE_EXECUTION_OVER";
  /** The id of the execution. */
  readonly execution: string;
  constructor(execution: string, status: string) {
    super(
      `the execution ${JSON.stringify(execution)} ${status === "failed" ? "has failed" : "was cancelled"}: its dead letters cannot go on in it; replay them`,
    );
    this.execution = execution;
  }
}

/**
 * An execution did not end within the timeout of a wait. It goes on.
 *
 * @remedy Wait again, with a larger `timeoutMs` if need be; or look with `inspect` at how many messages its queues hold.
 */
export class ExecutionWaitTimeoutError extends SignalboxError {
  static override readonly name: string = "ExecutionWaitTimeoutError";
  readonly code = "ERR_PIPELINE_WAIT_TIMEOUT";
  /** The id of the execution. */
  readonly execution: string;
  /** How many milliseconds were waited. */
  readonly timeoutMs: number;
  constructor(execution: string, timeoutMs: number) {
    super(`the execution ${JSON.stringify(execution)} did not end within ${timeoutMs} ms; it goes on`);
    this.execution = execution;
    this.timeoutMs = timeoutMs;
  }
}

/**
 * A host was asked for a pipeline that it does not have.
 *
 * @remedy Give the pipeline to the host, in `pipelines`.
 */
export class UnknownPipelineError extends SignalboxError {
  static override readonly name: string = "UnknownPipelineError";
  readonly code = "ERR_PIPELINE_UNKNOWN";
  constructor(pipeline: string, known: readonly string[]) {
    super(`the host has no pipeline ${pipeline}; it has ${known.join(", ") || "none"}`);
  }
}

/**
 * An execution of another pipeline was started under this id before.
 *
 * @remedy Choose ids that are unique among all executions of the store: prefix the id with the name of the pipeline.
 */
export class ExecutionIdTakenError extends SignalboxError {
  static override readonly name: string = "ExecutionIdTakenError";
  readonly code = "ERR_PIPELINE_EXECUTION_ID_TAKEN";
  constructor(id: string, pipeline: string, wanted: string) {
    super(`the id "${id}" belongs to an execution of ${pipeline}, so none of ${wanted} starts under it`);
  }
}

/**
 * There is no execution with this id.
 *
 * @remedy Look for the id among the executions of the store; executions that have ended may have been removed.
 */
export class ExecutionNotFoundError extends SignalboxError {
  static override readonly name: string = "ExecutionNotFoundError";
  readonly code = "ERR_PIPELINE_EXECUTION_NOT_FOUND";
  constructor(id: string) {
    super(`there is no execution "${id}"`);
  }
}

/**
 * No answer came in time, or the store lost its answer: whether the operation took place, or still does, is unknown. `executionId` is the
 * execution that it was for, also of a start or a replay that was given no id.
 *
 * @remedy Look at the execution: `host.get(error.executionId).status()`. A pause, a resume and a cancel may be repeated as they are, and a
 * start under this id: the second one finds the first. `cause` says why no answer came.
 */
export class ExecutionOutcomeUnknownError extends SignalboxError {
  static override readonly name: string = "ExecutionOutcomeUnknownError";
  readonly code = "ERR_PIPELINE_OUTCOME_UNKNOWN";
  /** The operation: `start`, `replay`, `giveUp`, `move`, `pause`, `resume` or `cancel`. */
  readonly operation: string;
  /** The id of the execution. */
  readonly executionId: string;
  constructor(operation: string, executionId: string, cause: unknown) {
    super(
      `whether the ${operation} of execution "${executionId}" took place is unknown: no answer came. Look at the execution, or repeat it`,
      { cause },
    );
    this.operation = operation;
    this.executionId = executionId;
  }
}

/**
 * An execution whose completion was awaited has failed, or was cancelled.
 *
 * @remedy Look at the cause and at the dead letters. An execution that has ended does not go on: start another one.
 */
export class ExecutionFailedError extends SignalboxError {
  static override readonly name: string = "ExecutionFailedError";
  readonly code = "ERR_PIPELINE_EXECUTION_FAILED";
  /** How far the execution was. */
  readonly summary: PipelineSummary;
  constructor(summary: PipelineSummary, cause: unknown) {
    super(
      `the execution "${summary.id}" of ${summary.pipeline} was ${summary.status === "cancelled" ? "cancelled" : "ended by an error"}`,
      {
        cause,
      },
    );
    this.summary = summary;
  }
}

/**
 * The input of an execution is not what the schema of its pipeline asks for.
 *
 * @remedy Mend the input; the issues name each fault.
 */
export class PipelineInputError extends SignalboxError {
  static override readonly name: string = "PipelineInputError";
  readonly code = "ERR_PIPELINE_INPUT";
  /** The issues that the schema found. */
  readonly issues: readonly SchemaIssue[];
  constructor(pipeline: string, issues: readonly SchemaIssue[]) {
    super(
      `the input of pipeline ${pipeline} is not valid: ${issues.map(({ message }) => message).join("; ")}`,
    );
    this.issues = issues;
  }
}

/**
 * Another host that lives has the id of this one.
 *
 * @remedy Give each host an id of its own, or leave `hostId` out: then the host makes one. If the other host was killed a moment ago, start
 * again when its claim has expired, which takes the `leaseMs` of the store at most.
 */
export class PipelineHostTakenError extends SignalboxError {
  static override readonly name: string = "PipelineHostTakenError";
  readonly code = "ERR_PIPELINE_HOST_TAKEN";
  /** The id that both hosts have. */
  readonly hostId: string;
  constructor(
    hostId: string,
    store: string,
    holder:
      | {
          /** The process that holds it. */
          readonly owner: string;
          /** Milliseconds since 1970. */
          readonly since?: number | undefined;
        }
      | undefined,
  ) {
    const since = holder?.since === undefined ? "" : ` since ${utcOf(holder.since)}`;
    const who =
      holder === undefined ? "another host held it a moment ago" : `${holder.owner} holds it${since}`;
    super(`the host id ${hostId} is taken on ${store}: ${who}`);
    this.hostId = hostId;
  }
}

/**
 * The process of an execution that lives in memory alone has exited, and its messages with it.
 *
 * @remedy Give the host a store where executions have to outlive their processes.
 */
export class ExecutionLostError extends SignalboxError {
  static override readonly name: string = "ExecutionLostError";
  readonly code = "ERR_PIPELINE_EXECUTION_LOST";
  constructor(id: string, why: string) {
    super(`the execution "${id}" lived in memory alone, and its process exited: ${why}`);
  }
}

/**
 * Executions were asked for that only a store keeps, of a host that has none.
 *
 * @remedy Give the host a store: `pipelineHost({ store: sqlite("jobs.db"), … })`. Executions in memory alone leave no lineage, no dead
 * letters and nothing to replay.
 */
export class NoLineageError extends SignalboxError {
  static override readonly name: string = "NoLineageError";
  readonly code = "ERR_PIPELINE_NO_LINEAGE";
  constructor() {
    super("this host has no store: executions in memory alone keep no lineage, no dead letters and no list");
  }
}

/**
 * Messages or sources of an execution cannot be given up or moved as it was asked. Nothing was changed.
 *
 * @remedy Look with `inspect` at the queues and sources of the execution, and with `lineage` at the message: only what is in a queue can be
 * given up or moved. A dead letter is replayed.
 */
export class PipelineChangeError extends SignalboxError {
  static override readonly name: string = "PipelineChangeError";
  readonly code = "ERR_PIPELINE_CHANGE";
  /** The id of the execution. */
  readonly execution: string;

  constructor(execution: string, why: string) {
    super(`messages of the execution ${JSON.stringify(execution)} cannot be changed: ${why}`);
    this.execution = execution;
  }
}

/**
 * Messages of an execution cannot be replayed. The message of the error says which and why.
 *
 * @remedy Values are there of dead letters, of messages that were not settled, and of messages of routes with the policy `keepValues: true`
 * from the time of the execution. Ask for these alone: `dead: true`, or what there is of a route with `partial: true`.
 */
export class ReplayError extends SignalboxError {
  static override readonly name: string = "ReplayError";
  readonly code = "ERR_PIPELINE_REPLAY";
  /** The id of the execution. */
  readonly execution: string;
  constructor(execution: string, why: string) {
    super(`cannot replay messages of the execution ${JSON.stringify(execution)}: ${why}`);
    this.execution = execution;
  }
}
