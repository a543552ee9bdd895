// Keeps the spans of one system for those who look at it: while the program asks for them, and for half a minute after each look. Off, nothing
// is subscribed and no context is carried.
//
// It needs no package, and takes part in the tracing of the user's own tracer if there is one: spans have the ids of that tracer, so that a trace
// id from a log leads to the trace. Nothing that leaves the program changes.

import { Kept } from "../../admin/history/kept.js";
import type { SpanSource } from "../../admin/traces/span-source.js";
import type { NodeSpans, NodeTrace, TraceFilter } from "../../admin/traces/trace-operations.js";
import type { Kernel } from "../../process/kernel.js";
import { hasOwners } from "../../process/origin.js";
import { REFUSED } from "./refused.js";
import { SpanBook } from "./span-book.js";
import { SpanContext } from "./span-context.js";
import { SpanGate } from "./span-gate.js";
import { spansOfEvents } from "./spans-of-events.js";
import type { Hold } from "./telemetry.js";
import { fromTraceparent, toTraceparent } from "./traceparent.js";
import type { Tracing } from "./tracing.js";

export class SpanKeeper implements SpanSource {
  readonly #kernel: Kernel;
  readonly #open: () => Hold;
  readonly #kept: Kept;
  #book: SpanBook | undefined = undefined;

  /** @internal */
  constructor(kernel: Kernel, open: () => Hold) {
    this.#kernel = kernel;
    this.#open = open;
    this.#kept = new Kept(kernel);
    this.#kept.add(() => this.#begin());
  }

  /** Keeps spans until the returned call. */
  hold(): () => void {
    return this.#kept.hold();
  }

  touch(): void {
    this.#kept.touch();
  }

  spans(trace: string): NodeSpans {
    return this.#book?.ring.spans(trace, this.#kernel.node.name) ?? { trace, spans: [], dropped: 0 };
  }

  traces(filter: { readonly limit: number } & TraceFilter): readonly NodeTrace[] {
    return this.#book?.ring.traces(filter) ?? [];
  }

  #begin(): () => void {
    const { env, node } = this.#kernel;
    const { recorder, release } = this.#open();
    const book = new SpanBook({
      wallTime: () => env.wallTime(),
      random: () => env.random(),
      node: node.id,
    });
    book.isTraced = () => recorder.hasTracer;
    this.#book = book;
    const isKnown = hasOwners();
    const context = new SpanContext(this.#kernel.carriesContext || !isKnown);
    book.onEnd = (span) => context.left(span);
    const gate = new SpanGate(this.#kernel, book, context, (address) => recorder.labels.of(address));
    const keep = spansOfEvents(book, (pid) => recorder.labels.of(pid));
    recorder.watchBy({
      ...{ tracing: tracingBy(book, context), gate, keep },
      refusing: isKnown ? undefined : (run) => context.run(REFUSED, run),
      traced: (number, ids) => book.traced(number, ids),
    });
    const end = (): void => {
      recorder.onClose.delete(end);
      recorder.watchBy(undefined);
      gate.end();
      context.close();
      release();
      this.#book = undefined;
    };
    recorder.onClose.add(end);
    return end;
  }
}

/** Carries the places of spans. */
function tracingBy(book: SpanBook, context: SpanContext): Tracing {
  return {
    around: (span, run) => {
      const place = book.placeOf(span);
      return place === undefined ? run() : context.run(place, run);
    },
    received: (_headers, run) => context.within(undefined, run),
    // What leaves the program is the user's tracer's.
    sent: () => ({}),
    job: () => undefined,
    kept: () => {
      const place = context.here;
      return place === undefined || place === REFUSED ? undefined : toTraceparent(place);
    },
    continuing: (kept, run) => context.within(kept ? fromTraceparent(kept) : undefined, run),
    elsewhere: (span, kept) => {
      const ids = fromTraceparent(kept);
      if (ids !== undefined) book.adopt(span, ids);
    },
  };
}

const keepers = new WeakMap<Kernel, SpanKeeper>();

/** The keeper of a system's spans. @param open - turns its telemetry on */
export function spanKeeper(kernel: Kernel, open: () => Hold): SpanKeeper {
  const known = keepers.get(kernel);
  if (known !== undefined) return known;
  const keeper = new SpanKeeper(kernel, open);
  keepers.set(kernel, keeper);
  return keeper;
}
