// Spans of work that is taken out of a store: a step of a durable flow, an attempt at a message of a pipeline.

import type { Process } from "../../process/process.js";
import type { WorkTap } from "../../process/taps.js";
import type { EventChannel } from "./channels.js";
import type { SpanBegin } from "./events.js";
import type { Recorder } from "./recorder.js";

/** The facts at the end of a span of work. */
export type WorkEnd<Begin, Outcome> = Begin & { readonly durationMs: number; readonly outcome: Outcome };

export class WorkSpan<Begin extends SpanBegin, Outcome> implements WorkTap<Outcome | "aborted"> {
  readonly #recorder: Recorder;
  readonly #begin: Begin;
  readonly #by: Process;
  readonly #finish: (end: WorkEnd<Begin, Outcome | "aborted">) => void;

  /** @internal */
  constructor(
    recorder: Recorder,
    begin: Begin,
    by: Process,
    finish: (end: WorkEnd<Begin, Outcome | "aborted">) => void,
  ) {
    this.#recorder = recorder;
    this.#begin = begin;
    this.#by = by;
    this.#finish = finish;
    recorder.work.begun(by, this);
  }

  around<R>(run: () => R): R {
    return this.#recorder.around(this.#begin.span, run);
  }

  ended(outcome: Outcome | "aborted"): void {
    const recorder = this.#recorder;
    if (recorder.work.ended(this.#by, this)) this.#finish({ ...recorder.over(this.#begin), outcome });
  }
}

/** Emits the begin of work, in the trace that was kept with it. */
export function beginWork<Begin extends SpanBegin>(
  recorder: Recorder,
  channel: EventChannel<Begin>,
  begin: Begin,
  trace: string | null,
): void {
  if (!channel.hasSubscribers) return;
  const publish = (): void => recorder.publish(channel, begin);
  // Where messages carry contexts, the code that does the work runs in that of the trace, or in a span of its own below it.
  if (recorder.kernel.carriesContext) publish();
  else recorder.continuing(trace, publish);
}
