// The messages that a dispatch conversation gets.

import type { Stop } from "../process/behaviour.js";
import type { Delivery } from "./delivery.js";
import type { Member } from "./member.js";

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
