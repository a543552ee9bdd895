// Which channel of a broker has the letters of a queue, as one process sees it. Pure.
//
// A broker may lose everything, and be filled again. Then an acknowledgement of a letter from before would settle the letter that has its
// place now, and the broker would confirm it. So each channel has a name that was never used before, and the store says which one counts:
// an acknowledgement from before finds no channel. A process that finds the channel lost makes another one, and has the store name it, if
// the store still names the lost one; then all ready messages are sent again. A channel is made before the store names it, and never after:
// so a channel that is there has all letters that were put into it, or the broker has lost single ones.
//
//     reading ── none, or the lost one ──> making ── made ──> naming ── named ──> resending ── resent ──> open
//        │  └──── another one ──────────────────────────────────────────────────────^   ^                  │
//        └──────────── failed, or another process was faster: read again                └── missing letters ┘

import { type Backoff, backoffMs } from "../../process/backoff.js";

/** What the store says about the channel of a queue. */
export interface NamedChannel {
  readonly channel: string;
  /** All that was ready when it was named has been marked to be sent. */
  readonly isComplete: boolean;
}

/** The columns of the row that says it, besides the key. */
export const CHANNEL_COLUMNS = {
  /** Where a broker has the letters of the queue. */
  channel: "text",
  /** 1: all that was ready when it was named has been marked to be sent. */
  complete: "integer",
} as const;

export interface ChannelState {
  readonly phase: "reading" | "making" | "naming" | "resending" | "open";
  /** The channel that the store names, as far as this process knows; the one that is to replace it while it is made and named. */
  readonly channel: string | undefined;
  /** The channel that the store named when the present one was made. */
  readonly before: string | undefined;
  /** A channel that the broker has lost. */
  readonly lost: string | undefined;
  /** How often the present phase has failed. */
  readonly failures: number;
  /** The waits before a broker or store that failed is asked again. */
  readonly again: Backoff;
}

export type ChannelEvent =
  /** @property fresh - a name that was never used */
  | { readonly type: "read"; readonly named: NamedChannel | undefined; readonly fresh: string }
  | { readonly type: "made" }
  /** False: the store does not name the one before any more. */
  | { readonly type: "named"; readonly isNamed: boolean }
  | { readonly type: "resent"; readonly channel: string }
  /** The broker, or the store, failed. It may have done what it was asked for. */
  | { readonly type: "failed"; readonly roll: number }
  | { readonly type: "again" }
  /** The broker does not have this channel. */
  | { readonly type: "gone"; readonly channel: string }
  /** The broker has no letter of a message that it has confirmed. */
  | { readonly type: "missing"; readonly channel: string };

export type ChannelEffect =
  | { readonly type: "read" }
  | { readonly type: "make"; readonly channel: string }
  /** Only if the store still names the one before. */
  | { readonly type: "name"; readonly channel: string; readonly before: string | undefined }
  /** Marks all ready messages as unsent, then the channel as complete. */
  | { readonly type: "resend"; readonly channel: string }
  /**
   * The store does not name this channel. It is new and unused, or it is the former one, which a process that is late may still use. A
   * failed removal leaves it behind, and no message depends on it.
   */
  | { readonly type: "remove"; readonly channel: string }
  /** Letters go there, and come from there. */
  | { readonly type: "open"; readonly channel: string }
  /** Sends `again` after this time. */
  | { readonly type: "alarm"; readonly inMs: number };

type Decision = [ChannelState, readonly ChannelEffect[]];

/** Begins with `again`. */
export function initial(again: Backoff): ChannelState {
  return {
    phase: "reading",
    channel: undefined,
    before: undefined,
    lost: undefined,
    failures: 0,
    again,
  };
}

export function decide(state: ChannelState, event: ChannelEvent): Decision {
  const { phase } = state;
  switch (event.type) {
    case "read":
      return phase === "reading" || phase === "open" ? read(state, event.named, event.fresh) : [state, []];
    case "made":
      return phase === "making" ? naming(state) : [state, []];
    case "named":
      return phase === "naming" ? named(state, event.isNamed) : [state, []];
    case "resent":
      return phase === "resending" && event.channel === state.channel ? opened(state) : [state, []];
    case "failed":
      return failed(state, event.roll);
    case "again":
      if (phase === "resending") return resending(state);
      return phase === "reading" ? reading(state) : [state, []];
    case "gone":
      // Until the store names the channel, only this process knows it.
      return (phase === "open" || phase === "resending") && event.channel === state.channel
        ? reading({ ...state, lost: event.channel })
        : [state, []];
    case "missing":
      return phase === "open" && event.channel === state.channel ? resending(state) : [state, []];
    default:
      return event satisfies never;
  }
}

function reading(state: ChannelState): Decision {
  return [{ ...state, phase: "reading" }, [{ type: "read" }]];
}

function read(state: ChannelState, there: NamedChannel | undefined, fresh: string): Decision {
  const before = there?.channel;
  if (there === undefined || before === state.lost) {
    const making = { ...state, phase: "making", channel: fresh, before, failures: 0 } as const;
    return [making, [{ type: "make", channel: fresh }]];
  }
  if (state.phase === "open" && before === state.channel && there.isComplete) return [state, []];
  const next = { ...state, channel: before, failures: 0 };
  return there.isComplete ? opened(next) : resending(next);
}

function naming(state: ChannelState): Decision {
  const { channel, before } = state;
  return [{ ...state, phase: "naming", failures: 0 }, [{ type: "name", channel: channel as string, before }]];
}

function named(state: ChannelState, isNamed: boolean): Decision {
  const { channel, before } = state;
  if (!isNamed) {
    const [next, effects] = reading({ ...state, failures: 0 });
    return [next, [{ type: "remove", channel: channel as string }, ...effects]];
  }
  const [next, effects] = resending({ ...state, failures: 0 });
  // If the broker still has the former channel, the removal makes the processes that use it look again.
  return [next, before === undefined ? effects : [{ type: "remove", channel: before }, ...effects]];
}

function resending(state: ChannelState): Decision {
  return [{ ...state, phase: "resending" }, [{ type: "resend", channel: state.channel as string }]];
}

function opened(state: ChannelState): Decision {
  return [{ ...state, phase: "open", failures: 0 }, [{ type: "open", channel: state.channel as string }]];
}

function failed(state: ChannelState, roll: number): Decision {
  const { phase, channel, again } = state;
  if (phase === "open") return [state, []];
  const failures = state.failures + 1;
  const alarm = { type: "alarm", inMs: backoffMs(again, failures, roll) } as const;
  const next = { ...state, failures };
  // It may be there, or be made later: no process uses it. After a failed naming the store may name it: the next read shows that.
  return phase === "making"
    ? [{ ...next, phase: "reading" }, [{ type: "remove", channel: channel as string }, alarm]]
    : [{ ...next, phase: phase === "naming" ? "reading" : phase }, [alarm]];
}
