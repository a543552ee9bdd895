// The machine of one rate limiter, its timers, and those that wait.

import { EffectLoop } from "../../process/effect-loop.js";
import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import { addGauges, type GaugeSource, type TakeGauge } from "../telemetry/sources.js";
import { RateLimitError, type RateLimitReason } from "./errors.js";
import {
  decide,
  initial,
  type LimiterEffect,
  type LimiterEvent,
  type LimiterMachine,
  waitMs,
} from "./limiter-machine.js";
import type { LimiterSettings, Wanted } from "./limiter-options.js";
import { PROTECTION_METRICS } from "./metrics.js";

/** A caller that asks for permits. */
export interface Applicant {
  /** False once the caller does not wait for the answer any more. */
  readonly open: boolean;
  granted(): void;
  refused(error: RateLimitError): void;
}

/** How a limiter stands, for one key. */
export interface LimiterStatus {
  /** After this many milliseconds a caller that comes now would get a permit; 0 for at once. */
  readonly retryAfterMs: number;
  /** How many callers wait, over all keys. */
  readonly waiting: number;
  /** How many keys the limiter remembers. */
  readonly keys: number;
}

/** Runs a function after a time, and returns the call that prevents it. */
export type After = (delayMs: number, fn: () => void) => () => void;

interface WaitingCall extends Wanted {
  readonly applicant: Applicant;
  /** When it came, if metrics are in use. */
  readonly since: number | undefined;
  /** Prevents the end of its patience. */
  stay: () => void;
}

export class LimiterCore implements GaugeSource {
  readonly #loop: EffectLoop<LimiterMachine, LimiterEvent, LimiterEffect>;
  readonly #kernel: Kernel;
  readonly #settings: LimiterSettings;
  readonly #after: After;
  readonly #pid: Pid | undefined;
  /** Those without an answer. */
  readonly #places = new Map<number, WaitingCall>();
  /** Prevents the alarm of a key. */
  readonly #alarms = new Map<string, () => void>();
  #lastId = 0;

  /**
   * @param after - sets the timers: those of the limiter's process, if it has one
   * @param pid - of that process
   */
  constructor(kernel: Kernel, settings: LimiterSettings, after: After, pid?: Pid) {
    this.#pid = pid;
    this.#kernel = kernel;
    this.#settings = settings;
    this.#after = after;
    const machine = initial(settings.config);
    this.#loop = new EffectLoop(machine, decide, (effect: LimiterEffect) => this.#carryOut(effect));
    kernel.shared?.created(this);
    addGauges(kernel, this);
  }

  gauges(take: TakeGauge): void {
    if (this.#pid !== undefined && this.#pid.process === undefined) return;
    this.#kernel.shared?.object(this, "read");
    const { waiting, buckets } = this.#loop.state;
    take(PROTECTION_METRICS.limiterWaiting, waiting, this.#settings.label);
    take(PROTECTION_METRICS.limiterKeys, buckets.size, this.#settings.label);
  }

  /** Returns the call with which the applicant gives up its place. */
  ask({ key, permits }: Wanted, applicant: Applicant): () => void {
    const id = ++this.#lastId;
    const since = this.#kernel.taps === undefined ? undefined : this.#kernel.env.now();
    const place: WaitingCall = { key, permits, applicant, since, stay: nothing };
    this.#places.set(id, place);
    this.#dispatch({ type: "ask", id, key, permits, now: this.#kernel.env.now() });
    const leave = (outcome: "left" | "timeout"): void => {
      if (this.#take(id) === undefined) return;
      this.#counted(outcome);
      this.#dispatch({ type: "leave", id, key, now: this.#kernel.env.now() });
    };
    const { timeoutMs } = this.#settings;
    if (timeoutMs !== Number.POSITIVE_INFINITY && this.#places.has(id))
      place.stay = this.#after(timeoutMs, () => {
        // A permit that is due at this very moment is in time.
        this.#dispatch({ type: "due", key, now: this.#kernel.env.now() });
        if (!this.#places.has(id)) return;
        leave("timeout");
        applicant.refused(this.#refusal("timeout", this.status(key).retryAfterMs));
      });
    return () => leave("left");
  }

  status(key: string): LimiterStatus {
    this.#kernel.shared?.object(this, "read");
    const machine = this.#loop.state;
    const retryAfterMs = waitMs(machine, key, 1, this.#kernel.env.now());
    return { retryAfterMs, waiting: machine.waiting, keys: machine.buckets.size };
  }

  #dispatch(event: LimiterEvent): void {
    this.#kernel.shared?.object(this, "write");
    this.#loop.dispatch(event);
  }

  #carryOut(effect: LimiterEffect): void {
    switch (effect.type) {
      case "grant":
        this.#grant(effect.id);
        return;
      case "refuse":
        this.#counted("refused");
        this.#take(effect.id)?.applicant.refused(this.#refusal("waiting", effect.retryAfterMs));
        return;
      case "alarm":
        this.#setAlarm(effect.key, effect.inMs);
        return;
      default:
        effect satisfies never;
    }
  }

  #grant(id: number): void {
    const place = this.#take(id);
    if (place === undefined) return;
    const { applicant, key, permits, since } = place;
    const { taps, env } = this.#kernel;
    this.#counted(applicant.open ? "granted" : "left");
    if (applicant.open) {
      if (since !== undefined)
        taps?.observe(PROTECTION_METRICS.limiterWait, (env.now() - since) / 1_000, this.#settings.label);
      applicant.granted();
    } else this.#dispatch({ type: "return", key, permits, now: env.now() });
  }

  #counted(outcome: "granted" | "refused" | "timeout" | "left"): void {
    this.#kernel.taps?.count(PROTECTION_METRICS.limiterRequests, 1, this.#settings.label, outcome);
  }

  #setAlarm(key: string, inMs: number | undefined): void {
    this.#alarms.get(key)?.();
    this.#alarms.delete(key);
    if (inMs === undefined) return;
    const due = (): void => {
      this.#alarms.delete(key);
      this.#dispatch({ type: "due", key, now: this.#kernel.env.now() });
    };
    this.#alarms.set(key, this.#after(inMs, due));
  }

  #take(id: number): WaitingCall | undefined {
    const place = this.#places.get(id);
    this.#places.delete(id);
    place?.stay();
    return place;
  }

  #refusal(reason: RateLimitReason, retryAfterMs: number): RateLimitError {
    return new RateLimitError(this.#settings.label, reason, retryAfterMs);
  }
}

function nothing(): void {
  // Nothing to prevent.
}
