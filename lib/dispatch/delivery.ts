// What an acknowledging consumer is sent: the envelope, and the ways to settle it. A delivery holds one of its consumer's
// slots until it is settled or taken back, also when its dispatch ends before that.

import { Recallable } from "../process/entries.js";
import type { DeadLetterReason } from "../process/events.js";
import { exclude, include } from "../process/one-or-many.js";
import { inNameOf } from "../process/origin.js";
import type { Process } from "../process/process.js";
import { processSignal } from "../process/process-signal.js";
import { crash, custom, type ExitReason } from "../process/reason.js";
import { exitedError } from "../process/request.js";
import type { Envelope } from "./envelope.js";
import type { Member } from "./member.js";

/** How a consumer settled. The delivery itself is the message that tells the conversation. */
export type Settlement =
  | { readonly type: "acked"; readonly value: unknown; readonly replied: boolean }
  | { readonly type: "rejected"; readonly reason: ExitReason; readonly final: boolean }
  | { readonly type: "returned"; readonly reason: ExitReason };

const ACKED: Settlement = { type: "acked", value: undefined, replied: false };

/**
 * One attempt at one envelope. Settle it once; a second time, and after the dispatch has ended, the dispatch does not
 * change and the answer is false. From a process that has exited it is refused with ProcessExitedError.
 */
export class Delivery<T = unknown, R = unknown> extends Recallable {
  readonly envelope: Envelope<T>;
  /** Which attempt this is, from 1. */
  readonly attempt: number;
  /** @internal */
  settlement: Settlement | undefined = undefined;
  /** @internal The consumer ended before it took this out of its mailbox. */
  untaken = false;
  /** @internal The consumer ended by another envelope that it worked on at the same time. */
  innocent = false;
  /** @internal One of this member's slots is held until the delivery is settled or taken back. */
  readonly member: Member;
  readonly #conversation: Process;
  readonly #consumer: Process | undefined;
  #held = true;
  #withdrawn = false;
  #abort: AbortController | undefined = undefined;
  #reason: unknown = undefined;

  /** @internal */
  constructor(envelope: Envelope<T>, attempt: number, conversation: Process, member: Member) {
    super();
    this.envelope = envelope;
    this.attempt = attempt;
    this.#conversation = conversation;
    this.#consumer = member.pid.process;
    this.member = member;
    member.take();
  }

  get payload(): T {
    return this.envelope.payload;
  }

  /**
   * Aborted when the dispatch ends while this consumer works on it: by its deadline, by its caller, or by its own death.
   * The reason is the error that the caller gets. Give it to `fetch` or a database call, so that the consumer is free
   * for work that somebody waits for. It is not aborted when the consumer itself settles or exits (`ctx.signal` is).
   *
   * @example consumer((url: string, { signal }) => fetch(url, { signal }).then((page) => page.text()));
   */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = processSignal((listener) => this.#consumer?.perform(listener));
      if (this.#withdrawn) this.#abort.abort(this.#reason);
    }
    return this.#abort.signal;
  }

  /** The work is done: the dispatch completes. */
  ack(): boolean {
    return this.#settle(ACKED);
  }

  /** The work is done, and this is what came of it. */
  reply(value: R): boolean {
    return this.#settle({ type: "acked", value, replied: true });
  }

  /**
   * This consumer does not take the envelope: another one gets it, within the attempt budget; with `final`, none does,
   * and it is a dead letter.
   */
  reject(why: unknown, options?: { readonly final?: boolean }): boolean {
    const reason = why instanceof Error ? crash(why) : custom(why);
    return this.#settle({ type: "rejected", reason, final: options?.final === true });
  }

  /** Called by the kernel: this is nobody's dead letter, its conversation finds another consumer. */
  override returned(why: DeadLetterReason): void {
    if (why === "exited") this.untaken = true;
    else this.#settle({ type: "rejected", reason: custom(why), final: false });
  }

  /** @internal The consumer ends, and has not taken this yet. */
  giveBack(reason: ExitReason): void {
    this.#consumer?.withdraw(this);
    this.#settle({ type: "returned", reason });
  }

  /** @internal The dispatch has ended. What its consumer has not taken is taken back. */
  withdraw(): void {
    const consumer = this.#consumer;
    this.#withdrawn = true;
    if (this.queuedIn !== undefined) {
      consumer?.withdraw(this);
      this.free();
    } else if (consumer?.alive !== true) this.free();
    // The conversation, which was linked to the consumer, hears no more of its end.
    else if (this.#held) consumer.extras.waits = include(consumer.extras.waits, this);
  }

  /** @internal Called by the kernel: the consumer has ended, at work on this. */
  abandon(): void {
    this.free();
  }

  /** @internal Tells the consumer why the dispatch has ended. */
  abort(reason: unknown): void {
    const consumer = this.#consumer;
    if (!this.#withdrawn || this.settlement !== undefined || consumer?.alive !== true) return;
    this.#reason = reason;
    inNameOf(consumer.pid, () => this.#abort?.abort(reason));
  }

  /** @internal Whether a job ended with `error` because it heeded its signal. */
  isAbort(error: unknown): boolean {
    const { aborted, reason } = this.#abort?.signal ?? {};
    return aborted === true && (error === reason || (error instanceof Error && error.name === "AbortError"));
  }

  /** @internal Gives the slot back, once. */
  free(): void {
    if (!this.#held) return;
    this.#held = false;
    const consumer = this.#consumer;
    if (consumer === undefined) return;
    if (this.#withdrawn && consumer.rare !== undefined)
      consumer.rare.waits = exclude(consumer.rare.waits, this);
    this.member.free(consumer.kernel);
  }

  #settle(settlement: Settlement): boolean {
    const consumer = this.#consumer;
    if (consumer !== undefined && !consumer.alive) throw exitedError(consumer);
    if (this.settlement !== undefined) return false;
    this.settlement = settlement;
    this.free();
    if (this.#withdrawn || !this.#conversation.alive) return false;
    this.#conversation.deliver(this);
    return true;
  }
}
