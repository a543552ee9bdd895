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
import { isKept, REFUSED, REFUSED_MESSAGE, type Verdict } from "./refused.js";
import { verdictOfMark } from "./spans.js";

export class DispatchSpan implements DispatchTap {
  readonly #recorder: Recorder;
  readonly #group: string;
  readonly #meter: DispatchMeter | undefined;
  /** Undefined if the dispatch is only counted. */
  readonly #begin: DispatchBegin | undefined;
  /** It is emitted, and not only kept. */
  readonly #isPublic: boolean;
  readonly #verdict: Verdict;
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
    isPublic: boolean,
    verdict: Verdict,
  ) {
    this.#isPublic = isPublic;
    this.#verdict = verdict;
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
    const verdict = this.#verdict;
    if (begin === undefined) {
      if (verdict === REFUSED && held instanceof Delivery) held.tap = REFUSED_MESSAGE;
      return;
    }
    const { system, node, span: dispatch } = begin;
    const { id: consumer, pid: process } = held.member;
    const at = recorder.now();
    const span = recorder.nextSpan();
    this.#attempt = { system, node, at, span, dispatch, group, attempt, consumer, process, crash };
    if (held instanceof Delivery)
      held.tap = new PlainMark("delivery", group, span, at, !this.#isPublic, verdictOfMark(verdict));
    recorder.tell("attempt:begin", this.#attempt, this.#isPublic, verdict);
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
    if (attempt === undefined || !this.#isTold("attempt:end")) return;
    const { system, node, span, dispatch, group, consumer, process, at: begun } = attempt;
    const at = recorder.now();
    const durationMs = at - begun;
    const number = attempt.attempt;
    const end: AttemptEnd = {
      ...{ system, node, at, span, dispatch, group, attempt: number },
      ...{ consumer, process, crash, durationMs, outcome },
    };
    recorder.tell("attempt:end", end, this.#isPublic, this.#verdict);
  }

  #isTold(event: "attempt:end" | "dispatch:end"): boolean {
    return (this.#isPublic && CHANNELS[event].hasSubscribers) || isKept(this.#verdict);
  }

  #ended(outcome: DispatchOutcome): void {
    const recorder = this.#recorder;
    const begin = this.#begin;
    const timedFrom = this.#timedFrom;
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#meter?.dispatched(outcome, timedFrom === undefined ? undefined : recorder.now() - timedFrom);
    if (begin === undefined || !this.#isTold("dispatch:end")) return;
    const { system, node, span, from, group, envelope } = begin;
    const attempts = this.#attempts;
    const at = recorder.now();
    const durationMs = at - begin.at;
    const end = { system, node, at, span, from, group, envelope, durationMs, outcome, attempts };
    recorder.tell("dispatch:end", end, this.#isPublic, this.#verdict);
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
