// The machine of one breaker, and the effects of its decisions.

import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import { addGauges, type GaugeSource, type TakeGauge } from "../telemetry/sources.js";
import {
  type BreakerEffect,
  type BreakerEvent,
  type BreakerRoom,
  type BreakerState,
  decide,
  initial,
  type Permit,
  roomOf,
  type Verdict,
} from "./breaker-machine.js";
import type { BreakerSettings } from "./breaker-options.js";
import { CircuitOpenError } from "./errors.js";
import { PROTECTION_METRICS } from "./metrics.js";

/** A circuit breaker at one moment. */
export interface BreakerStatus {
  /** Whether calls pass. An open breaker whose time is over is `open` until a call asks. */
  readonly state: BreakerState;
  /** Calls in the window. */
  readonly calls: number;
  /** How many of them failed. */
  readonly failed: number;
  /** How many of them were slow. */
  readonly slow: number;
  /** After this many milliseconds an open breaker admits a probe; 0 in other states. */
  readonly retryAfterMs: number;
}

const STATES: readonly BreakerState[] = ["closed", "open", "half-open"];

/** A permit, and the breaker that gave it: the process may have been restarted since. */
export interface Admission {
  readonly by: BreakerCore;
  readonly permit: Permit;
}

export class BreakerCore implements GaugeSource {
  #machine;
  readonly #kernel: Kernel;
  readonly #label: string;
  readonly #pid: Pid | undefined;

  constructor(kernel: Kernel, { label, config }: BreakerSettings, pid: Pid | undefined) {
    this.#kernel = kernel;
    this.#label = label;
    this.#pid = pid;
    this.#machine = initial(config);
    kernel.shared?.created(this);
    addGauges(kernel, this);
  }

  gauges(take: TakeGauge): void {
    if (this.#pid !== undefined && this.#pid.process === undefined) return;
    const now = this.state;
    for (const state of STATES) take(PROTECTION_METRICS.breakers, state === now ? 1 : 0, this.#label, state);
  }

  get state(): BreakerState {
    this.#kernel.shared?.object(this, "read");
    return this.#machine.state;
  }

  /** How many calls would be admitted now, and after how many milliseconds that changes by itself. */
  room(): BreakerRoom {
    this.#kernel.shared?.object(this, "read");
    return roomOf(this.#machine, this.#kernel.env.now());
  }

  /** @throws CircuitOpenError */
  ask(): Admission {
    const answer = this.#decide({ type: "ask", ...this.#moment() });
    if (answer?.type === "admit") return { by: this, permit: answer.permit };
    this.#kernel.taps?.count(PROTECTION_METRICS.breakerCalls, 1, this.#label, "rejected");
    throw new CircuitOpenError(this.#label, answer?.state ?? "open", answer?.retryAfterMs ?? 0);
  }

  settled({ by, permit }: Admission, verdict: Verdict, durationMs: number): void {
    if (by !== this) return;
    const { taps } = this.#kernel;
    taps?.count(PROTECTION_METRICS.breakerCalls, 1, this.#label, verdict);
    taps?.observe(PROTECTION_METRICS.breakerSeconds, durationMs / 1_000, this.#label);
    this.#decide({ type: "settled", permit, verdict, durationMs, ...this.#moment() });
  }

  status(): BreakerStatus {
    this.#kernel.shared?.object(this, "read");
    const { state, window, reopenAt } = this.#machine;
    const now = this.#kernel.env.now();
    const { total, failed, slow } = window.tally(now);
    const retryAfterMs = state === "open" ? Math.max(0, reopenAt - now) : 0;
    return { state, calls: total, failed, slow, retryAfterMs };
  }

  #moment(): { readonly now: number; readonly roll: number } {
    return { now: this.#kernel.env.now(), roll: this.#kernel.env.random() };
  }

  /** Emits changes of state, and returns the answer to a call that asks. */
  #decide(event: BreakerEvent): Extract<BreakerEffect, { type: "admit" | "reject" }> | undefined {
    this.#kernel.shared?.object(this, "write");
    const [machine, effects] = decide(this.#machine, event);
    this.#machine = machine;
    let answer: Extract<BreakerEffect, { type: "admit" | "reject" }> | undefined;
    for (const effect of effects) {
      if (effect.type === "changed") this.#publish(effect);
      else answer = effect;
    }
    return answer;
  }

  #publish({ from, to, tally, openMs }: Extract<BreakerEffect, { type: "changed" }>): void {
    const { events, shared, taps } = this.#kernel;
    taps?.count(PROTECTION_METRICS.breakerChanges, 1, this.#label, to);
    shared?.listeners("read");
    if (!events.wants.breaker) return;
    const { total: calls, failed, slow } = tally;
    events.publish("breaker", {
      breaker: this.#label,
      pid: this.#pid,
      from,
      to,
      openMs,
      calls,
      failed,
      slow,
    });
  }
}
