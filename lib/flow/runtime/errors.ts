// Errors that flows and their users meet.

import { SignalboxError } from "../../process/errors.js";
import { utcOf } from "../../process/process-name.js";
import { isError, kindOf, show } from "../../process/show.js";
import type { Symptom } from "../hospital/symptom.js";
import type { Ask } from "../journal/entry.js";
import type { Deviation } from "../machine/state.js";

/** Most flows of a chain that are counted. */
const MOST_IN_CHAIN = 10_000;

/** What a {@link DivergenceError} tells. */
export interface Divergence {
  /** What the journal has; undefined: nothing, the flow had gone no further. */
  readonly recorded: Ask | undefined;
  /** What the code asked; undefined: nothing, see `did`. */
  readonly asked: Ask | undefined;
  /** The number of the journal's entry at which it was found. */
  readonly entry: number;
  readonly did: Deviation;
  /** Where the code asked, or where what it threw was made. */
  readonly at: string | undefined;
  /** The last ask that was as recorded. */
  readonly last: (Ask & { readonly at: string | undefined }) | undefined;
  /** What the code threw, with `did: "throws"`. */
  readonly thrown: unknown;
  /** How long the next ask was waited for, with `did: "waits"`. */
  readonly waitedMs: number;
}

/**
 * The code of a flow, running over its journal, took another way than the one recorded: it asked for something else, threw or returned
 * before it had made all recorded asks, or waits for something that is no ask of the flow. Nothing was changed: the flow waits in the
 * hospital with its place.
 *
 * @remedy Bring the code back to what it did, or guard the change with `flow.version(change, from, to)`; then discharge the flow. Clocks,
 * random numbers and shared variables belong into steps, or use `flow.now()`, `flow.random()`, `flow.id()`. Code that throws on replay has
 * its error as `cause`: mend that first.
 */
export class DivergenceError extends SignalboxError {
  static override readonly name: string = "DivergenceError";
  readonly code = "ERR_FLOW_DIVERGED";
  /** The id of the flow. */
  readonly flowId: string;
  /** What the journal has; undefined: nothing, the flow had gone no further. */
  readonly recorded: Ask | undefined;
  /** What the code asked; undefined: nothing, it threw, returned or waits. */
  readonly asked: Ask | undefined;
  /** What the code did instead: `asks` for something else, `returns`, `throws`, or `waits` for something that is no ask. */
  readonly did: Deviation;
  /** The number of the journal's entry at which it was found. */
  readonly entry: number;
  /** File, line and column: where the code asked, where it threw, or where it made its last ask before it returned or began to wait. */
  readonly at: string | undefined;
  constructor(flowId: string, name: string, found: Divergence) {
    const { recorded, asked, entry, did, at, last, thrown } = found;
    const was = recorded === undefined ? "the end of the journal" : `${recorded.kind} "${recorded.key}"`;
    super(
      `flow ${name} "${flowId}", journal entry ${entry}: recorded was ${was}, ${deviation(found)}. Bring the code back to what it did, or guard the change with flow.version`,
      did === "throws" ? { cause: thrown } : undefined,
    );
    this.flowId = flowId;
    this.recorded = recorded;
    this.asked = asked;
    this.did = did;
    this.entry = entry;
    this.at = did === "asks" || did === "throws" ? at : last?.at;
  }
}

const placed = (what: string, at: string | undefined): string =>
  at === undefined ? what : `${what} at ${at}`;

function deviation({ did, asked, at, last, thrown, waitedMs }: Divergence): string {
  const since =
    last === undefined
      ? "it asked nothing before"
      : placed(`its last ask was ${last.kind} "${last.key}"`, last.at);
  switch (did) {
    case "asks":
      return placed(`the code asks for ${asked?.kind} "${asked?.key}"`, at);
    case "throws":
      return placed(
        `the code throws ${isError(thrown) ? `${thrown.name}: ${thrown.message}` : show(thrown)}`,
        at,
      );
    case "returns":
      return `the code returns; ${since}`;
    case "waits":
      return `the code has asked nothing for ${waitedMs} ms and waits for something that is no ask of the flow; ${since}`;
    default:
      return did satisfies never;
  }
}

/**
 * `result()` waits for a flow that stands still: its code took another way than the one recorded, and a person has to act. The flow keeps
 * its place, and has not ended: once it is discharged, `result()` waits for it again.
 *
 * @remedy The message has the error of the flow, which says what to mend. Then discharge the flow, or start the host with the mended code.
 */
export class FlowInHospitalError extends SignalboxError {
  static override readonly name: string = "FlowInHospitalError";
  readonly code = "ERR_FLOW_IN_HOSPITAL";
  /** The id of the flow. */
  readonly flowId: string;
  /** The error for which it is there. */
  readonly symptom: Symptom;
  constructor(flowId: string, symptom: Symptom) {
    super(
      `flow "${flowId}" is in the hospital and goes on when it is discharged: ${symptom.name}: ${symptom.message}`,
    );
    this.flowId = flowId;
    this.symptom = symptom;
  }
}

/**
 * The flow was cancelled while its code waited. The code may catch this error to clean up: later asks work.
 *
 * @remedy Clean up in `catch` or `finally`, then throw the error on, or return what the flow has achieved.
 */
export class FlowCancelledError extends SignalboxError {
  static override readonly name: string = "FlowCancelledError";
  readonly code = "ERR_FLOW_CANCELLED";
  constructor(flowId: string) {
    super(`flow "${flowId}" was cancelled`);
  }
}

/**
 * A flow whose result was awaited has ended without one.
 *
 * @remedy Look at `status` and `cause`. A failed flow can be retried from a step: `signalbox flows retry`.
 */
export class FlowFailedError extends SignalboxError {
  static override readonly name: string = "FlowFailedError";
  readonly code = "ERR_FLOW_FAILED";
  /** The id of the flow. */
  readonly flowId: string;
  /** How it ended. */
  readonly status: "failed" | "cancelled" | "killed";
  constructor(flowId: string, status: "failed" | "cancelled" | "killed", cause: unknown) {
    super(`flow "${flowId}" ended as ${status}${whyEnded(status, cause)}`, { cause });
    this.flowId = flowId;
    this.status = status;
  }
}

/** Of a chain of flows that failed for each other, the message names the last one and its error alone; `cause` leads through all. */
function whyEnded(status: FlowFailedError["status"], cause: unknown): string {
  let last = cause;
  let length = 0;
  for (let at = cause; at instanceof FlowFailedError && length < MOST_IN_CHAIN; at = at.cause) {
    last = at;
    length++;
  }
  if (length > 1)
    return `, the first of ${length + 1} in a chain of calls; ${(last as FlowFailedError).message}`;
  if (isError(cause)) return `: ${cause.message}`;
  return status === "failed" ? `: its code threw ${kindOf(cause)}, and no error` : "";
}

/**
 * There is no flow with this id in the store.
 *
 * @remedy Check the id; a flow that ended may have been removed by the retention rule.
 */
export class FlowNotFoundError extends SignalboxError {
  static override readonly name: string = "FlowNotFoundError";
  readonly code = "ERR_FLOW_NOT_FOUND";
  /** The id that no flow has. */
  readonly flowId: string;
  constructor(flowId: string) {
    super(`there is no flow "${flowId}" in the store`);
    this.flowId = flowId;
  }
}

/**
 * A query has no answer: the flow's code does not answer it, or the flow is not in memory and cannot be brought there.
 *
 * @remedy Call `flow.query(name, …)` in the code before its first wait. Ask a flow that runs on this host and has not ended.
 */
export class FlowQueryError extends SignalboxError {
  static override readonly name: string = "FlowQueryError";
  readonly code = "ERR_FLOW_QUERY";
  /** The id of the flow. */
  readonly flowId: string;
  constructor(flowId: string, query: string, status: string, known: readonly string[] | undefined) {
    super(
      known === undefined
        ? `flow "${flowId}" cannot answer the query "${query}" here: it is ${status}`
        : `flow "${flowId}" does not answer the query "${query}"; it answers ${known.length === 0 ? "none" : known.join(", ")}`,
    );
    this.flowId = flowId;
  }
}

/**
 * No flow of this name and version is registered with the host.
 *
 * @remedy Add the definition to the `flows` of the host, in the version that the flow was started with.
 */
export class UnknownFlowError extends SignalboxError {
  static override readonly name: string = "UnknownFlowError";
  readonly code = "ERR_FLOW_UNKNOWN";
  constructor(name: string, version: number | undefined, known: readonly string[]) {
    super(
      `this host has no flow "${name}"${version === undefined ? "" : ` of version ${version}`}; it has ${known.length === 0 ? "none" : known.join(", ")}`,
    );
  }
}

/**
 * A flow of another name, or of another version, was started under this id before.
 *
 * @remedy Choose ids that are unique among all flows of the store: prefix the id with the kind of thing it stands for.
 */
export class FlowIdTakenError extends SignalboxError {
  static override readonly name: string = "FlowIdTakenError";
  readonly code = "ERR_FLOW_ID_TAKEN";
  constructor(flowId: string, name: string, wanted: string) {
    super(`the id "${flowId}" belongs to a flow ${name}, so no flow ${wanted} starts under it`);
  }
}

/**
 * A flow was started under this id before, with another input: the caller would get the result of something else.
 *
 * @remedy Choose an id that stands for the input, or say `attach: true` if the flow that is there will do.
 */
export class FlowInputDiffersError extends SignalboxError {
  static override readonly name: string = "FlowInputDiffersError";
  readonly code = "ERR_FLOW_INPUT_DIFFERS";
  /** The id of the flow that is there. */
  readonly flowId: string;
  constructor(flowId: string, name: string) {
    super(
      `flow ${name} "${flowId}" was started before with another input; start under another id, or with \`attach: true\``,
    );
    this.flowId = flowId;
  }
}

/**
 * No answer came in time, or the store lost its answer: whether the operation took place, or still does, is unknown. `flowId` is the
 * flow that it was for, also of a start that was given no id.
 *
 * @remedy Look at the flow: `host.get(error.flowId).info()`. A start, a send with a `messageId`, a cancel or a kill may be repeated as it
 * is: the second one finds the first. `cause` says why no answer came.
 */
export class FlowOutcomeUnknownError extends SignalboxError {
  static override readonly name: string = "FlowOutcomeUnknownError";
  readonly code = "ERR_FLOW_OUTCOME_UNKNOWN";
  /** The operation: `start`, `send`, `cancel`, and so on. */
  readonly operation: string;
  /** The id of the flow; for an operation on a schedule, the name of the schedule. */
  readonly flowId: string;
  constructor(operation: string, flowId: string, cause: unknown, what: "flow" | "schedule" = "flow") {
    super(
      `whether the ${operation} of ${what} "${flowId}" took place is unknown: no answer came. Look at the ${what}, or repeat it`,
      {
        cause,
      },
    );
    this.operation = operation;
    this.flowId = flowId;
  }
}

/**
 * An attempt of a step took longer than its `timeout`.
 *
 * @remedy Give the step more time, retries, or an `AbortSignal` that its work observes.
 */
export class StepTimeoutError extends SignalboxError {
  static override readonly name: string = "StepTimeoutError";
  readonly code = "ERR_FLOW_STEP_TIMEOUT";
  constructor(key: string, ms: number) {
    super(`step "${key}" took longer than ${ms} ms`);
  }
}

/**
 * Throw it, or an error with `retriable: false`, in a step that would fail again: the step is not repeated.
 *
 * @remedy Catch it in the flow, or let the flow fail.
 */
export class NonRetriableError extends SignalboxError {
  static override readonly name: string = "NonRetriableError";
  readonly code = "ERR_FLOW_NOT_RETRIABLE";
  readonly retriable = false;
}

/**
 * The code of a flow asked for the hospital.
 *
 * @remedy Mend what the message says, then discharge the flow.
 */
export class HospitalizeError extends SignalboxError {
  static override readonly name: string = "HospitalizeError";
  readonly code = "ERR_FLOW_HOSPITALIZED";
}

/**
 * Another host that lives has the id of this one. Flows are held by one host at a time, and a host is known by its id.
 *
 * @remedy Give each host an id of its own, or leave `hostId` out: then the host makes one. If the other host was killed a moment ago, start
 * again when its claim has expired, which takes the `leaseMs` of the store at most.
 */
export class FlowHostTakenError extends SignalboxError {
  static override readonly name: string = "FlowHostTakenError";
  readonly code = "ERR_FLOW_HOST_TAKEN";
  /** The id that both hosts have. */
  readonly hostId: string;
  constructor(
    hostId: string,
    store: string,
    holder: { readonly owner: string; readonly since?: number | undefined } | undefined,
  ) {
    const since = holder?.since === undefined ? "" : ` since ${utcOf(holder.since)}`;
    const who =
      holder === undefined ? "another host held it a moment ago" : `${holder.owner} holds it${since}`;
    super(
      `the host id ${hostId} is taken on ${store}: ${who}; give each host an id of its own, or leave hostId out`,
    );
    this.hostId = hostId;
  }
}

/**
 * A step, or code outside of the flow, used a flow's context after it ended, or from within a step's body.
 *
 * @remedy Use the flow's context in the flow's own code only; a step's body gets a context of its own.
 */
export class FlowContextError extends SignalboxError {
  static override readonly name: string = "FlowContextError";
  readonly code = "ERR_FLOW_CONTEXT";
}

/**
 * A flow did not end, or published no event, within the timeout of a wait. The flow goes on.
 *
 * @remedy Wait again, with a larger `timeoutMs` if need be; or look at what the flow waits for with `inspect`.
 */
export class FlowWaitTimeoutError extends SignalboxError {
  static override readonly name: string = "FlowWaitTimeoutError";
  readonly code = "ERR_FLOW_WAIT_TIMEOUT";
  /** The id of the flow. */
  readonly flowId: string;
  /** How many milliseconds were waited. */
  readonly timeoutMs: number;
  constructor(flowId: string, timeoutMs: number, what = "end") {
    super(`the flow ${JSON.stringify(flowId)} did not ${what} within ${timeoutMs} ms; it goes on`);
    this.flowId = flowId;
    this.timeoutMs = timeoutMs;
  }
}
