// Spans of work that is taken out of a store: a step of a durable flow, an attempt at a message of a pipeline.

import type { Process } from "../../process/process.js";
import type { WorkTap } from "../../process/taps.js";
import { CHANNELS } from "./channels.js";
import type { SpanBegin, TelemetryEvents } from "./events.js";
import { asObserved } from "./observed-process.js";
import type { Recorder } from "./recorder.js";
import { isKept, REFUSED, RefusedWork, type Verdict } from "./refused.js";

/** The facts at the end of a span of work. */
export type WorkEnd<Begin, Outcome> = Begin & { readonly durationMs: number; readonly outcome: Outcome };

export class WorkSpan<Begin extends SpanBegin, Outcome> implements WorkTap<Outcome | "aborted"> {
  readonly #recorder: Recorder;
  readonly #begin: Begin;
  readonly #by: Process;
  readonly #finish: (end: WorkEnd<Begin, Outcome | "aborted">) => void;
  /** Notes for the process that the work is refused. */
  readonly #refused: RefusedWork | undefined;

  /** @internal */
  constructor(
    recorder: Recorder,
    begin: Begin,
    by: Process,
    verdict: Verdict,
    finish: (end: WorkEnd<Begin, Outcome | "aborted">) => void,
  ) {
    this.#recorder = recorder;
    this.#begin = begin;
    this.#by = by;
    this.#finish = finish;
    this.#refused = verdict === REFUSED ? refusedWork(recorder, by) : undefined;
    recorder.work.begun(by, this);
  }

  around<R>(run: () => R): R {
    const refused = this.#refused;
    const here = refused === undefined ? run : (): R => refused.around(run);
    return this.#recorder.inSpan(this.#begin.span, undefined, here);
  }

  ended(outcome: Outcome | "aborted"): void {
    const recorder = this.#recorder;
    this.#refused?.ended();
    if (recorder.work.ended(this.#by, this)) this.#finish({ ...recorder.over(this.#begin), outcome });
  }
}

/** A piece of work that nobody follows, and that is refused. */
export function refusedWork(recorder: Recorder, by: Process): RefusedWork {
  return new RefusedWork(asObserved(by), recorder.watch?.refusing);
}

/** Tells of the begin of work, in the trace that was kept with it. */
export function beginWork<Name extends "flow:step:begin" | "route:begin" | "queue:begin">(
  recorder: Recorder,
  name: Name,
  begin: TelemetryEvents[Name],
  trace: string | null,
  verdict: Verdict,
): void {
  if (!CHANNELS[name].hasSubscribers && !isKept(verdict)) return;
  const publish = (): void => recorder.tell(name, begin, true, verdict);
  // Where messages carry contexts, the code that does the work runs in that of the trace, or in a span of its own below it.
  if (recorder.kernel.carriesContext) publish();
  else recorder.continuing(trace, publish);
}
