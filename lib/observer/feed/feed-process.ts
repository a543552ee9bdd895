// The process of a feed: it asks the operations that feed-machine.ts wants to know, and sends its viewers what the machine says.

import { AdminTimeoutError } from "../../admin/errors.js";
import { faultOf } from "../../admin/fault.js";
import type { Json } from "../../admin/json-view.js";
import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import { EffectLoop } from "../../process/effect-loop.js";
import type { TimerRef } from "../../process/owned-timer.js";
import { ObserverBusyError, ObserverReadOnlyError } from "./errors.js";
import { decide, initial } from "./feed-machine.js";
import type { FeedEffect, FeedEvent, FeedInput, FeedLimits, FeedState, Wanted } from "./feed-state.js";
import type { ObserverSource } from "./source.js";

/** Whom a feed sends events. */
export interface FeedViewer {
  accept(): void;
  refuse(error: Error): void;
  send(events: readonly FeedEvent[]): void;
  drop(): void;
}

export type FeedMessage =
  | { readonly type: "open"; readonly viewer: FeedViewer; readonly wanted: readonly Wanted[] }
  | { readonly type: "ready" | "close"; readonly viewer: FeedViewer };

/** @param attach - is given the context of the process, and gives what it asks */
export function feedBehaviour(
  limits: FeedLimits,
  attach: (ctx: Context<FeedMessage>) => ObserverSource,
): Callbacks<FeedMessage> {
  let feed: FeedProcess;
  return {
    isHelper: true,
    init: (ctx) => {
      feed = new FeedProcess(ctx, limits, attach(ctx));
    },
    handle: (_ctx, message) => feed.handle(message),
  };
}

class FeedProcess {
  readonly #ctx: Context<FeedMessage>;
  readonly #source: ObserverSource;
  readonly #loop: EffectLoop<FeedState, FeedInput, FeedEffect>;
  readonly #numbers = new Map<FeedViewer, number>();
  readonly #viewers = new Map<number, FeedViewer>();
  readonly #polls = new Map<number, AbortController>();
  #lastViewer = 0;
  #timer: TimerRef | undefined;

  constructor(ctx: Context<FeedMessage>, limits: FeedLimits, source: ObserverSource) {
    this.#ctx = ctx;
    this.#source = source;
    this.#loop = new EffectLoop(initial(limits), decide, (effect: FeedEffect) =>
      this.#perform(effect, limits),
    );
    const release = source.hold?.();
    ctx.signal.addEventListener("abort", () => {
      release?.();
      for (const poll of this.#polls.values()) poll.abort();
    });
  }

  handle(message: FeedMessage): void {
    const { type, viewer } = message;
    const now = this.#ctx.now();
    switch (type) {
      case "open": {
        const number = ++this.#lastViewer;
        this.#numbers.set(viewer, number);
        this.#viewers.set(number, viewer);
        this.#loop.dispatch({ type, viewer: number, wanted: message.wanted, now });
        if (this.#viewers.has(number)) viewer.accept();
        return;
      }
      case "ready":
      case "close": {
        const number = this.#numbers.get(viewer);
        if (number === undefined) return;
        if (type === "close") this.#forget(number);
        this.#loop.dispatch({ type, viewer: number, now });
        return;
      }
      default:
        message satisfies never;
    }
  }

  #perform(effect: FeedEffect, { pollMs }: FeedLimits): void {
    switch (effect.type) {
      case "poll":
        this.#ask(effect);
        return;
      case "abandon": {
        const { poll } = effect;
        this.#polls.get(poll)?.abort(new AdminTimeoutError(pollMs));
        this.#polls.delete(poll);
        return;
      }
      case "send":
        this.#viewers.get(effect.viewer)?.send(effect.events);
        return;
      case "refuse":
        this.#forget(effect.viewer)?.refuse(new ObserverBusyError(effect.problem));
        return;
      case "drop":
        this.#forget(effect.viewer)?.drop();
        return;
      case "wake":
        if (this.#timer !== undefined) this.#ctx.cancel(this.#timer);
        this.#timer = this.#ctx.runAfter(effect.afterMs, () =>
          this.#loop.dispatch({ type: "tick", now: this.#ctx.now() }),
        );
        return;
      case "rest":
        if (this.#timer !== undefined) this.#ctx.cancel(this.#timer);
        this.#timer = undefined;
        return;
      default:
        effect satisfies never;
    }
  }

  #forget(number: number): FeedViewer | undefined {
    const viewer = this.#viewers.get(number);
    this.#viewers.delete(number);
    if (viewer !== undefined) this.#numbers.delete(viewer);
    return viewer;
  }

  #ask({ poll, view, op, args }: Extract<FeedEffect, { type: "poll" }>): void {
    const ctx = this.#ctx;
    const abort = new AbortController();
    this.#polls.set(poll, abort);
    const ended = (input: FeedInput): void => {
      // An answer to a question that was abandoned is late.
      if (this.#polls.delete(poll)) this.#loop.dispatch(input);
    };
    const answer = ctx.wrap((value: Json) => ended({ type: "answer", poll, view, value, now: ctx.now() }));
    const failure = ctx.wrap((error: unknown) =>
      ended({ type: "failure", poll, view, fault: faultOf(error), now: ctx.now() }),
    );
    this.#look(op, args, abort.signal).then(answer, failure);
  }

  /** A host that has started meanwhile may offer what was not known when the view was opened. */
  async #look(op: string, args: Wanted["args"], signal: AbortSignal): Promise<Json> {
    const leave = this.#source.leaveOf(op);
    if (leave !== undefined && leave !== "look") throw new ObserverReadOnlyError(op);
    return this.#source.look(op, args, signal);
  }
}
