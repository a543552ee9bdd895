// A reliable tuple of a spout that is not settled yet, and its trace: the ids of its former trees, and the places of its descendants in windows. By the trace, the descendants of a retried tuple are recognized.

import type { AsyncContext } from "../../process/environment.js";
import type { Failure, SpoutEmitOptions } from "../definition/component.js";
import type { Place } from "./places.js";

/** A reliable tuple of a spout. */
export interface PendingTuple {
  readonly id: unknown;
  readonly stream: string;
  readonly values: object;
  /** The task that a direct emit named. */
  readonly task: number | undefined;
  /** How often it was emitted, without the tries that came back: those failed by no fault of the tuple. */
  attempts: number;
  /** How many tries in a row came back. */
  setbacks: number;
  /** The beat at which it was emitted last. */
  born: number;
  /** Milliseconds of the clock at its first emit, if its latency is measured. */
  readonly emittedAt: number | undefined;
  /** Why it has failed for good. Its dead letter is emitted in its place. */
  deadBecause: Failure["type"] | undefined;
  /** How often its dead letter was emitted. */
  letters: number;
  /** A tree of it is in flight. Otherwise it waits to be emitted. */
  inFlight: boolean;
  /** Called once with the tasks that it was sent to. */
  onTasks: ((tasks: readonly number[]) => void) | undefined;
  /** Its spout was notified, or it is left to the source: it is not emitted again. */
  settled: boolean;
  /** Its number among all reliable tuples that the spouts have emitted. */
  readonly serial: number;
  /** The trace of its tries. */
  trace: Trace | undefined;
  /** The asynchronous context of each emit, in a system whose messages carry contexts. */
  context?: AsyncContext | undefined;
}

/** A new reliable tuple. @param emittedAt - the time of the clock, if its latency is to be measured */
export function newPendingTuple(
  stream: string,
  values: object,
  { id, task, onTasks }: SpoutEmitOptions<unknown>,
  emittedAt?: number,
  serial = 0,
): PendingTuple {
  return {
    id,
    stream,
    values,
    task,
    attempts: 0,
    setbacks: 0,
    born: 0,
    emittedAt,
    deadBecause: undefined,
    letters: 0,
    inFlight: false,
    onTasks,
    settled: false,
    serial,
    trace: undefined,
    context: undefined,
  };
}

/** Values of the stream `dead`. */
export function letterOf({ id, stream, values, attempts, deadBecause }: PendingTuple): object {
  return { id, stream, values, attempts, reason: deadBecause };
}

/** The line of the log when a tuple has failed for good and neither its spout nor any bolt handles that. */
export function unheard({ stream, attempts }: PendingTuple): string {
  return (
    `a tuple of ${stream} failed for good after ${attempts} tries, and no code handles that: give the spout \`fail\`, ` +
    "subscribe to its stream `dead`, or listen to the event `deadTuple`"
  );
}

/** The trace of one tuple of a spout. Made when there is something to remember. */
export class Trace {
  /** Keys of its former trees, the oldest first. */
  readonly trees: string[] = [];
  /** A tree of it expired. Where is unknown. */
  expired = false;
  /** A bolt has reported that no retry can succeed. */
  hopeless = false;
  /** Descendants that bolts with windows have got, or lost on their way there. */
  readonly places: Place[] = [];
  /** Where the search for the next place begins. */
  next = 0;
}

/** The trace of a tuple. */
export function traceOf(pending: PendingTuple): Trace {
  pending.trace ??= new Trace();
  return pending.trace;
}
