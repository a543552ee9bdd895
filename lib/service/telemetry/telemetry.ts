// Turning telemetry on for a system. All users of its telemetry share one recorder, and the last to close turns it off.

import { offerSpans } from "../../admin/traces/span-source.js";
import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { kernelOf } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import type { ProcessSystem } from "../../process/system.js";
import { isThenable } from "../../process/thenable.js";
import { CHANNELS, hasChannels } from "./channels.js";
import type { MailboxDepth, TelemetryEventName, TelemetryEvents } from "./events.js";
import { mailboxDepths } from "./gauges.js";
import { readHosts } from "./host-metrics.js";
import type { MetricSink } from "./instruments.js";
import { readNodes } from "./node-metrics.js";
import { checkTelemetry, TELEMETRY_DEFAULTS, type TelemetryOptions } from "./options.js";
import { Recorder } from "./recorder.js";
import { readGauges, type TakeGauge } from "./sources.js";
import type { TracedIds } from "./span-book.js";
import type { SpanKeeper } from "./span-keeper.js";
import type { Tracing } from "./tracing.js";

/** Whoever looks finds the spans of a system that has telemetry. Nothing is kept until then. */
export function offerSpansOf(kernel: Kernel): void {
  offerSpans(kernel, () => spansOf(kernel));
}

/** The keeper of a system's spans. */
export async function spansOf(kernel: Kernel): Promise<SpanKeeper> {
  const { spanKeeper } = await import("./span-keeper.js");
  return spanKeeper(kernel, () => hold(kernel));
}

/** The hold of one user on a system's telemetry. */
export interface Hold {
  readonly recorder: Recorder;
  release(): void;
}

interface Held {
  readonly recorder: Recorder;
  holds: number;
  /** The options have been set. */
  isConfigured: boolean;
}

const held = new WeakMap<Kernel, Held>();

/** Turns the telemetry of a system on, unless it is on. */
export function hold(kernel: Kernel): Hold {
  offerSpansOf(kernel);
  const found = held.get(kernel) ?? { recorder: new Recorder(kernel), holds: 0, isConfigured: false };
  held.set(kernel, found);
  found.holds++;
  const { recorder } = found;
  if (found.holds === 1) kernel.tap(recorder);
  let isHeld = true;
  return {
    recorder,
    release: () => {
      if (!isHeld) return;
      isHeld = false;
      if (--found.holds > 0) return;
      held.delete(kernel);
      kernel.tap(undefined);
    },
  };
}

/** The telemetry of one system. {@link telemetry} makes it. */
export class TelemetryStream implements AsyncDisposable {
  readonly #hold: Hold;
  readonly #kernel: Kernel;
  readonly #release: () => void;
  readonly #subscriptions = new Set<() => void>();
  readonly #close = (): void => {
    for (const end of [...this.#subscriptions]) end();
    this.#hold.recorder.onClose.delete(this.#close);
    this.#release();
  };

  /** @internal */
  constructor(kernel: Kernel, held: Hold, release: () => void) {
    this.#kernel = kernel;
    this.#hold = held;
    this.#release = release;
    held.recorder.onClose.add(this.#close);
  }

  /** Whether the host has node:diagnostics_channel. Without it no events are emitted. */
  get active(): boolean {
    return hasChannels;
  }

  /**
   * Calls `listener` at each event of this name, of this system alone. The listener runs inside the code that emits, so it should
   * be short. When it throws or rejects, the system reports the error, and nothing else happens.
   *
   * @returns a function that ends the subscription
   * @example
   * await using stream = telemetry(system);
   * stream.subscribe("restart", ({ path, crash }) => log(`${path} restarts after the crash of ${crash}`));
   */
  subscribe<Name extends TelemetryEventName>(
    name: Name,
    listener: (event: TelemetryEvents[Name]) => unknown,
  ): () => void {
    const channel = CHANNELS[name];
    if (channel === undefined)
      throw new OptionError("name", name, `one of ${Object.keys(CHANNELS).join(", ")}`);
    if (typeof listener !== "function") throw new OptionError("listener", listener, "a function");
    const { recorder } = this.#hold;
    const node = this.#kernel.node.id;
    const failed = (error: unknown): void => recorder.complain(`a subscriber of ${name}`, error);
    const guarded = (event: TelemetryEvents[Name]): void => {
      if (event.node !== node) return;
      try {
        const result = listener(event);
        if (isThenable(result)) Promise.resolve(result).then(undefined, failed);
      } catch (error) {
        failed(error);
      }
    };
    channel.subscribe(guarded);
    const end = (): void => {
      this.#subscriptions.delete(end);
      channel.unsubscribe(guarded);
    };
    this.#subscriptions.add(end);
    return end;
  }

  /**
   * Counts what waits in all mailboxes now, by label, and emits an event `mailbox` for each label. The numbers are exact at this
   * moment. Walks over all processes: call it when the numbers are needed, not for each message.
   *
   * @returns the same, sorted by label
   * @example for (const { label, depth } of telemetry(system).sample()) log(`${label}: ${depth}`);
   */
  sample(): readonly MailboxDepth[] {
    const { recorder } = this.#hold;
    const depths = mailboxDepths(this.#kernel, recorder).map((one) => ({ ...recorder.common(), ...one }));
    if (CHANNELS.mailbox.hasSubscribers)
      for (const depth of depths) recorder.publish(CHANNELS.mailbox, depth);
    return depths;
  }

  /** @internal Whether the system is traced. */
  get isTraced(): boolean {
    return this.#hold.recorder.hasTracer;
  }

  /** @internal Sets who traces the system. */
  traceBy(tracing: Tracing | undefined): void {
    this.#hold.recorder.traceBy(tracing);
  }

  /** @internal The tracer has made a span of this number. */
  traced(span: number, ids: TracedIds): void {
    this.#hold.recorder.watch?.traced(span, ids);
  }

  /** @internal Gives the sink what is measured beside the events. Returns the function that ends it. */
  measure(sink: MetricSink): () => void {
    const { sinks } = this.#hold.recorder;
    sinks.add(sink);
    return () => void sinks.delete(sink);
  }

  /** @internal What metrics call a process. */
  labelOf(pid: Pid): string {
    return this.#hold.recorder.labels.of(pid);
  }

  /** @internal Reads the values of pools, guards and HTTP servers. */
  gauges(take: TakeGauge): void {
    readGauges(this.#kernel, take);
    readHosts(this.#kernel, take);
    readNodes(this.#kernel, take);
  }

  /**
   * Ends the subscriptions of this stream. The last stream of a system to close turns telemetry off. All streams close when the
   * system has stopped.
   */
  close(): void {
    this.#close();
  }

  /** Closes the stream at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}

/**
 * Turns on the telemetry of a system: calls, casts, messages, dispatches, starts, crashes and restarts become events on channels
 * of node:diagnostics_channel. No object is made for an event without subscribers. Processes that were spawned before are
 * followed too, except for their messages, starts and lives.
 *
 * Subscribe with {@link TelemetryStream.subscribe}, or with node:diagnostics_channel and {@link telemetryChannel}. A subscriber of
 * the latter kind that throws does not disturb the process either, but Node makes its error an `uncaughtException`, which ends the
 * host unless it is handled.
 *
 * @throws OptionError when an option is not what it has to be, or when another stream of the system has set options
 * @see https://nodejs.org/api/diagnostics_channel.html
 * @example
 * await using stream = telemetry(system, { oneIn: { call: 10 } });
 * stream.subscribe("call:end", ({ method, outcome, durationMs }) => log([method, outcome, durationMs]));
 */
export function telemetry(system: ProcessSystem, options?: TelemetryOptions): TelemetryStream {
  const kernel = kernelOf(system);
  const settings = options === undefined ? undefined : checkTelemetry(options);
  if (settings !== undefined && held.get(kernel)?.isConfigured === true)
    throw new OptionError("options", options, "left out: another stream of this system has set them");
  const mine = hold(kernel);
  const shared = held.get(kernel) as Held;
  if (settings !== undefined) {
    shared.isConfigured = true;
    mine.recorder.configure(settings);
  }
  let isOpen = true;
  return new TelemetryStream(kernel, mine, () => {
    if (isOpen && settings !== undefined) {
      shared.isConfigured = false;
      mine.recorder.configure(TELEMETRY_DEFAULTS);
    }
    isOpen = false;
    mine.release();
  });
}
