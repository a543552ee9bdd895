// A consumer of another node, here: a member of the group that passes each delivery on, and tells its dispatch how it ended there. It ends
// with the consumer, for the same reason, so that a dispatch re-routes on its EXIT as on that of any consumer.

import { Delivery } from "../../dispatch/delivery.js";
import { type Envelope, OwnEnvelope } from "../../dispatch/envelope.js";
import { leaveAll } from "../../dispatch/group.js";
import type { Member } from "../../dispatch/member.js";
import type { ScopedGroup } from "../../dispatch/scope.js";
import { type Callbacks, type Stop, stop } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Signal } from "../../process/entries.js";
import { CalleeExitedError } from "../../process/errors.js";
import type { Pid } from "../../process/pid.js";
import { crash, type ExitReason, NORMAL } from "../../process/reason.js";
import type { Reply } from "../../process/request.js";
import type { Ending, GroupMessage, RemoteMember, SentEnvelope } from "./messages.js";

/** Its consumer has left the group: it ends when what it has is done. */
export const DISMISSED: { readonly type: "dismissed" } = { type: "dismissed" };

type Message = Delivery | typeof DISMISSED;

export class StandIn implements Callbacks<Message> {
  readonly isHelper = true;
  /** The member of the group that it is, once it has begun. */
  seat: Member | undefined;
  pid!: Pid<typeof DISMISSED>;
  readonly #group: ScopedGroup;
  readonly #member: RemoteMember;
  /** The process that stands for the groups here, and the one on the consumer's node. */
  readonly #here: Pid<GroupMessage>;
  readonly #there: Pid<GroupMessage>;
  /** Deliveries whose end on the other node is not known yet. */
  readonly #open = new Set<Delivery>();
  /** Why the consumer has ended. */
  #gone: ExitReason | undefined;
  /** The consumer is no member any more. */
  #isDismissed = false;

  constructor(group: ScopedGroup, member: RemoteMember, here: Pid<GroupMessage>, there: Pid<GroupMessage>) {
    this.#group = group;
    this.#member = member;
    this.#here = here;
    this.#there = there;
  }

  /** It gets no more envelopes. @param isLost - the connection is: its monitors end it, for that reason */
  dismiss(isLost: boolean): void {
    this.#isDismissed = !isLost || this.seat === undefined;
    if (this.seat !== undefined) this.#group.leave(this.seat.pid);
  }

  init(ctx: Context<Message>): Stop | undefined {
    if (this.#isDismissed) return stop();
    const { pid, id, maxInFlight, weight, tags } = this.#member;
    ctx.trapExit(true);
    // Monitors, and no links: the end of this process must not end the consumer.
    ctx.monitor(pid);
    // Whoever answers for the deliveries there may end alone.
    ctx.monitor(this.#there);
    // The same name on every node, so that a choice by a hash of it is the same. Two users of one name are told apart.
    const isTaken = this.#group.consumers.some((one) => one.id === id);
    const own = isTaken ? `${id}@${pid.node.id}` : id;
    this.seat = this.#group.join(ctx.self, { id: own, maxInFlight, weight, tags });
    this.seat.standsFor = pid;
    return undefined;
  }

  handle(ctx: Context<Message>, delivery: Message): Stop | undefined {
    if (!(delivery instanceof Delivery)) return this.#over();
    if (this.#gone !== undefined) {
      delivery.giveBack(this.#gone);
      return undefined;
    }
    this.#open.add(delivery);
    const { name: group } = this.#group;
    const { id: member } = this.#member;
    const from = this.#here;
    const envelope = sent(delivery.envelope);
    const { attempt } = delivery;
    ctx.ask<GroupMessage, GroupMessage, Ending>(
      this.#there,
      (replyTo) => ({ type: "deliver", from, group, member, envelope, attempt, replyTo }),
      (reply) => this.#ended(delivery, reply),
      // The dispatch has a deadline: its end aborts the signal, and withdraws the envelope there.
      { timeoutMs: Number.POSITIVE_INFINITY, signal: delivery.signal },
    );
    return undefined;
  }

  signal(ctx: Context<Message>, signal: Signal): Stop | undefined {
    if (signal.type !== "down") return undefined;
    this.#gone ??= signal.reason;
    leaveAll(ctx.self);
    return this.#over();
  }

  /** Whoever has told that the delivery ended with its consumer is right: the DOWN of the consumer is on its way here. */
  #ended(delivery: Delivery, reply: Reply<Ending>): Stop | undefined {
    this.#open.delete(delivery);
    if (!reply.ok) this.#failed(delivery, reply.error);
    else
      switch (reply.value.type) {
        case "acked":
          if (reply.value.replied) delivery.reply(reply.value.value);
          else delivery.ack();
          break;
        case "rejected":
          delivery.reject(causeOf(reply.value.reason), { final: reply.value.final });
          break;
        case "left":
          // Nothing more comes here, so that the envelope cannot come back at once.
          this.dismiss(false);
          delivery.giveBack(NORMAL);
          break;
        case "returned":
          delivery.giveBack(reply.value.reason);
          break;
        case "interrupted":
          delivery.innocent = true;
          break;
        case "crashed":
          break;
        default:
          reply.value satisfies never;
      }
    return this.#over();
  }

  /** The loss of the node brings a DOWN, too. Anything else says that the envelope could not be passed on. */
  #failed(delivery: Delivery, error: unknown): void {
    if (delivery.isWithdrawn || error instanceof CalleeExitedError) return;
    delivery.reject(error);
  }

  /** The end, once the consumer has ended and all is known of what it worked on. */
  #over(): Stop | undefined {
    const reason = this.#gone ?? (this.#isDismissed ? NORMAL : undefined);
    return reason === undefined || this.#open.size > 0 ? undefined : stop(reason);
  }
}

function sent(envelope: Envelope<unknown>): SentEnvelope {
  const { id, payload, timestamp } = envelope;
  return envelope instanceof OwnEnvelope
    ? { ...envelope, isOwn: true }
    : { id, payload, timestamp, isOwn: false };
}

/** What a rejection was given: an error, or another value. */
function causeOf(reason: ExitReason): unknown {
  if (reason.type === "crash") return reason.error;
  return reason.type === "custom" ? reason.value : crash(reason);
}
