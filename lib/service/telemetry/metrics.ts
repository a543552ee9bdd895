// The metrics of one system's kernel, dispatches and flows: what is counted and timed, in families of series.

import type { FlowEndOutcome, FlowStepOutcome } from "../../flow/runtime/taps.js";
import { OptionError } from "../../process/errors.js";
import { checked, whole } from "../../process/option-schema.js";
import { flag } from "../../process/options.js";
import type { ExitReason } from "../../process/reason.js";
import type { CallOutcome, CallTap } from "../../process/taps.js";
import { KERNEL_METRICS } from "./catalogue.js";
import type { AttemptEnd, DispatchOutcome } from "./events.js";
import type { Mark, Marker } from "./marks.js";
import type { CallMeter, DispatchMeter, MessageMeter, Meters } from "./meters.js";
import { MAX_LABELS, MAX_METHODS, OTHER } from "./options.js";
import type { MetricRegistry } from "./registry.js";
import type { Counter, Family, Histogram } from "./series.js";

/** Options of {@link prometheus}. */
export interface MetricsOptions {
  /**
   * One of so many calls, messages and dispatches is timed. Counts are exact with any number. 1 times all. Default 32: to read
   * the clock costs more than a message.
   */
  readonly timeOneIn?: number;
  /** Upper bounds of the buckets of every histogram, in seconds, ascending. Default: {@link METRICS_DEFAULTS}. */
  readonly bucketsSeconds?: readonly number[];
  /**
   * Whether the page has the delay of the event loop, garbage collection, memory and processor time of the host. Default true. A
   * system with a clock that is not the host's, such as a simulated one, has none of these.
   */
  readonly runtime?: boolean;
}

/** The default of every option of metrics. */
export const METRICS_DEFAULTS: Required<MetricsOptions> = {
  timeOneIn: 32,
  bucketsSeconds: [
    0.000_01, 0.000_1, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60,
  ],
  runtime: true,
};

const CHECKS = {
  timeOneIn: whole(1),
  bucketsSeconds: (path: string, value: unknown) => checkBounds(path, value as readonly number[], 0),
  runtime: flag,
};

/** @throws OptionError */
export function checkMetrics(options: MetricsOptions): Required<MetricsOptions> {
  return checked("", options, CHECKS, METRICS_DEFAULTS);
}

/** The bounds of the buckets of a histogram. @throws OptionError */
export function checkBounds(
  path: string,
  bounds: readonly number[],
  above: number = Number.NEGATIVE_INFINITY,
): readonly number[] {
  const isAscending =
    Array.isArray(bounds) &&
    bounds.length > 0 &&
    bounds.every(
      (bound, i) => typeof bound === "number" && bound > (i === 0 ? above : (bounds[i - 1] as number)),
    );
  if (isAscending && Number.isFinite(bounds.at(-1))) return [...bounds];
  throw new OptionError(path, bounds, `ascending numbers${above === 0 ? " of seconds above 0" : ""}`);
}

/** A call whose time is measured. */
class TimedCall implements CallTap, Marker {
  readonly isMarker = true;
  readonly #meter: MethodMeter;
  readonly #at: number;

  constructor(meter: MethodMeter, at: number) {
    this.#meter = meter;
    this.#at = at;
  }

  /** The handler of a call that is timed is timed as well. */
  get mark(): Mark {
    const { method } = this.#meter;
    return { kind: "call", name: method, cause: undefined, sentAt: this.#at, isPrivate: true };
  }

  ended(outcome: CallOutcome): void {
    const meter = this.#meter;
    meter.ended(outcome);
    meter.timed(meter.owner.now() - this.#at);
  }
}

class MethodMeter implements CallMeter, CallTap {
  readonly owner: SystemMetrics;
  readonly method: string | undefined;
  readonly #label: string;
  readonly #replied: Counter;
  readonly #times: Histogram;
  #left = 1;

  constructor(owner: SystemMetrics, label: string, method: string | undefined) {
    this.owner = owner;
    this.#label = label;
    this.method = method;
    this.#replied = owner.callCounts.of(label, method ?? "", "replied");
    this.#times = owner.callSeconds.of(label, method ?? "");
  }

  next(): CallTap {
    if (--this.#left > 0) return this;
    this.#left = this.owner.messageOneIn;
    return new TimedCall(this, this.owner.now());
  }

  ended(outcome: CallOutcome): void {
    if (outcome === "replied") this.#replied.value++;
    else this.owner.callCounts.of(this.#label, this.method ?? "", outcome).value++;
  }

  timed(durationMs: number): void {
    this.#times.observe(durationMs / 1_000);
  }
}

class GroupMeter implements DispatchMeter {
  readonly #owner: SystemMetrics;
  readonly #group: string;
  readonly #times: Histogram;
  #delivered: Counter | undefined = undefined;
  #settled: Counter | undefined = undefined;

  constructor(owner: SystemMetrics, group: string) {
    this.#owner = owner;
    this.#group = group;
    this.#times = owner.dispatchSeconds.of(group);
  }

  dispatched(outcome: DispatchOutcome, durationMs: number | undefined): void {
    const owner = this.#owner;
    const group = this.#group;
    if (outcome === "delivered") {
      this.#delivered ??= owner.dispatchCounts.of(group, outcome);
      this.#delivered.value++;
    } else owner.dispatchCounts.of(group, outcome).value++;
    if (durationMs !== undefined) this.#times.observe(durationMs / 1_000);
  }

  attempted(outcome: AttemptEnd["outcome"]): void {
    const owner = this.#owner;
    const group = this.#group;
    if (outcome === "settled") {
      this.#settled ??= owner.attempts.of(group, outcome);
      this.#settled.value++;
    } else owner.attempts.of(group, outcome).value++;
  }
}

/** Counts and times for one system. */
export class SystemMetrics implements Meters {
  readonly messageOneIn: number;
  readonly now: () => number;
  readonly callCounts: Family<Counter>;
  readonly callSeconds: Family<Histogram>;
  readonly casts: Family<Counter>;
  readonly handledCounts: Family<Counter>;
  readonly waitSeconds: Family<Histogram>;
  readonly handleSeconds: Family<Histogram>;
  readonly dispatchCounts: Family<Counter>;
  readonly dispatchSeconds: Family<Histogram>;
  readonly attempts: Family<Counter>;
  readonly exits: Family<Counter>;
  readonly flowCounts: Family<Counter>;
  readonly flowSteps: Family<Counter>;
  readonly flowStepSeconds: Family<Histogram>;
  readonly #meters = new Map<string, Map<string | undefined, MethodMeter>>();
  readonly #groups = new Map<string, GroupMeter>();
  #untilTimed = 1;

  constructor(registry: MetricRegistry, timeOneIn: number, now: () => number) {
    this.messageOneIn = timeOneIn;
    this.now = now;
    const of = KERNEL_METRICS;
    this.callCounts = registry.counter(of.calls);
    this.callSeconds = registry.histogram(of.callSeconds);
    this.casts = registry.counter(of.casts);
    this.handledCounts = registry.counter(of.handled);
    this.waitSeconds = registry.histogram(of.waitSeconds);
    this.handleSeconds = registry.histogram(of.handleSeconds);
    this.dispatchCounts = registry.counter(of.dispatches);
    this.dispatchSeconds = registry.histogram(of.dispatchSeconds);
    this.attempts = registry.counter(of.attempts);
    this.exits = registry.counter(of.exits);
    registry.counter(of.restarts);
    this.flowCounts = registry.counter(of.flows);
    this.flowSteps = registry.counter(of.flowSteps);
    this.flowStepSeconds = registry.histogram(of.flowStepSeconds);
  }

  calls(label: string, method: string | undefined): CallMeter {
    const methods = this.#meters.get(label) ?? new Map<string | undefined, MethodMeter>();
    this.#meters.set(label, methods);
    const known = methods.get(method);
    if (known !== undefined) return known;
    // The handle of a pool accepts any method name, so the number of methods needs a limit.
    if (methods.size >= MAX_METHODS && method !== OTHER) return this.calls(label, OTHER);
    const meter = new MethodMeter(this, label, method);
    methods.set(method, meter);
    return meter;
  }

  cast(label: string, method: string): void {
    this.casts.of(label, method).value++;
  }

  messages(label: string): MessageMeter {
    const [wait, handle] = [this.waitSeconds.of(label), this.handleSeconds.of(label)];
    return {
      owner: this,
      handled: (waitedMs, durationMs) => {
        wait.observe(waitedMs / 1_000);
        handle.observe(durationMs / 1_000);
      },
    };
  }

  timesDispatch(): boolean {
    if (--this.#untilTimed > 0) return false;
    this.#untilTimed = this.messageOneIn;
    return true;
  }

  dispatches(group: string): DispatchMeter {
    const known = this.#groups.get(group);
    if (known !== undefined) return known;
    const meter = new GroupMeter(this, group);
    // Programs that make a group for each request would fill the memory.
    if (this.#groups.size < MAX_LABELS) this.#groups.set(group, meter);
    return meter;
  }

  ended(label: string, { type }: ExitReason, handled: number): void {
    this.exits.of(label, type).value++;
    this.handledCounts.of(label).value += handled;
  }

  flowStep(flow: string, kind: string, outcome: FlowStepOutcome, durationMs: number): void {
    this.flowSteps.of(flow, kind, outcome).value++;
    this.flowStepSeconds.of(flow, kind).observe(durationMs / 1_000);
  }

  flowEnded(flow: string, outcome: FlowEndOutcome): void {
    this.flowCounts.of(flow, outcome).value++;
  }
}
