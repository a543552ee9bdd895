// A reliable tuple of a spout that is not settled yet, and what is remembered of it for as long: the ids of its former
// trees, where these failed, and which windows had it. So what comes of it is known again when it is tried again.

import type { AsyncContext } from "../../process/environment.js";
import type { Failure, SpoutEmitOptions } from "../definition/component.js";

/** A reliable tuple of a spout. */
export interface PendingTuple {
  readonly id: unknown;
  readonly stream: string;
  readonly values: object;
  /** The task that a direct emit named. */
  readonly task: number | undefined;
  /** How often it was emitted, but for the times when it failed by no fault of its own. */
  attempts: number;
  /** How often in a row that was so. */
  setbacks: number;
  /** The beat at which it was emitted last. */
  born: number;
  /** Milliseconds at which it was emitted first, when its latency is measured. */
  readonly emittedAt: number | undefined;
  /** It has failed for good, and this is why: what flies now is its dead letter. */
  deadBecause: Failure["type"] | undefined;
  /** How often its dead letter was emitted. */
  letters: number;
  /** It is out, not waiting to be tried again. */
  inFlight: boolean;
  /** Who wants to know, once, which tasks it was sent to. */
  onTasks: ((tasks: readonly number[]) => void) | undefined;
  /** Its spout was told, or it is the source's own affair: it is not emitted again. */
  settled: boolean;
  /** Its number among all that the spouts have emitted. */
  readonly serial: number;
  /** What its tries have left behind. */
  trace: Trace | undefined;
  /** Where it was emitted first, and is each time, in a system whose messages carry contexts. */
  context?: AsyncContext | undefined;
}

/** A new reliable tuple. @param emittedAt - now, when its latency is to be measured */
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
export function letterOf({ id, stream, values, attempts, deadBecause: dying }: PendingTuple): object {
  return { id, stream, values, attempts, reason: dying };
}

/** For the log, when a tuple has failed for good and its spout does not want to know. */
export function unheard({ stream, attempts }: PendingTuple): string {
  return (
    `a tuple of ${stream} failed for good after ${attempts} tries, and nobody is told: give the spout \`fail\`, ` +
    "read its stream `dead`, or listen to the event `deadTuple`"
  );
}

/** The tuples of one time that came of one tuple of a spout. Each try of that is known by half of its root's id. */
export interface Loss {
  /** The table that has it. */
  readonly table: object;
  readonly time: number;
  readonly kept: PendingTuple;
  /** When one was lost last. */
  since: number;
  /** The most that were lost of one try: so many have to come again. */
  need: number;
  /** The last try of which some were lost, and how many. */
  lostOf: number;
  lost: number;
  /** The last try of which some came, and how many of them are there. */
  cameOf: number;
  came: number;
  /** It is in the heap. */
  queued: boolean;
}

/** A tuple of a windowed bolt that is in every window that it belongs into, or in some. */
interface Windowed {
  /** The bolt's task. */
  readonly task: number;
  /** The time that windows have it by. */
  readonly time: number;
  /** Every window that it belongs into was handed over. */
  done: boolean;
}

/** Of one tuple of a spout. Made when there is something to remember. */
export class Trace {
  /** Keys of its former trees, the oldest first. */
  readonly trees: string[] = [];
  /** Components that failed something of it. */
  readonly failedAt: Set<string> = new Set();
  /** A tree of it expired: nobody knows where. */
  expired = false;
  /** No try will help: a bolt has said so. */
  hopeless = false;
  /** What bolts with windows have lost of it. */
  readonly losses: Loss[] = [];
  private readonly windowed: Windowed[] = [];
  /** A window of that task was handed over with a tuple of this time that came of it. */
  handedOver(task: number, time: number): void {
    if (this.windowedAt(task, time) === undefined) this.windowed.push({ task, time, done: false });
  }

  /** That was its last window. */
  wasLast(task: number, time: number): void {
    const one = this.windowedAt(task, time);
    if (one !== undefined) one.done = true;
  }

  windowedAt(task: number, time: number): Windowed | undefined {
    return this.windowed.find((one) => one.task === task && one.time === time);
  }
}

/** The trace of a tuple. */
export function traceOf(kept: PendingTuple): Trace {
  kept.trace ??= new Trace();
  return kept.trace;
}
