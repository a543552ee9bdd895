// The stand-in for a consumer of another node. It is a member of the group here, passes each delivery on to the consumer, and settles the
// delivery here as it ended there. It ends with the consumer, for the same reason, so a dispatch re-routes on its EXIT as for any consumer.

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

/** The consumer has left the group. The stand-in ends when its open deliveries have ended. */
export const DISMISSED: { readonly type: "dismissed" } = { type: "dismissed" };

type Message = Delivery | typeof DISMISSED;

export class StandIn implements Callbacks<Message> {
  readonly isHelper = true;
  /** The stand-in as a member of the group. Undefined before `init`. */
  seat: Member | undefined;
  pid!: Pid<typeof DISMISSED>;
  readonly #group: ScopedGroup;
  readonly #member: RemoteMember;
  /** The groups process of this node, and that of the consumer's node. */
  readonly #here: Pid<GroupMessage>;
  readonly #there: Pid<GroupMessage>;
  /** Deliveries whose end on the other node is not known yet. */
  readonly #open = new Set<Delivery>();
  /** Why the consumer has ended. Undefined while it is alive. */
  #gone: ExitReason | undefined;
  /** The consumer has left the group. */
  #isDismissed = false;

  constructor(group: ScopedGroup, member: RemoteMember, here: Pid<GroupMessage>, there: Pid<GroupMessage>) {
    this.#group = group;
    this.#member = member;
    this.#here = here;
    this.#there = there;
  }

  /** Leaves the group, so that no more envelopes come. @param isLost - the connection to the node is lost, so the monitors end the stand-in with that reason */
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
    // The groups process there answers for deliveries, and may end without the consumer.
    ctx.monitor(this.#there);
    // The id is the same on every node, so that a choice by its hash is the same. If the id is taken here, the node's id is added.
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
    const trace = this.seat?.process.kernel.taps?.leaving(delivery)?.text;
    ctx.ask<GroupMessage, GroupMessage, Ending>(
      this.#there,
      (replyTo) => ({
        ...{ type: "deliver", from, group, member, envelope, attempt, replyTo },
        ...(trace !== undefined && { trace }),
      }),
      (reply) => this.#ended(delivery, reply),
      // The deadline of the dispatch is enough: its end aborts the signal, which withdraws the envelope there.
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

  /** A delivery has ended on the other node. After `crashed` or `interrupted` the stand-in settles nothing: the DOWN of the consumer follows. */
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
          // The stand-in leaves the group first. Otherwise the envelope could be routed to it again.
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

  /** After the loss of a node a DOWN follows, so nothing is done here. Any other error means that the envelope could not be passed on. */
  #failed(delivery: Delivery, error: unknown): void {
    if (delivery.isWithdrawn) delivery.free();
    else if (!(error instanceof CalleeExitedError)) delivery.reject(error);
  }

  /** Stops when the consumer has ended or left, and all deliveries have ended. */
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

/** The cause that the consumer gave for its rejection: an error, or another value. */
function causeOf(reason: ExitReason): unknown {
  if (reason.type === "crash") return reason.error;
  return reason.type === "custom" ? reason.value : crash(reason);
}
