// Spans of calls and messages in progress: each holds its begin, and ends once.

import type { CallOutcome, CallTap } from "../../process/taps.js";
import { CHANNELS } from "./channels.js";
import type { CallBegin, MessageBegin, MessageEnd, StartBegin, StartEnd } from "./events.js";
import type { Mark, Marker } from "./marks.js";
import type { MessageMeter } from "./meters.js";
import type { Recorder } from "./recorder.js";
import { type Handling, isKept, REFUSED, type Verdict } from "./refused.js";

/** What the mark of a message says of the span that sent it. */
export function verdictOfMark(verdict: Verdict): Mark["verdict"] {
  return verdict === undefined ? undefined : verdict === REFUSED ? "refused" : "kept";
}

/** A call that is sampled or kept. The request holds it. */
export class CallSpan implements CallTap, Marker {
  readonly isMarker = true;
  readonly begin: CallBegin;
  readonly mark: Mark;
  readonly #recorder: Recorder;
  /** Counts the call. */
  readonly #next: CallTap | undefined;
  readonly #isPublic: boolean;
  readonly #verdict: Verdict;

  /** @param isPublic - it is emitted, and not only kept */
  constructor(
    recorder: Recorder,
    begin: CallBegin,
    next: CallTap | undefined,
    isPublic: boolean,
    verdict: Verdict,
  ) {
    this.#recorder = recorder;
    this.begin = begin;
    this.#next = next;
    this.#isPublic = isPublic;
    this.#verdict = verdict;
    const { method: name, span: cause, at: sentAt } = begin;
    this.mark = {
      ...{ kind: "call", name, cause, sentAt },
      isPrivate: !isPublic,
      verdict: verdictOfMark(verdict),
    };
  }

  ended(outcome: CallOutcome, error: unknown): void {
    const { begin } = this;
    const recorder = this.#recorder;
    this.#next?.ended(outcome, error);
    const isEmitted = this.#isPublic && CHANNELS["call:end"].hasSubscribers;
    if (!isEmitted && !isKept(this.#verdict)) return;
    const { system, node, span, from, to, label, method } = begin;
    const at = recorder.now();
    const durationMs = at - begin.at;
    const end = { system, node, at, span, from, to, label, method, durationMs, outcome, error };
    recorder.tell("call:end", end, this.#isPublic, this.#verdict);
  }
}

/** A message that a process handles now. */
export class MessageSpan implements Handling {
  readonly begin: MessageBegin;
  readonly #recorder: Recorder;
  readonly #isPublic: boolean;
  readonly #meter: MessageMeter | undefined;
  readonly #verdict: Verdict;

  /** @param isPublic - it is emitted, and not only measured or kept */
  constructor(
    recorder: Recorder,
    begin: MessageBegin,
    isPublic: boolean,
    meter: MessageMeter | undefined,
    verdict: Verdict,
  ) {
    this.#meter = meter;
    this.#verdict = verdict;
    this.#recorder = recorder;
    this.begin = begin;
    this.#isPublic = isPublic;
  }

  /** The number of the span, if it is emitted or kept. */
  get number(): number | undefined {
    return this.#isPublic || isKept(this.#verdict) ? this.begin.span : undefined;
  }

  get isRefused(): boolean {
    return this.#verdict === REFUSED;
  }

  ended(outcome: MessageEnd["outcome"]): void {
    const { begin } = this;
    const recorder = this.#recorder;
    const at = recorder.now();
    const durationMs = at - begin.at;
    this.#meter?.handled(begin.waitedMs, durationMs);
    const isEmitted = this.#isPublic && CHANNELS["message:end"].hasSubscribers;
    if (!isEmitted && !isKept(this.#verdict)) return;
    const { system, node, span, process, label, kind, name, cause, waitedMs } = begin;
    const end = { system, node, at, span, process, label, kind, name, cause, waitedMs, durationMs, outcome };
    recorder.tell("message:end", end, this.#isPublic, this.#verdict);
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
