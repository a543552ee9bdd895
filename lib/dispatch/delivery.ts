// The message that an acknowledging consumer gets: the envelope, and the ways to settle it. A delivery holds one of its
// consumer's slots until it is settled or taken back, even if its dispatch ends earlier.

import { Recallable } from "../process/entries.js";
import type { DeadLetterReason } from "../process/exit-reason.js";
import { onlyKnown } from "../process/known-options.js";
import { exclude, include } from "../process/one-or-many.js";
import { inNameOf } from "../process/origin.js";
import type { Process } from "../process/process.js";
import { processSignal } from "../process/process-signal.js";
import { crash, custom, type ExitReason } from "../process/reason.js";
import { exitedError } from "../process/request.js";
import type { Access } from "../process/shared-state.js";
import { search } from "../process/shared-state.js";
import type { Envelope } from "./envelope.js";
import type { Member } from "./member.js";

/** How a consumer settled. The delivery itself goes back to the conversation as the message. */
export type Settlement =
  | { readonly type: "acked"; readonly value: unknown; readonly replied: boolean }
  | { readonly type: "rejected"; readonly reason: ExitReason; readonly final: boolean }
  | { readonly type: "returned"; readonly reason: ExitReason };

/** The dispatch of a delivery, as far as the delivery needs it. */
interface Dispatching {
  readonly envelope: Envelope<unknown>;
  /** The consumer has settled. False when the dispatch does not wait for that any more. */
  answered(delivery: Delivery): boolean;
  /** Notifies an exhaustive search that the running code decides by the dispatch. */
  looked(access: Access): void;
}

const ACKED: Settlement = { type: "acked", value: undefined, replied: false };

/** The options of a rejection. */
export const REJECTION: ReadonlySet<string> = new Set(["final"]);

/**
 * One attempt at one envelope. Settle it once, by {@link ack}, {@link reply} or {@link reject}. Settling it again, or after the
 * dispatch has ended, changes nothing and returns false. After the consumer's process has exited, settling throws
 * ProcessExitedError.
 *
 * @example
 * const clerk = system.spawn<Delivery<Order>>({
 *   handle: (_ctx, delivery) => void delivery.reply(delivery.payload.n),
 * });
 */
export class Delivery<T = unknown, R = unknown> extends Recallable {
  /** Number of this attempt at the envelope, from 1. */
  readonly attempt: number;
  /** @internal */
  settlement: Settlement | undefined = undefined;
  /** @internal One of this member's slots is held until the delivery is settled or taken back. */
  readonly member: Member;
  readonly #conversation: Dispatching;
  #held = true;
  // Few deliveries have the next five: fields that are not there yet cost the others no memory.
  /** @internal The consumer ended before it took the delivery out of its mailbox. */
  declare untaken?: true;
  /** @internal Another envelope, which the consumer worked on at the same time, crashed the consumer. */
  declare innocent?: boolean;
  /** @internal The dispatch has ended. */
  declare isWithdrawn?: true;
  /** @internal The controller of `signal`, once code has asked for the signal. */
  declare controller?: AbortController;
  /** @internal The reason of the abort. */
  declare reason?: unknown;

  /** @internal */
  constructor(conversation: Dispatching, attempt: number, member: Member) {
    super();
    this.attempt = attempt;
    this.#conversation = conversation;
    this.member = member;
    search.shared?.created(this);
    member.take();
  }

  /** The envelope that the consumer works on. */
  get envelope(): Envelope<T> {
    return this.#conversation.envelope as Envelope<T>;
  }

  /** The payload of the envelope. */
  get payload(): T {
    return this.envelope.payload;
  }

  /**
   * Aborted when the dispatch ends while this consumer works on the envelope: the deadline passed, the caller gave up, or the
   * dispatch itself died. The reason of the abort is the error that the caller gets. Pass the signal to `fetch` or a
   * database call, so that the consumer is free for other work. The signal is not aborted when the consumer settles or exits
   * (`ctx.signal` is aborted at its exit).
   *
   * @example consumer((url: string, { signal }) => fetch(url, { signal }).then((page) => page.text()));
   */
  get signal(): AbortSignal {
    if (search.shared !== undefined) this.#touched("read");
    if (this.controller === undefined) {
      this.controller = processSignal((listener) => this.#consumer.perform(listener));
      if (this.isWithdrawn) this.controller.abort(this.reason);
    }
    return this.controller.signal;
  }

  /** The work is done: the dispatch completes, without a reply. False when the dispatch does not wait for it any more. */
  ack(): boolean {
    return this.#settle(ACKED);
  }

  /** The work is done: the dispatch completes with this reply. False when the dispatch does not wait for it any more. */
  reply(value: R): boolean {
    return this.#settle({ type: "acked", value, replied: true });
  }

  /**
   * Rejects the envelope: another consumer gets it, if attempts are left. With `final` no other consumer gets it, and the
   * envelope is a dead letter. False when the dispatch does not wait for it any more.
   *
   * @param options.final - no other consumer gets the envelope. Default false
   */
  reject(why: unknown, options?: { readonly final?: boolean }): boolean {
    onlyKnown(options, REJECTION);
    const reason = why instanceof Error ? crash(why) : custom(why);
    return this.#settle({ type: "rejected", reason, final: options?.final === true });
  }

  /** Called by the kernel in place of a dead letter: the conversation finds another consumer. */
  override returned(why: DeadLetterReason): void {
    if (search.shared !== undefined) this.#touched("write");
    if (why === "exited") this.untaken = true;
    else this.#settle({ type: "rejected", reason: custom(why), final: false });
  }

  /** @internal The consumer ends, and has not begun the work. */
  giveBack(reason: ExitReason): void {
    this.#consumer.withdraw(this);
    this.#settle({ type: "returned", reason });
  }

  /** @internal The dispatch has ended. If the delivery waits in the mailbox, it is taken back. */
  withdraw(): void {
    const consumer = this.#consumer;
    if (search.shared !== undefined) this.#touched("write");
    this.isWithdrawn = true;
    if (this.queuedIn !== undefined) {
      consumer.withdraw(this);
      this.free();
    } else if (!consumer.alive) this.free();
    // The conversation was linked to the consumer, and is not any more: the kernel reports the consumer's end here.
    else if (this.#held) consumer.extras.waits = include(consumer.extras.waits, this);
  }

  /** @internal Called by the kernel: the consumer has ended while it worked on this delivery. */
  abandon(): void {
    this.free();
  }

  /** @internal Aborts the signal with the error of the dispatch. */
  abort(reason: unknown): void {
    const consumer = this.#consumer;
    if (search.shared !== undefined) this.#touched("write");
    if (!this.isWithdrawn || this.settlement !== undefined || !consumer.alive) return;
    this.reason = reason;
    inNameOf(consumer.pid, () => this.controller?.abort(reason));
  }

  /** @internal Whether `error` is the end of a job whose signal was aborted. */
  isAbort(error: unknown): boolean {
    if (search.shared !== undefined) this.#touched("read");
    const { aborted, reason } = this.controller?.signal ?? {};
    return aborted === true && (error === reason || (error instanceof Error && error.name === "AbortError"));
  }

  /** @internal Frees the slot, once. */
  free(): void {
    if (search.shared !== undefined) this.#touched("write");
    if (!this.#held) return;
    this.#held = false;
    const consumer = this.#consumer;
    if (this.isWithdrawn && consumer.rare !== undefined)
      consumer.rare.waits = exclude(consumer.rare.waits, this);
    this.member.free();
  }

  #settle(settlement: Settlement): boolean {
    const consumer = this.#consumer;
    if (search.shared !== undefined) this.#touched("write");
    if (!consumer.alive) throw exitedError(consumer);
    if (this.settlement !== undefined) return false;
    this.settlement = settlement;
    this.free();
    return !this.isWithdrawn && this.#conversation.answered(this as Delivery);
  }

  get #consumer(): Process {
    return this.member.process;
  }

  /** The conversation and the consumer both decide by this delivery. */
  #touched(access: Access): void {
    search.shared?.object(this, access);
    search.shared?.process(this.member.pid, "read");
    this.#conversation.looked("read");
  }
}
