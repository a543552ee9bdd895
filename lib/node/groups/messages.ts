// What the nodes of a cluster tell each other about their groups: who is a member, how busy it is, and the envelopes themselves.

import type { Envelope } from "../../dispatch/envelope.js";
import type { Tags } from "../../dispatch/member.js";
import type { Pid } from "../../process/pid.js";
import type { ExitReason } from "../../process/reason.js";
import type { ReplyTo } from "../../process/request.js";
import type { News } from "./exchange-machine.js";

/** A consumer, as its node tells the others of it. */
export interface RemoteMember {
  readonly id: string;
  readonly pid: Pid;
  readonly maxInFlight: number;
  readonly weight: number;
  readonly tags: Tags;
}

/** An envelope on its way to another node. */
export interface SentEnvelope extends Envelope<unknown> {
  /** A user gave it its id: deliveries of the same id are one delivery. */
  readonly isOwn: boolean;
}

/** How a delivery on another node ended. */
export type Ending =
  /** There is no such consumer in the group any more. */
  | { readonly type: "left" }
  | { readonly type: "acked"; readonly value: unknown; readonly replied: boolean }
  | { readonly type: "rejected"; readonly reason: ExitReason; readonly final: boolean }
  /** The consumer ended before it took the envelope, or on another envelope that it worked on at the same time, or on this one. */
  | { readonly type: "returned" | "interrupted" | "crashed"; readonly reason: ExitReason };

/** Slots of a consumer that dispatches take which are not the receiver's. */
export interface Load {
  readonly group: string;
  readonly id: string;
  readonly elsewhere: number;
}

/** A message to the process that stands for the groups of a node. `from`: the same process of the node that sends. */
export type GroupMessage =
  | { readonly type: "news"; readonly from: Pid; readonly news: News<RemoteMember> }
  | { readonly type: "loads"; readonly from: Pid; readonly loads: readonly Load[] }
  | {
      readonly type: "deliver";
      readonly from: Pid;
      readonly group: string;
      readonly member: string;
      readonly envelope: SentEnvelope;
      readonly replyTo: ReplyTo<Ending>;
    };
