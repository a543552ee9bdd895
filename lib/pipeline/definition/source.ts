// Sources: where the messages of an execution come from. A source is read once in an execution, from the checkpoint at which the
// last commit left it.

import type { Kernel } from "../../process/kernel.js";
import type { Queue } from "./queue.js";

/** The context in which a source opens. */
export interface SourceContext<C> {
  /** The checkpoint of the last value that was committed; undefined at the first start. The next value is the one behind it. */
  readonly checkpoint: C | undefined;
  /** The input of the execution. */
  readonly input: unknown;
  /** Aborts when the execution is paused or cancelled, or leaves this host. */
  readonly signal: AbortSignal;
  /** @internal The system on which the source runs. */
  readonly kernel: Kernel;
}

/** A value of a source, with the place from which to go on behind it. */
export interface Sourced<out T, out C = unknown> {
  /** The value: it becomes a message of the source's queue. */
  readonly value: T;
  /** Stored in the commit that stores the message: plain data. */
  readonly checkpoint: C;
  /** The key of the message. */
  readonly key?: string | undefined;
}

/**
 * A source. It must give the same values behind the same checkpoint: a source that was interrupted is opened again, at its last
 * checkpoint, and goes on without a gap and without a repetition. If it throws, the execution fails.
 */
export interface Source<out T = unknown, in out C = unknown> {
  /** Names the source in its pipeline. */
  readonly name: string;
  /** Reads on from a checkpoint. Ends when there is nothing more; then the source is closed. */
  open(ctx: SourceContext<C>): AsyncIterable<Sourced<T, C>> | Iterable<Sourced<T, C>>;
}

/** A source and the queue that its messages go to. */
export interface Feed {
  /** The source. */
  readonly source: Source<unknown, never>;
  /** The queue. */
  readonly to: Queue<never>;
}
