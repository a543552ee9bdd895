// Errors of topologies. Each says which component it is about, and what would have been right.

import { SignalboxError } from "../../process/errors.js";
import { showThrown } from "../../process/show.js";

/** One thing that is wrong with a topology. */
export interface Problem {
  /** The component it is about; undefined when it is about the whole. */
  readonly component: string | undefined;
  /** The problem in a few words, without the name of the component. */
  readonly text: string;
}

/**
 * A topology cannot be built. The message lists every problem with the name of its component.
 *
 * @remedy Correct the listed problems, then call `build` again.
 */
export class TopologyError extends SignalboxError {
  static override readonly name: string = "TopologyError";
  readonly code = "ERR_TOPOLOGY";
  /** Name of the topology. */
  readonly topology: string;
  /** All problems that the check found, at least one. */
  readonly problems: readonly Problem[];
  constructor(topology: string, problems: readonly Problem[]) {
    const list = problems.map(({ component, text }) =>
      component === undefined ? text : `${component}: ${text}`,
    );
    super(`topology ${topology} cannot be built: ${list.join("; ")}`);
    this.topology = topology;
    this.problems = problems;
  }
}

/** Base of the errors of one task. The text begins with the component and the task. */
export abstract class TaskError extends SignalboxError {
  static override readonly name: string = "TaskError";
  /** Name of the component. */
  readonly component: string;
  /** Id of the task, as in {@link TaskContext.task}. */
  readonly task: number;
  constructor(component: string, task: number, text: string) {
    super(`${component} (task ${task}) ${text}`);
    this.component = component;
    this.task = task;
  }
}

/**
 * A bolt acked or failed a tuple that it had settled before, or that was not its own.
 *
 * @remedy Settle each tuple once, in the task that got it.
 */
export class SettledError extends TaskError {
  static override readonly name: string = "SettledError";
  readonly code = "ERR_TUPLE_SETTLED";
  constructor(component: string, task: number, stream: string) {
    super(component, task, `has settled this tuple of ${stream} already; ack or fail each tuple once`);
  }
}

/**
 * A bolt called `ack` or `fail`, but the library settles the tuples of this bolt.
 *
 * @remedy Give the bolt `mode: "manual"`, or leave it to the library: a return from `execute` acks, a throw
 * fails.
 */
export class BoltModeError extends TaskError {
  static override readonly name: string = "BoltModeError";
  readonly code = "ERR_BOLT_MODE";
  constructor(component: string, task: number, mode: string) {
    super(
      component,
      task,
      `called ctx.ack or ctx.fail, but its mode is \`${mode}\`: each tuple is settled when ` +
        'execute is done; give the bolt `mode: "manual"` to settle them by calls',
    );
  }
}

/**
 * With `checkValues`, a bolt or spout emitted a tuple whose values do not match the declared fields.
 *
 * @remedy Emit the declared fields, or change the declaration; the message names the field.
 */
export class FieldError extends SignalboxError {
  static override readonly name: string = "FieldError";
  readonly code = "ERR_TUPLE_FIELD";
  /** Name of the component that emitted the tuple. */
  readonly component: string;
  /** Name of the stream. */
  readonly stream: string;
  /** Name of the field whose value does not match. */
  readonly field: string;
  constructor(component: string, stream: string, field: string, wanted: string, got: string) {
    super(`${component} emitted a tuple on ${stream} whose field ${field} must be ${wanted}; got ${got}`);
    this.component = component;
    this.stream = stream;
    this.field = field;
  }
}

/**
 * A bolt emitted a tuple anchored to a tuple that is already settled. The tree of that tuple may be
 * complete.
 *
 * @remedy Emit before `ack`, await before you emit, or pass `anchors` that are not settled.
 */
export class AnchorError extends TaskError {
  static override readonly name: string = "AnchorError";
  readonly code = "ERR_TUPLE_ANCHOR";
  constructor(component: string, task: number, stream: string) {
    super(
      component,
      task,
      `emitted a tuple anchored to one of ${stream} that it has settled; ` +
        "emit before the ack, or give `anchors: []`",
    );
  }
}

/**
 * A function of a bolt did not end within `executeTimeoutMs`. Its task hung, and the library ended the
 * task.
 *
 * @remedy Give I/O its own timeout by `ctx.signal`, move CPU work elsewhere, or raise `executeTimeoutMs`.
 */
export class ExecuteTimeoutError extends TaskError {
  static override readonly name: string = "ExecuteTimeoutError";
  readonly code = "ERR_EXECUTE_TIMEOUT";
  /** The `executeTimeoutMs` of the bolt, in milliseconds. */
  readonly timeoutMs: number;
  constructor(component: string, task: number, work: string, timeoutMs: number) {
    super(
      component,
      task,
      `did not finish ${work} within ${timeoutMs} ms; if that is no hang, raise its executeTimeoutMs`,
    );
    this.timeoutMs = timeoutMs;
  }
}

/**
 * The topology is in a phase in which it cannot do what was asked: not started yet, stopping, or stopped.
 *
 * @remedy Await the start before you use the reference, and start a new run after a stop.
 */
export class TopologyPhaseError extends SignalboxError {
  static override readonly name: string = "TopologyPhaseError";
  readonly code = "ERR_TOPOLOGY_PHASE";
  /** Name of the topology. */
  readonly topology: string;
  /** The phase in which the topology was asked; see {@link Phase}. */
  readonly phase: string;
  constructor(topology: string, phase: string, asked: string) {
    super(`topology ${topology} is ${phase}: it cannot ${asked}`);
    this.topology = topology;
    this.phase = phase;
  }
}

/** An error of a user's function, for the log. */
export function textOf(error: unknown): string {
  return typeof error === "string" ? error : showThrown(error);
}
