// What an acknowledging consumer is sent: the envelope, and the ways to settle it.

import { exitedError } from "../process/call.js";
import { Recallable } from "../process/entries.js";
import type { DeadLetterReason } from "../process/events.js";
import type { Process } from "../process/process.js";
import { crash, custom, type ExitReason } from "../process/reason.js";
import type { Envelope } from "./envelope.js";

/** How a consumer settled. The delivery itself is the message that tells the conversation. */
export type Settlement =
  | { readonly type: "acked"; readonly value: unknown; readonly replied: boolean }
  | { readonly type: "rejected"; readonly reason: ExitReason; readonly final: boolean };

/**
 * One attempt at one envelope. Settle it once; a second time, and after the attempt is over, nothing happens and the
 * answer is false. From a process that has exited it is refused with ProcessExitedError.
 */
export class Delivery<T = unknown> extends Recallable {
  readonly envelope: Envelope<T>;
  /** Which attempt this is, from 1. */
  readonly attempt: number;
  /** @internal */
  settlement: Settlement | undefined = undefined;
  /** @internal The consumer ended before it took this out of its mailbox. */
  untaken = false;
  readonly #conversation: Process;
  readonly #consumer: Process | undefined;

  /** @internal */
  constructor(envelope: Envelope<T>, attempt: number, conversation: Process, consumer: Process | undefined) {
    super();
    this.envelope = envelope;
    this.attempt = attempt;
    this.#conversation = conversation;
    this.#consumer = consumer;
  }

  get payload(): T {
    return this.envelope.payload;
  }

  /** The work is done: the dispatch completes. */
  ack(): boolean {
    return this.#settle({ type: "acked", value: undefined, replied: false });
  }

  /** The work is done, and this is what came of it. */
  reply(value: unknown): boolean {
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

  #settle(settlement: Settlement): boolean {
    const consumer = this.#consumer;
    if (consumer !== undefined && !consumer.alive) throw exitedError(consumer);
    if (this.settlement !== undefined || !this.#conversation.alive) return false;
    this.settlement = settlement;
    this.#conversation.deliver(this);
    return true;
  }
}
