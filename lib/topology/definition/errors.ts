// Errors of topologies. Each says which component it is about, and what would have been right.

import { SignalboxError } from "../../process/errors.js";
import { showThrown } from "../../process/show.js";

/** One thing that is wrong with a topology. */
export interface Problem {
  /** The component it is about; undefined when it is about the whole. */
  readonly component: string | undefined;
  readonly text: string;
}

/** A topology that cannot be built: everything that is wrong with it, each problem with the component's name. */
export class TopologyError extends SignalboxError {
  static override readonly name: string = "TopologyError";
  readonly code = "ERR_TOPOLOGY";
  readonly topology: string;
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

/** A bolt acked or failed a tuple that it had acked or failed before, or that was not its own. */
export class SettledError extends SignalboxError {
  static override readonly name: string = "SettledError";
  readonly code = "ERR_TUPLE_SETTLED";
  readonly component: string;
  readonly task: number;
  constructor(component: string, task: number, stream: string) {
    super(
      `${component} (task ${task}) has settled this tuple of ${stream} already; ack or fail each tuple once`,
    );
    this.component = component;
    this.task = task;
  }
}

/** A bolt that does not settle its tuples by itself called `ack` or `fail`. */
export class BoltModeError extends SignalboxError {
  static override readonly name: string = "BoltModeError";
  readonly code = "ERR_BOLT_MODE";
  readonly component: string;
  readonly task: number;
  constructor(component: string, task: number, mode: string) {
    super(
      `${component} (task ${task}) called ctx.ack or ctx.fail, but its mode is \`${mode}\`: each tuple is settled when ` +
        'execute is done; give the bolt `mode: "manual"` to settle them by calls',
    );
    this.component = component;
    this.task = task;
  }
}

/** With `checkValues`: a tuple was emitted whose values are not what the stream's fields say. */
export class FieldError extends SignalboxError {
  static override readonly name: string = "FieldError";
  readonly code = "ERR_TUPLE_FIELD";
  readonly component: string;
  readonly stream: string;
  readonly field: string;
  constructor(component: string, stream: string, field: string, wanted: string, got: string) {
    super(`${component} emitted a tuple on ${stream} whose field ${field} must be ${wanted}; got ${got}`);
    this.component = component;
    this.stream = stream;
    this.field = field;
  }
}

/** A tuple was emitted anchored to one that is settled: its tree may have been told to be complete already. */
export class AnchorError extends SignalboxError {
  static override readonly name: string = "AnchorError";
  readonly code = "ERR_TUPLE_ANCHOR";
  readonly component: string;
  readonly task: number;
  constructor(component: string, task: number, stream: string) {
    super(
      `${component} (task ${task}) emitted a tuple anchored to one of ${stream} that it has settled; ` +
        "emit before the ack, or give `anchors: []`",
    );
    this.component = component;
    this.task = task;
  }
}

/** A bolt's function did not end in time: its task hangs, and was ended. */
export class ExecuteTimeoutError extends SignalboxError {
  static override readonly name: string = "ExecuteTimeoutError";
  readonly code = "ERR_EXECUTE_TIMEOUT";
  readonly component: string;
  readonly task: number;
  readonly timeoutMs: number;
  constructor(component: string, task: number, work: string, timeoutMs: number) {
    super(
      `${component} (task ${task}) did not finish ${work} within ${timeoutMs} ms; ` +
        "if that is no hang, raise its executeTimeoutMs",
    );
    this.component = component;
    this.task = task;
    this.timeoutMs = timeoutMs;
  }
}

/** The topology does not run any more, or not yet, and cannot do what was asked. */
export class TopologyPhaseError extends SignalboxError {
  static override readonly name: string = "TopologyPhaseError";
  readonly code = "ERR_TOPOLOGY_PHASE";
  readonly topology: string;
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
