// What the nodes of a cluster tell each other about their groups: who is a member, how busy it is, and the envelopes themselves.

import type { Envelope } from "../../dispatch/envelope.js";
import type { Tags } from "../../dispatch/member.js";
import { Pid } from "../../process/pid.js";
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
  | {
      /** The first words of two nodes, and each difference from then on. Who takes no part has nobody that answers. */
      readonly type: "meet" | "news";
      readonly from: Pid<GroupMessage>;
      readonly news: News<RemoteMember>;
      readonly replyTo?: ReplyTo<true>;
    }
  | { readonly type: "loads"; readonly from: Pid<GroupMessage>; readonly loads: readonly Load[] }
  | {
      readonly type: "deliver";
      readonly from: Pid<GroupMessage>;
      readonly group: string;
      readonly member: string;
      readonly envelope: SentEnvelope;
      /** The number of the attempt at the envelope, from 1. A node of an older release does not say it. */
      readonly attempt?: number;
      readonly replyTo: ReplyTo<Ending>;
    };

/** Whether a message from another node is one: it may be anything. */
export function isGroupMessage(value: unknown): value is GroupMessage {
  if (!isObject(value) || !(value.from instanceof Pid)) return false;
  const { type, replyTo } = value;
  if (type === "loads") return Array.isArray(value.loads) && value.loads.every(isLoad);
  if (type === "deliver") {
    const { envelope, attempt = 1 } = value;
    return (
      Number.isSafeInteger(attempt) &&
      (attempt as number) >= 1 &&
      isAddress(replyTo) &&
      isObject(envelope) &&
      typeof envelope.id === "string" &&
      isNumber(envelope.timestamp)
    );
  }
  return (type === "news" || (type === "meet" && isAddress(replyTo))) && isNews(value.news);
}

function isNews(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { type, group, groups, member, id } = value;
  if (type === "all")
    return (
      groups instanceof Map &&
      [...groups].every(
        ([name, all]) => typeof name === "string" && Array.isArray(all) && all.every(isMember),
      )
    );
  if (typeof group !== "string") return false;
  return type === "joined" ? isMember(member) : type === "left" && typeof id === "string";
}

function isMember(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { id, pid, maxInFlight, weight, tags } = value;
  const isLimit = isNumber(maxInFlight) && maxInFlight >= 1;
  return (
    typeof id === "string" &&
    pid instanceof Pid &&
    isLimit &&
    isNumber(weight) &&
    weight >= 0 &&
    isObject(tags)
  );
}

function isLoad(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { group, id, elsewhere } = value;
  return typeof group === "string" && typeof id === "string" && isNumber(elsewhere) && elsewhere >= 0;
}

function isAddress(value: unknown): boolean {
  return isObject(value) && typeof value.answer === "function";
}

/** The fields of messages, and of what is in them. */
type Field =
  | (
      | "type"
      | "from"
      | "news"
      | "replyTo"
      | "loads"
      | "envelope"
      | "attempt"
      | "group"
      | "groups"
      | "member"
      | "id"
      | "pid"
    )
  | ("maxInFlight" | "weight" | "tags" | "elsewhere" | "timestamp" | "answer");

function isObject(value: unknown): value is { readonly [field in Field]?: unknown } {
  return typeof value === "object" && value !== null;
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && !Number.isNaN(value);
}
