/**
 * signalbox/otel: the telemetry of a system as OpenTelemetry's traces and metrics.
 *
 *     traces.ts     from events to spans
 *     metrics.ts    from events to instruments
 *     spans.ts      the spans that are open
 *     carrier.ts    how a trace goes on in another program or thread
 *
 * Needs `@opentelemetry/api` beside signalbox. The events are those of signalbox/service.
 *
 * @example
 * const system = new System({ name: "shop", context: "sender" });
 * instrument(system);
 */

import { type Meter, metrics, type Tracer, trace as traces } from "@opentelemetry/api";
import { OptionError } from "../process/errors.js";
import { only } from "../process/known-options.js";
import type { ProcessSystem } from "../process/system.js";
import { type TelemetryStream, telemetry } from "../service/telemetry/telemetry.js";
import { measure } from "./metrics.js";
import { trace } from "./traces.js";

/** Options of {@link instrument}. */
export interface InstrumentOptions {
  /** Makes the spans; `false` for none. Default: the tracer `signalbox` of the global tracer provider. */
  readonly tracer?: Tracer | false;
  /** Makes the instruments; `false` for none. Default: the meter `signalbox` of the global meter provider. */
  readonly meter?: Meter | false;
}

/** The instrumentation of one system. It ends with the system, or when it is closed. */
export class Instrumentation implements AsyncDisposable {
  readonly #stream: TelemetryStream;
  readonly #ends: readonly (() => void)[];

  /** @internal */
  constructor(stream: TelemetryStream, ends: readonly (() => void)[]) {
    this.#stream = stream;
    this.#ends = ends;
  }

  /** Ends the spans that are open, and makes no more. */
  close(): void {
    for (const end of this.#ends) end();
    this.#stream.close();
  }

  /** Closes the instrumentation at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}

/**
 * Makes OpenTelemetry's traces and metrics of what a system does. Call it before the first process is spawned.
 *
 * - With `context: "sender"` all that code starts is below its active span: calls, dispatches, spawns, tasks, jobs of pools.
 * - A request of an `httpServer` is a SERVER span, below the host's span for it or the `traceparent` that it brought.
 * - A call is a CLIENT span, and its handling a SERVER span below it. A cast and a dispatch are PRODUCER spans, and their
 *   handling CONSUMER spans below them. The work of a handler is below its span. With `context: "sender"` the message of a plain
 *   send is below the sender's span.
 * - A dispatch has a span for each attempt. An attempt after a crash links to the span of the crash.
 * - A crash is a span below the message that caused it. The restart and the starts after it link to the crash.
 * - Metrics: durations of calls, messages and dispatches, time in mailboxes, attempts, crashes, restarts, mailbox depths; those of
 *   pools, guards and HTTP servers, under the names of docs/guide/metrics.md.
 *
 * If a stream of `telemetry` of signalbox/service is opened too, its options decide which events are sampled, and for which
 * processes.
 *
 * @throws OptionError when an option is not what it has to be, or the system is instrumented already
 * @see https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/
 * @example
 * await using instrumentation = instrument(system, { meter: false });
 */
export function instrument(system: ProcessSystem, options: InstrumentOptions = {}): Instrumentation {
  only("", options, ["tracer", "meter"]);
  const tracer = chosen("tracer", options.tracer, () => traces.getTracer("signalbox"), "startSpan");
  const meter = chosen("meter", options.meter, () => metrics.getMeter("signalbox"), "createHistogram");
  const stream = telemetry(system);
  if (tracer !== undefined && stream.isTraced) {
    stream.close();
    throw new OptionError("system", system.name, "a system that is not instrumented yet");
  }
  const ends: (() => void)[] = [];
  if (tracer !== undefined) ends.push(trace(stream, tracer));
  if (meter !== undefined) ends.push(measure(stream, meter));
  return new Instrumentation(stream, ends);
}

function chosen<T extends object>(
  path: string,
  given: T | false | undefined,
  usual: () => T,
  method: keyof T,
): T | undefined {
  if (given === false) return undefined;
  const found = given ?? usual();
  if (typeof found?.[method] !== "function")
    throw new OptionError(path, given, `OpenTelemetry's, with a method ${String(method)}, or false`);
  return found;
}
