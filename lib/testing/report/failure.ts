// The error for a failed schedule: the failure, the steps that led to it, and the token that replays it.

import { SignalboxError } from "../../process/errors.js";
import { cut } from "./brief.js";
import { traceToMermaid } from "./mermaid.js";
import { renderSteps } from "./render.js";
import type { Trace } from "./trace.js";

/** How a failing schedule was found. */
export interface FoundSchedule {
  /** Number of the schedule in the exploration, from 1. */
  readonly schedule: number;
  /** Name of the search strategy; `replay` when a token was replayed. */
  readonly strategy: string;
  /** Seed of the exploration. */
  readonly seed: number;
  /** Steps of the schedule before it was shrunk. */
  readonly steps: number;
  /** Number of schedules that were run to shrink it. */
  readonly tried: number;
  /** Failures of other bugs that were met while the schedule was shrunk. */
  readonly others: readonly OtherFailure[];
}

/** A failure of another bug than the reported one. */
export interface OtherFailure {
  /** The failure in one line. */
  readonly failure: string;
  /** Replays its schedule, which was not shrunk. */
  readonly token: string;
}

/**
 * A schedule failed; `cause` is the failure. The text shows the shortest failing schedule that was found.
 *
 * @remedy Run `simulate` or `explore` with the token to replay the schedule, and debug it step by step.
 */
export class ScheduleFailedError extends SignalboxError {
  static override readonly name: string = "ScheduleFailedError";
  readonly code = "ERR_SIM_SCHEDULE";
  /** Pass it to `explore` as `replay` to run exactly this schedule. */
  readonly token: string;
  /** The steps of the schedule, and its failure. */
  readonly trace: Trace;
  /** The decisions of the schedule, in order, without the zeros at their end. {@link simulate} takes them as `choices`. */
  readonly choices: readonly number[];
  /** How the schedule was found. */
  readonly found: FoundSchedule;

  constructor(cause: unknown, token: string, trace: Trace, choices: readonly number[], found: FoundSchedule) {
    super(textOf(trace, token, found), { cause });
    this.token = token;
    this.trace = trace;
    this.choices = choices;
    this.found = found;
  }

  /** The schedule as a Mermaid sequence diagram. */
  toMermaid(): string {
    return traceToMermaid(this.trace);
  }
}

/** Of the line of another failure. */
const MOST_CHARACTERS = 120;

function textOf(
  trace: Trace,
  token: string,
  { schedule, strategy, seed, steps, tried, others }: FoundSchedule,
): string {
  const after = trace.steps.length;
  const shrunk = after < steps ? `, shrunk from ${steps} (${tried} tried)` : "";
  return [
    `${trace.failure}`,
    `in ${after} step${after === 1 ? "" : "s"}${shrunk}; schedule ${schedule} by ${strategy}, seed ${seed}`,
    "",
    renderSteps(trace.steps),
    "",
    `replay: "${token}"`,
    ...(others.length === 0 ? [] : ["", "other failures met while it was shrunk:"]),
    ...others.map((other) => `  ${lineOf(other.failure)}\n  replay: "${other.token}"`),
  ].join("\n");
}

function lineOf(failure: string): string {
  return cut(failure.replace(/\s+/g, " "), MOST_CHARACTERS);
}
