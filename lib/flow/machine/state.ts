// The state of a flow's transition, its events and its effects.

import type { Ask, Decision, Entry, Stored } from "../journal/entry.js";

/** How an ask gets its outcome. */
export type How =
  /** Something outside of the machine runs. `commits`: its outcome commits in a transaction of its own. */
  | { readonly type: "run"; readonly commits: boolean }
  /** A message on a topic, or the time. `prepares`: the begin of the wait is written first, with what it needs. */
  | {
      readonly type: "wait";
      readonly topic: string;
      readonly withinMs: number | undefined;
      readonly prepares: boolean;
    }
  | { readonly type: "sleep"; readonly until: { readonly ms: number } | { readonly moment: number } }
  /** It is done when it is written. */
  | { readonly type: "write"; readonly value: Stored };

/** An ask that the code has made and whose outcome it has not seen. */
export interface Op {
  readonly kind: string;
  readonly key: string;
  readonly how: How;
  /** `asked`: nothing was done yet. `decided`: its outcome is in the outbox, or written and not delivered. */
  status: "asked" | "beginning" | "begun" | "running" | "decided";
  /** Attempts that failed. */
  failures: number;
  due: number | undefined;
}

/** A message that the flow has not received. */
export interface UnreadMessage {
  readonly position: number;
  readonly topic: string;
  readonly value: Stored;
}

/** A decision that is to be written. */
export interface Item {
  readonly decision: Decision;
  readonly value: Stored;
}

/** How a flow ends. */
export interface Ending {
  readonly status: "completed" | "failed" | "cancelled" | "killed";
  readonly value: Stored;
  /** The note for the parent, if there is one. */
  readonly note?: Stored;
  /** The input with which the flow starts anew, under a journal of its own. */
  readonly again?: Stored;
}

export interface FlowState {
  /**
   * `replaying`: the code runs over the journal. `running`: new outcomes are decided. `finishing`: the code has returned. `ended`:
   * the machine takes no events any more.
   */
  phase: "replaying" | "running" | "finishing" | "ended";
  /** The code has run as far as its journal goes, and made all asks that it makes there. */
  caughtUp: boolean;
  /** The recording: entries, and all their asks in order. */
  readonly history: readonly Entry[];
  readonly recorded: readonly Ask[];
  /** How many recorded asks precede the outcome at the cursor, that outcome's own entry included. */
  expected: number;
  cursor: number;
  /** How many asks the code has made; the next one is compared with `recorded[asked]`. */
  asked: number;
  /** The number of the next entry. */
  seq: number;
  /** Asks since the last entry that was composed. */
  unrecorded: Ask[];
  /** Asks without a delivered outcome, in the order of the asks. */
  readonly ops: Map<string, Op>;
  /** Keys that a cancellation has rejected: later outcomes for them are dropped. */
  readonly rejected: Set<string>;
  outbox: Item[];
  /** The items of the write in flight. */
  writing: readonly Item[] | undefined;
  /** Keys of transactions whose bodies have returned, and which wait for their turn to commit. */
  readonly committing: string[];
  /** The transaction that commits now, and the asks that its entry records. */
  transacting: { readonly key: string; readonly asks: Ask[] } | undefined;
  /** Written and not delivered. */
  readonly ready: (Item & { readonly at: number })[];
  /** A delivery, or the start, has not run to its end: the code may make asks. */
  draining: boolean;
  readonly unread: Map<string, UnreadMessage[]>;
  lastMessage: number;
  /** Keys of waits by topic, in the order of the asks. */
  readonly waits: Map<string, string[]>;
  /** How many bodies run. */
  running: number;
  /** The deadline of the timer that is set. */
  timer: number | undefined;
  cancelled: boolean;
  /** Nothing new begins; when nothing runs, the flow leaves memory. */
  held: "pause" | "stop" | undefined;
  ending: Ending | undefined;
  /** Nothing happens until mail, time or an outside event. Tells the process only when it changes. */
  quiet: boolean;
  /** The effects of the event that is being decided, so far. Empty between events. */
  effects: FlowEffect[];
}

/**
 * How code deviated from the recorded ask: it asked for something else (`asks`), ended before it had made all recorded asks (`returns`,
 * `throws`), or waits for something that is no ask (`waits`).
 */
export type Deviation = "asks" | "returns" | "throws" | "waits";

/** An event of a flow. Times are milliseconds since 1970 by the store's clock. */
export type FlowEvent =
  /** The code made an ask. */
  | {
      readonly type: "asked";
      readonly kind: string;
      readonly key: string;
      readonly how: How;
      readonly now: number;
    }
  /** The code asks which version of a change it shall take. */
  | { readonly type: "versioned"; readonly key: string; readonly from: number; readonly to: number }
  /** All that the code can do without a further outcome is done. */
  | { readonly type: "drained"; readonly now: number }
  /** The code had its time since `stalled`, and has asked nothing. */
  | { readonly type: "waited" }
  /** A body returned or threw. `retryAt`: another attempt is due then. */
  | {
      readonly type: "ran";
      readonly key: string;
      readonly ok: boolean;
      readonly value: Stored;
      readonly retryAt?: number | undefined;
    }
  /** The body of a transaction returned: it waits for its turn to commit. */
  | { readonly type: "prepared"; readonly key: string }
  /** The transaction committed with its entry. */
  | { readonly type: "transacted"; readonly key: string; readonly value: Stored; readonly at: number }
  /** The write in flight is durable. */
  | { readonly type: "written"; readonly at: number }
  | { readonly type: "mail"; readonly messages: readonly UnreadMessage[]; readonly now: number }
  /** The timer fired. */
  | { readonly type: "due"; readonly now: number }
  /** The code threw. It ends the flow, or is a reason for the hospital: `returned` follows, or the end of the process. */
  | { readonly type: "threw" }
  /** The code returned, or ended by what it threw. */
  | { readonly type: "returned"; readonly ending: Ending }
  | { readonly type: "cancel"; readonly now: number }
  | { readonly type: "kill"; readonly note?: Stored }
  | { readonly type: "hold"; readonly why: "pause" | "stop" }
  /** The flow was quiet for long: may it leave memory? */
  | { readonly type: "idle" };

/** An effect for the process around the machine. Effects are carried out in their order. */
export type FlowEffect =
  /** Appends entries from number `seq` on; the asks belong to the first. */
  | {
      readonly type: "write";
      readonly seq: number;
      readonly items: readonly Item[];
      readonly asks: readonly Ask[];
    }
  /** Starts the body of an ask. */
  | { readonly type: "run"; readonly key: string; readonly attempt: number }
  /** Commits the transaction of an ask with its entry of number `seq`. */
  | { readonly type: "transact"; readonly key: string; readonly seq: number; readonly asks: readonly Ask[] }
  /** Settles the promise of an ask; the code goes on. `drained` follows when it has run as far as it can. */
  | {
      readonly type: "deliver";
      readonly key: string;
      readonly ok: boolean;
      readonly value: Stored;
      readonly at: number;
    }
  /** Rejects the promises of these asks, in this order, with FlowCancelledError; aborts their bodies. `drained` follows. */
  | { readonly type: "reject"; readonly keys: readonly string[]; readonly at: number }
  /** Asks for `drained` when the code has done all that it can. */
  | { readonly type: "drain" }
  /** Asks for `due` at that time; undefined: for none. Replaces the timer before. */
  | { readonly type: "timer"; readonly due: number | undefined }
  /** The answer to `versioned`. */
  | { readonly type: "answer"; readonly version: number }
  /** The code took another way than the one recorded. */
  | {
      readonly type: "diverged";
      readonly recorded: Ask | undefined;
      readonly asked: Ask | undefined;
      /** The entry at which it was found. */
      readonly entry: number;
      readonly did: Deviation;
      /** The last ask that was as recorded. */
      readonly last: Ask | undefined;
    }
  /** The code, on replay, does not ask what was recorded, and does not return. `waited` follows, unless it makes an ask in time. */
  | { readonly type: "stalled" }
  /** The code has caught up with the journal, also with an empty one. */
  | { readonly type: "caught up" }
  /** Writes the last items and the end of the flow. */
  | {
      readonly type: "finish";
      readonly seq: number;
      readonly items: readonly Item[];
      readonly asks: readonly Ask[];
      readonly ending: Ending;
    }
  /** The end is durable: the process may go. */
  | { readonly type: "ended"; readonly ending: Ending }
  /** Nothing happens until mail, time or an outside event; false: something happens again. */
  | { readonly type: "quiet"; readonly quiet: boolean }
  /** Leaves memory: at the latest `due` it must be looked at again. */
  | { readonly type: "park"; readonly due: number | undefined; readonly why: "idle" | "pause" | "stop" };
