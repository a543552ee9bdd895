// The span of one HTTP request.

import type { Pid } from "../../process/pid.js";
import { CHANNELS } from "./channels.js";
import type { ReceivedHeaders, RequestOutcome, RequestTap } from "./edges.js";
import type { HttpBegin } from "./events.js";
import type { Recorder } from "./recorder.js";
import { isKept, type Verdict } from "./refused.js";

export class RequestSpan implements RequestTap {
  readonly #recorder: Recorder;
  readonly #begin: HttpBegin;
  readonly #verdict: Verdict;

  /** @internal */
  constructor(recorder: Recorder, begin: HttpBegin, verdict: Verdict) {
    this.#recorder = recorder;
    this.#begin = begin;
    this.#verdict = verdict;
  }

  get number(): number {
    return this.#begin.span;
  }

  around<R>(run: () => R): R {
    return this.#recorder.inSpan(this.#begin.span, this.#verdict, run);
  }

  ended(outcome: RequestOutcome, status: number | undefined, route: string | undefined): void {
    const recorder = this.#recorder;
    if (CHANNELS["http:end"].hasSubscribers || isKept(this.#verdict))
      recorder.tell(
        "http:end",
        { ...recorder.over(this.#begin), outcome, status, route },
        true,
        this.#verdict,
      );
  }
}

/** A request has come. Its span begins in the context that its headers name. Undefined when nobody wants to know. */
export function requestBegun(
  recorder: Recorder,
  server: Pid,
  method: string,
  headers: ReceivedHeaders,
  verdict: Verdict,
): RequestSpan | undefined {
  const isEmitted = CHANNELS["http:begin"].hasSubscribers || CHANNELS["http:end"].hasSubscribers;
  if (!isEmitted && !isKept(verdict)) return undefined;
  const label = recorder.labels.of(server);
  const begin: HttpBegin = { ...recorder.common(), span: recorder.nextSpan(), label, method };
  const publish = (): void => recorder.tell("http:begin", begin, true, verdict);
  if (recorder.tracing === undefined) publish();
  else recorder.tracing.received(headers, publish);
  return new RequestSpan(recorder, begin, verdict);
}
