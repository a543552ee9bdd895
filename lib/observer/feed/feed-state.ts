// The words of a feed: what it holds, what happens to it, and what it has done. feed-machine.ts decides.

import type { Fault } from "../../admin/fault.js";
import type { Json } from "../../admin/json-view.js";
import type { Patch } from "./difference.js";

export interface FeedLimits {
  /** Most viewers at a time. */
  readonly viewers: number;
  /** Most views of one viewer. */
  readonly viewsOfOne: number;
  /** Most different views at a time. */
  readonly views: number;
  /** Most operations that are carried out at a time. */
  readonly polls: number;
  /** How long an operation may take, in milliseconds. */
  readonly pollMs: number;
  /** After how many milliseconds without an event a viewer gets a sign of life. */
  readonly heartbeatMs: number;
  /** How long a viewer may take nothing, in milliseconds. */
  readonly stalledMs: number;
}

/** What a viewer asks for. */
export interface Wanted {
  /** The viewer's own name for the view. */
  readonly key: string;
  readonly op: string;
  readonly args: { readonly [name: string]: Json };
  /** How often a second. */
  readonly hz: number;
}

/** What a viewer is sent. */
export type FeedEvent =
  | { readonly type: "whole"; readonly key: string; readonly revision: number; readonly value: Json }
  | {
      readonly type: "change";
      readonly key: string;
      readonly revision: number;
      /** The revision that the patch was made for. */
      readonly from: number;
      readonly patch: Patch;
    }
  | { readonly type: "fault"; readonly key: string; readonly error: Fault }
  /** The viewer has missed revisions. The whole value follows. */
  | { readonly type: "reset"; readonly key: string }
  | { readonly type: "heartbeat" };

/** An operation with its arguments, while somebody looks at it. */
export interface View {
  readonly id: string;
  readonly op: string;
  readonly args: Wanted["args"];
  /** The keys of its viewers: the numbers of viewers, and the seats of the view there. */
  readonly seats: Set<Seat>;
  /** How long from one question to the next: by the viewer that asks most often. */
  periodMs: number;
  revision: number;
  /** Undefined before the first answer, and after a fault. */
  value: Json | undefined;
  /** Led from the revision before to the present one. Undefined: that one is not known, or the value is the first one. */
  patch: Patch | undefined;
  fault: Fault | undefined;
  /** The number of the question under way, and when it was asked. */
  poll: { readonly number: number; readonly at: number } | undefined;
  dueAt: number;
}

/** A view in the list of one viewer. */
export interface Seat {
  readonly viewer: number;
  readonly key: string;
  readonly hz: number;
  readonly view: View;
  /** The revision that the viewer has. 0: none. */
  revision: number;
  /** The fault that the viewer has been told. */
  fault: Fault | undefined;
}

export interface Viewer {
  readonly seats: readonly Seat[];
  /** It can take the next events. */
  isReady: boolean;
  /** When it was sent something, or opened. */
  sentAt: number;
}

export interface FeedState {
  readonly limits: FeedLimits;
  readonly views: Map<string, View>;
  readonly viewers: Map<number, Viewer>;
  lastPoll: number;
  polling: number;
  /** When the timer fires that is set. */
  wakeAt: number;
}

export type FeedInput =
  | {
      readonly type: "open";
      readonly viewer: number;
      readonly wanted: readonly Wanted[];
      readonly now: number;
    }
  | { readonly type: "close"; readonly viewer: number; readonly now: number }
  /** The viewer has taken all that it was sent. */
  | { readonly type: "ready"; readonly viewer: number; readonly now: number }
  | {
      readonly type: "answer";
      readonly poll: number;
      readonly view: string;
      readonly value: Json;
      readonly now: number;
    }
  | {
      readonly type: "failure";
      readonly poll: number;
      readonly view: string;
      readonly fault: Fault;
      readonly now: number;
    }
  | { readonly type: "tick"; readonly now: number };

export type FeedEffect =
  | {
      readonly type: "poll";
      readonly poll: number;
      readonly view: string;
      readonly op: string;
      readonly args: Wanted["args"];
    }
  /** The answer is not needed any more. */
  | { readonly type: "abandon"; readonly poll: number }
  | { readonly type: "send"; readonly viewer: number; readonly events: readonly FeedEvent[] }
  /** There is no room for it, and it was not opened. */
  | { readonly type: "refuse"; readonly viewer: number; readonly problem: string }
  /** It takes nothing, and is closed. */
  | { readonly type: "drop"; readonly viewer: number }
  /** Sets the only timer; the one before is cancelled. */
  | { readonly type: "wake"; readonly afterMs: number }
  /** The last `wake` is not needed any more. */
  | { readonly type: "rest" };
