// The process of a conversation: it turns messages and signals into the events of conversation-machine.ts. It is linked to the
// consumer, so the consumer's end reaches it as an EXIT, and it re-routes in the same turn.

import { type Callbacks, Stop } from "../process/behaviour.js";
import type { Context } from "../process/context.js";
import type { Signal } from "../process/entries.js";
import type { Conversation } from "./conversation.js";
import { Delivery } from "./delivery.js";
import type { Member } from "./member.js";

const BEGIN = { type: "begin" } as const;
export const DEADLINE: { readonly type: "deadline" } = { type: "deadline" };
export const ROOM: { readonly type: "room" } = { type: "room" };

/** A delivery comes back as a message when its consumer has settled it. */
export type Message<T> =
  | Delivery<T>
  | typeof DEADLINE
  /** The conversation has ended. */
  | Stop
  | typeof ROOM
  | { readonly type: "impatient"; readonly round: number }
  | { readonly type: "handoff"; readonly attempt: number }
  | { readonly type: "chosen"; readonly chosen: unknown; readonly candidates: readonly Member[] }
  | { readonly type: "unchosen"; readonly cause: unknown };

export class ConversationProcess<T> implements Callbacks<Message<T>> {
  readonly conversation: Conversation<T>;
  declare readonly init?: () => Stop | undefined;

  /** @param begins - the first turn begins the conversation; otherwise the conversation has begun without a process */
  constructor(conversation: Conversation<T>, begins: boolean) {
    this.conversation = conversation;
    if (begins) this.init = () => conversation.apply(BEGIN);
  }

  /** A stopping system ends this process last: when its consumer has settled, or has been stopped. */
  get isLast(): boolean {
    return true;
  }

  get isHelper(): boolean {
    return true;
  }

  handle(_ctx: Context<Message<T>>, message: Message<T>): Stop | undefined {
    const { conversation } = this;
    if (message instanceof Delivery) return this.settled(message);
    if (message instanceof Stop) return message;
    switch (message.type) {
      case "handoff":
        return conversation.apply({ type: "settled", attempt: message.attempt });
      case "chosen":
        return conversation.chosenElsewhere(message.chosen, message.candidates);
      case "unchosen":
        return conversation.apply({
          type: "misrouted",
          failure: { type: "evaluation", cause: message.cause },
        });
      case "room":
      case "impatient":
        return conversation.apply(message);
      case "deadline": {
        // Each caller has a deadline of its own. The last of them is the conversation's.
        const isLast = conversation.callers().every((one) => one.isOverdue === true);
        return conversation.apply({ type: "deadline", isLast });
      }
      default:
        return message satisfies never;
    }
  }

  signal(_ctx: Context<Message<T>>, signal: Signal): Stop | undefined {
    const { conversation } = this;
    if (signal.type === "down") {
      const reason = signal.reason.type === "normal" ? undefined : signal.reason;
      return conversation.apply({ type: "compensated", reason });
    }
    const { consumer } = conversation.state;
    if (signal.type !== "exit" || consumer?.pid !== signal.from) return undefined;
    const { reason } = signal;
    const { delivery } = conversation;
    const at = conversation.now();
    if (delivery?.untaken === true)
      return conversation.apply({ type: "returned", consumer, exited: true, reason, at });
    const innocent = delivery?.innocent === true;
    return conversation.apply({ type: "exited", consumer, innocent, reason, at });
  }

  private settled({ settlement, attempt: shown }: Delivery<T>): Stop | undefined {
    const { conversation } = this;
    const attempt = shown - conversation.attemptsBefore;
    switch (settlement?.type) {
      case "acked":
        return conversation.apply({ type: "settled", attempt });
      case "rejected": {
        const { reason, final } = settlement;
        return conversation.apply({ type: "rejected", attempt, reason, final, at: conversation.now() });
      }
      case "returned": {
        const { consumer, attempt: current } = conversation.state;
        if (consumer === undefined || attempt !== current) return undefined;
        const { reason } = settlement;
        return conversation.apply({
          type: "returned",
          consumer,
          exited: false,
          reason,
          at: conversation.now(),
        });
      }
      case undefined:
        return undefined;
      default:
        return settlement satisfies never;
    }
  }
}
