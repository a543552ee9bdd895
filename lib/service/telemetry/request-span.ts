// The span of one HTTP request.

import type { Pid } from "../../process/pid.js";
import { CHANNELS } from "./channels.js";
import type { ReceivedHeaders, RequestOutcome, RequestTap } from "./edges.js";
import type { HttpBegin } from "./events.js";
import type { Recorder } from "./recorder.js";

export class RequestSpan implements RequestTap {
  readonly #recorder: Recorder;
  readonly #begin: HttpBegin;

  /** @internal */
  constructor(recorder: Recorder, begin: HttpBegin) {
    this.#recorder = recorder;
    this.#begin = begin;
  }

  get number(): number {
    return this.#begin.span;
  }

  around<R>(run: () => R): R {
    return this.#recorder.around(this.#begin.span, run);
  }

  ended(outcome: RequestOutcome, status: number | undefined, route: string | undefined): void {
    const recorder = this.#recorder;
    const channel = CHANNELS["http:end"];
    if (channel.hasSubscribers)
      recorder.publish(channel, { ...recorder.over(this.#begin), outcome, status, route });
  }
}

/** A request has come. Its span begins in the context that its headers name. Undefined when there is no subscriber. */
export function requestBegun(
  recorder: Recorder,
  server: Pid,
  method: string,
  headers: ReceivedHeaders,
): RequestSpan | undefined {
  const channel = CHANNELS["http:begin"];
  if (!channel.hasSubscribers && !CHANNELS["http:end"].hasSubscribers) return undefined;
  const label = recorder.labels.of(server);
  const begin: HttpBegin = { ...recorder.common(), span: recorder.nextSpan(), label, method };
  const publish = (): void => recorder.publish(channel, begin);
  if (recorder.tracing === undefined) publish();
  else recorder.tracing.received(headers, publish);
  return new RequestSpan(recorder, begin);
}
