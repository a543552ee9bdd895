// The spans of one dispatch: they follow from the decisions of its machine (dispatch/conversation-machine.ts), and end when the
// machine says so.

import type { Effect, Event, State } from "../../dispatch/conversation-machine.js";
import { Delivery } from "../../dispatch/delivery.js";
import type { Handoff } from "../../dispatch/handoff.js";
import type { Member } from "../../dispatch/member.js";
import type { DispatchTap } from "../../dispatch/taps.js";
import { CHANNELS } from "./channels.js";
import type { AttemptBegin, AttemptEnd, DispatchBegin, DispatchOutcome } from "./events.js";
import { PlainMark } from "./marks.js";
import type { DispatchMeter } from "./meters.js";
import type { Recorder } from "./recorder.js";

export class DispatchSpan implements DispatchTap {
  readonly #recorder: Recorder;
  readonly #group: string;
  readonly #meter: DispatchMeter | undefined;
  /** Undefined if the dispatch is only counted. */
  readonly #begin: DispatchBegin | undefined;
  /** When the dispatch began, if it is timed. */
  readonly #timedFrom: number | undefined;
  #attempt: AttemptBegin | undefined = undefined;
  #attempts = 0;
  /** The crash that the next attempt follows from. */
  #crash: string | undefined = undefined;
  #isOpen = true;

  constructor(
    recorder: Recorder,
    group: string,
    begin: DispatchBegin | undefined,
    timedFrom: number | undefined,
  ) {
    this.#recorder = recorder;
    this.#group = group;
    this.#begin = begin;
    this.#timedFrom = timedFrom;
    this.#meter = recorder.meters?.dispatches(group);
  }

  decided(
    event: Event<Member>,
    before: State<Member>,
    after: State<Member>,
    effects: readonly Effect<Member>[],
  ): void {
    if (before.phase === "delivered" && after.phase !== "delivered") {
      this.#crash = event.type === "exited" || event.type === "returned" ? this.#crashOf(event) : undefined;
      this.#attemptEnded(attemptOutcome(event));
    }
    if (after.phase === "closed" && before.phase !== "closed") this.#ended(outcomeOf(effects));
  }

  delivering(held: Delivery<unknown> | Handoff, attempt: number): void {
    this.#attempts = attempt;
    const recorder = this.#recorder;
    const group = this.#group;
    const begin = this.#begin;
    const crash = this.#crash;
    this.#crash = undefined;
    if (begin === undefined) return;
    const { system, node, span: dispatch } = begin;
    const { id: consumer, pid: process } = held.member;
    const at = recorder.now();
    const span = recorder.nextSpan();
    this.#attempt = { system, node, at, span, dispatch, group, attempt, consumer, process, crash };
    if (held instanceof Delivery) held.tap = new PlainMark("delivery", group, span, at);
    const channel = CHANNELS["attempt:begin"];
    if (channel.hasSubscribers) recorder.publish(channel, this.#attempt);
  }

  /** The process of the conversation has ended, and its machine did not say how. */
  abandoned(): void {
    if (!this.#isOpen) return;
    this.#attemptEnded("withdrawn");
    this.#ended("died");
  }

  #crashOf({ consumer }: { readonly consumer: Member }): string | undefined {
    return this.#recorder.causes.crashOf(consumer.pid);
  }

  #attemptEnded(outcome: AttemptEnd["outcome"]): void {
    const recorder = this.#recorder;
    const attempt = this.#attempt;
    const crash = this.#crash;
    this.#meter?.attempted(outcome);
    this.#attempt = undefined;
    const channel = CHANNELS["attempt:end"];
    if (attempt === undefined || !channel.hasSubscribers) return;
    const { system, node, span, dispatch, group, consumer, process, at: begun } = attempt;
    const at = recorder.now();
    const durationMs = at - begun;
    const number = attempt.attempt;
    recorder.publish(channel, {
      system,
      node,
      at,
      span,
      dispatch,
      group,
      attempt: number,
      consumer,
      process,
      crash,
      durationMs,
      outcome,
    });
  }

  #ended(outcome: DispatchOutcome): void {
    const recorder = this.#recorder;
    const begin = this.#begin;
    const timedFrom = this.#timedFrom;
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#meter?.dispatched(outcome, timedFrom === undefined ? undefined : recorder.now() - timedFrom);
    const channel = CHANNELS["dispatch:end"];
    if (begin === undefined || !channel.hasSubscribers) return;
    const { system, node, span, from, group, envelope } = begin;
    const attempts = this.#attempts;
    const at = recorder.now();
    const durationMs = at - begin.at;
    const end = { system, node, at, span, from, group, envelope, durationMs, outcome, attempts };
    recorder.publish(channel, end);
  }
}

function attemptOutcome(event: Event<Member>): AttemptEnd["outcome"] {
  switch (event.type) {
    case "settled":
    case "rejected":
    case "returned":
      return event.type;
    case "exited":
      return event.innocent ? "interrupted" : "crashed";
    default:
      return "withdrawn";
  }
}

/** How a dispatch ended, by the effects of the decision that closed it. */
function outcomeOf(effects: readonly Effect<Member>[]): DispatchOutcome {
  for (const effect of effects) {
    if (effect.type === "complete") return "delivered";
    if (effect.type === "fail")
      return effect.failure.type === "conversation" ? effect.failure.end : effect.failure.type;
  }
  return "withdrawn";
}
