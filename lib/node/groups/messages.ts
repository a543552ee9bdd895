// The messages between the groups processes of a cluster: members, their load, and envelopes.

import type { Envelope } from "../../dispatch/envelope.js";
import type { Tags } from "../../dispatch/member.js";
import { Pid } from "../../process/pid.js";
import type { ExitReason } from "../../process/reason.js";
import type { ReplyTo } from "../../process/request.js";
import type { News } from "./exchange-machine.js";

/** A consumer, as its node announces it to the others. */
export interface RemoteMember {
  readonly id: string;
  readonly pid: Pid;
  readonly maxInFlight: number;
  readonly weight: number;
  readonly tags: Tags;
}

/** An envelope on its way to another node. */
export interface SentEnvelope extends Envelope<unknown> {
  /** The user chose the id, so deliveries with this id are one delivery. */
  readonly isOwn: boolean;
}

/** How a delivery on another node ended. */
export type Ending =
  /** The consumer had left the group. */
  | { readonly type: "left" }
  | { readonly type: "acked"; readonly value: unknown; readonly replied: boolean }
  | { readonly type: "rejected"; readonly reason: ExitReason; readonly final: boolean }
  /** The consumer ended before it took the envelope, through another envelope that it worked on at the same time, or through this one. */
  | { readonly type: "returned" | "interrupted" | "crashed"; readonly reason: ExitReason };

/** How many slots of a consumer are taken by nodes other than the receiver of this message. */
export interface Load {
  readonly group: string;
  readonly id: string;
  readonly elsewhere: number;
}

/** A message to the groups process of a node. `from` is the groups process of the node that sends. */
export type GroupMessage =
  | {
      /** `meet` is the first message between two nodes, `news` each later change. A node without groups does not answer a `meet`. */
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
      /** The number of the attempt at the envelope, from 1. A node of an older release leaves it out. */
      readonly attempt?: number;
      /** The span of the attempt, in a system that is traced. */
      readonly trace?: string;
      readonly replyTo: ReplyTo<Ending>;
    };

/** Whether a value from another node is a message of groups. The value can have any form. */
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
