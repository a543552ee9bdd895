// The metrics of one system: what is counted and timed, in families of series.

import type { FlowEndOutcome, FlowStepOutcome } from "../../flow/runtime/taps.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count } from "../../process/options.js";
import type { ExitReason } from "../../process/reason.js";
import type { CallOutcome, CallTap } from "../../process/taps.js";
import type { AttemptEnd, DispatchOutcome } from "./events.js";
import type { Mark, Marker } from "./marks.js";
import type { CallMeter, DispatchMeter, MessageMeter, Meters } from "./meters.js";
import { MAX_LABELS } from "./options.js";
import { Counter, Family, Histogram } from "./series.js";

/** Options of {@link prometheus}. */
export interface MetricsOptions {
  /**
   * Of how many calls, messages and dispatches one is timed. Counts are exact, whatever the number. 1 times all. Default 32: to
   * read the clock costs more than a message.
   */
  readonly timeOneIn?: number;
  /** Upper bounds of the buckets of every histogram, in seconds, ascending. Default: {@link METRICS_DEFAULTS}. */
  readonly bucketsSeconds?: readonly number[];
}

/** The default of every option of metrics. */
export const METRICS_DEFAULTS: Required<MetricsOptions> = {
  timeOneIn: 32,
  bucketsSeconds: [
    0.000_01, 0.000_1, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60,
  ],
};

/** @throws OptionError */
export function checkMetrics(options: MetricsOptions): Required<MetricsOptions> {
  only("", options, Object.keys(METRICS_DEFAULTS));
  const { timeOneIn, bucketsSeconds } = { ...METRICS_DEFAULTS, ...options };
  count("timeOneIn", timeOneIn, 1);
  const isAscending =
    Array.isArray(bucketsSeconds) &&
    bucketsSeconds.length > 0 &&
    bucketsSeconds.every(
      (bound, i) => typeof bound === "number" && bound > (i === 0 ? 0 : (bucketsSeconds[i - 1] as number)),
    );
  if (!isAscending || !Number.isFinite(bucketsSeconds.at(-1)))
    throw new OptionError("bucketsSeconds", bucketsSeconds, "ascending numbers of seconds above 0");
  return { timeOneIn, bucketsSeconds: [...bucketsSeconds] };
}

/** A call whose time is measured. */
class TimedCall implements CallTap, Marker {
  readonly isMarker = true;
  private readonly meter: MethodMeter;
  private readonly at: number;

  constructor(meter: MethodMeter, at: number) {
    this.meter = meter;
    this.at = at;
  }

  /** The handler of a call that is timed is timed as well. */
  get mark(): Mark {
    const { method } = this.meter;
    return { kind: "call", name: method, cause: undefined, sentAt: this.at, isPrivate: true };
  }

  ended(outcome: CallOutcome): void {
    const { meter } = this;
    meter.ended(outcome);
    meter.timed(meter.owner.now() - this.at);
  }
}

class MethodMeter implements CallMeter, CallTap {
  readonly owner: SystemMetrics;
  readonly method: string | undefined;
  private readonly label: string;
  private readonly replied: Counter;
  private readonly times: Histogram;
  private left = 1;

  constructor(owner: SystemMetrics, label: string, method: string | undefined) {
    this.owner = owner;
    this.label = label;
    this.method = method;
    this.replied = owner.callCounts.of(label, method ?? "", "replied");
    this.times = owner.callSeconds.of(label, method ?? "");
  }

  next(): CallTap {
    if (--this.left > 0) return this;
    this.left = this.owner.messageOneIn;
    return new TimedCall(this, this.owner.now());
  }

  ended(outcome: CallOutcome): void {
    if (outcome === "replied") this.replied.value++;
    else this.owner.callCounts.of(this.label, this.method ?? "", outcome).value++;
  }

  timed(durationMs: number): void {
    this.times.observe(durationMs / 1_000);
  }
}

class GroupMeter implements DispatchMeter {
  private readonly owner: SystemMetrics;
  private readonly group: string;
  private readonly times: Histogram;
  private delivered: Counter | undefined = undefined;
  private settled: Counter | undefined = undefined;

  constructor(owner: SystemMetrics, group: string) {
    this.owner = owner;
    this.group = group;
    this.times = owner.dispatchSeconds.of(group);
  }

  dispatched(outcome: DispatchOutcome, durationMs: number | undefined): void {
    const { group, owner } = this;
    if (outcome === "delivered") {
      this.delivered ??= owner.dispatchCounts.of(group, outcome);
      this.delivered.value++;
    } else owner.dispatchCounts.of(group, outcome).value++;
    if (durationMs !== undefined) this.times.observe(durationMs / 1_000);
  }

  attempted(outcome: AttemptEnd["outcome"]): void {
    const { group, owner } = this;
    if (outcome === "settled") {
      this.settled ??= owner.attempts.of(group, outcome);
      this.settled.value++;
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
  readonly restarts: Family<Counter>;
  readonly flowCounts: Family<Counter>;
  readonly flowSteps: Family<Counter>;
  readonly flowStepSeconds: Family<Histogram>;
  private readonly meters = new Map<string, Map<string | undefined, MethodMeter>>();
  private readonly groups = new Map<string, GroupMeter>();
  private untilTimed = 1;

  constructor(options: Required<MetricsOptions>, now: () => number) {
    const { timeOneIn, bucketsSeconds } = options;
    this.messageOneIn = timeOneIn;
    this.now = now;
    const counter = (name: string, help: string, ...labels: string[]): Family<Counter> =>
      new Family(`signalbox_${name}_total`, help, labels, () => new Counter());
    const timed = (name: string, help: string, ...labels: string[]): Family<Histogram> =>
      new Family(`signalbox_${name}_seconds`, `${help} One in ${timeOneIn} is timed.`, labels, () => {
        return new Histogram(bucketsSeconds);
      });
    this.callCounts = counter("calls", "Calls that have ended.", "label", "method", "outcome");
    this.callSeconds = timed("call", "From a call to its end.", "label", "method");
    this.casts = counter("casts", "Casts that were sent.", "label", "method");
    this.handledCounts = counter("handled", "Messages and signals that were handled.", "label");
    this.waitSeconds = timed("mailbox_wait", "From the arrival of a message to its handling.", "label");
    this.handleSeconds = timed("handle", "From the begin to the end of a message's handling.", "label");
    this.dispatchCounts = counter("dispatches", "Dispatches that have ended.", "group", "outcome");
    this.dispatchSeconds = timed("dispatch", "From a dispatch to its end.", "group");
    this.attempts = counter(
      "dispatch_attempts",
      "Attempts of dispatches that have ended.",
      "group",
      "outcome",
    );
    this.exits = counter("exits", "Processes that have ended.", "label", "reason");
    this.restarts = counter("restarts", "Restarts by supervisors.", "supervisor", "child", "gave_up");
    this.flowCounts = counter("flows", "Durable flows that have ended.", "flow", "outcome");
    this.flowSteps = counter(
      "flow_steps",
      "Attempts of steps of durable flows that have ended.",
      "flow",
      "kind",
      "outcome",
    );
    this.flowStepSeconds = new Family(
      "signalbox_flow_step_seconds",
      "From the begin to the end of an attempt of a step.",
      ["flow", "kind"],
      () => new Histogram(bucketsSeconds),
    );
  }

  calls(label: string, method: string | undefined): CallMeter {
    const methods = this.meters.get(label) ?? new Map<string | undefined, MethodMeter>();
    this.meters.set(label, methods);
    const known = methods.get(method);
    if (known !== undefined) return known;
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
    if (--this.untilTimed > 0) return false;
    this.untilTimed = this.messageOneIn;
    return true;
  }

  dispatches(group: string): DispatchMeter {
    const known = this.groups.get(group);
    if (known !== undefined) return known;
    const meter = new GroupMeter(this, group);
    // Programs that make a group for each request would fill the memory.
    if (this.groups.size < MAX_LABELS) this.groups.set(group, meter);
    return meter;
  }

  ended(label: string, { type }: ExitReason, handled: number): void {
    this.exits.of(label, type).value++;
    this.handledCounts.of(label).value += handled;
  }

  restarted(supervisor: string, child: string, gaveUp: boolean): void {
    this.restarts.of(supervisor, child, String(gaveUp)).value++;
  }

  flowStep(flow: string, kind: string, outcome: FlowStepOutcome, durationMs: number): void {
    this.flowSteps.of(flow, kind, outcome).value++;
    this.flowStepSeconds.of(flow, kind).observe(durationMs / 1_000);
  }

  flowEnded(flow: string, outcome: FlowEndOutcome): void {
    this.flowCounts.of(flow, outcome).value++;
  }
}
