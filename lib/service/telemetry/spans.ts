// Spans of calls and messages in progress: each holds its begin, and ends once.

import type { CallOutcome, CallTap } from "../../process/taps.js";
import { CHANNELS } from "./channels.js";
import type { CallBegin, MessageBegin, MessageEnd, StartBegin, StartEnd } from "./events.js";
import type { Mark, Marker } from "./marks.js";
import type { MessageMeter } from "./meters.js";
import type { Recorder } from "./recorder.js";

/** A call that is sampled. The request holds it. */
export class CallSpan implements CallTap, Marker {
  readonly isMarker = true;
  readonly begin: CallBegin;
  readonly mark: Mark;
  readonly #recorder: Recorder;
  /** Counts the call. */
  readonly #next: CallTap | undefined;

  constructor(recorder: Recorder, begin: CallBegin, next: CallTap | undefined) {
    this.#recorder = recorder;
    this.begin = begin;
    this.#next = next;
    this.mark = { kind: "call", name: begin.method, cause: begin.span, sentAt: begin.at };
  }

  ended(outcome: CallOutcome, error: unknown): void {
    const { begin } = this;
    const recorder = this.#recorder;
    this.#next?.ended(outcome, error);
    const channel = CHANNELS["call:end"];
    if (!channel.hasSubscribers) return;
    const { system, node, span, from, to, label, method } = begin;
    const at = recorder.now();
    const durationMs = at - begin.at;
    const end = { system, node, at, span, from, to, label, method, durationMs, outcome, error };
    recorder.publish(channel, end);
  }
}

/** A message that a process handles now. */
export class MessageSpan {
  readonly begin: MessageBegin;
  readonly #recorder: Recorder;
  readonly #isPublic: boolean;
  readonly #meter: MessageMeter | undefined;

  /** @param isPublic - it is emitted, and not only measured */
  constructor(recorder: Recorder, begin: MessageBegin, isPublic: boolean, meter: MessageMeter | undefined) {
    this.#meter = meter;
    this.#recorder = recorder;
    this.begin = begin;
    this.#isPublic = isPublic;
  }

  /** The number of the span, if it is emitted. */
  get number(): number | undefined {
    return this.#isPublic ? this.begin.span : undefined;
  }

  ended(outcome: MessageEnd["outcome"]): void {
    const { begin } = this;
    const recorder = this.#recorder;
    const at = recorder.now();
    const durationMs = at - begin.at;
    this.#meter?.handled(begin.waitedMs, durationMs);
    const channel = CHANNELS["message:end"];
    if (!this.#isPublic || !channel.hasSubscribers) return;
    const { system, node, span, process, label, kind, name, cause, waitedMs } = begin;
    const end = { system, node, at, span, process, label, kind, name, cause, waitedMs, durationMs, outcome };
    recorder.publish(channel, end);
  }
}

/** Ends the span of a start. */
export function startEnded(recorder: Recorder, begin: StartBegin, outcome: StartEnd["outcome"]): void {
  const channel = CHANNELS["start:end"];
  if (!channel.hasSubscribers) return;
  const { system, node, span, process, path, supervisor, crash } = begin;
  const at = recorder.now();
  const durationMs = at - begin.at;
  recorder.publish(channel, {
    system,
    node,
    at,
    span,
    process,
    path,
    supervisor,
    crash,
    durationMs,
    outcome,
  });
}
