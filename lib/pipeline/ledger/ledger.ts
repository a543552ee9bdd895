// The requests of an execution's processes to its ledger, and the ledger's notifications to them. Steps become durable in the order of
// their submission, many in one commit; store-ledger.ts keeps them in a store, volatile-ledger.ts in memory alone. Both keep one rule:
//
//     pending = live messages + open sources; the execution is complete at 0
//
//   never early    children come from a live message alone, inputs from an open source alone: at 0 there is neither, so that no step applies
//   exactly once   a message leaves once, by the attempt that was handed out, and pending falls by one with it: one step alone makes it 0
//   never missed   the step that takes the last one away sees 0 itself, and ends the execution in the same commit
//   reopened       a dead letter that is put back is live again: an execution that had completed goes on, and completes once more. One that
//                  failed or was cancelled does not
//
// spec/pipeline/ledger/oracle.ts states the rule as a model, and every ledger is held against it.

import type { MessageId } from "../definition/message-id.js";
import type { LineageEntry } from "./lineage.js";

/** How an execution ended. */
export type Ended = "completed" | "failed" | "cancelled";

/** A message that is to be published. */
export interface Publication {
  readonly id: MessageId;
  readonly queue: string;
  readonly value: unknown;
  readonly key: string | undefined;
}

/** Passing errors of a store that a message met one after another. They use none of its attempts up. */
export interface Setback {
  /** How often in a row, 1 or more. */
  readonly times: number;
  /** The last of these errors. */
  readonly error: string;
}

/** A message that this host has taken. */
export interface Message extends Publication {
  /** How often it was tried before. Attempts that the end of a process interrupted do not count. */
  readonly attempts: number;
  /** The errors of the attempts before, the oldest first. */
  readonly errors: readonly string[];
  /** Undefined: its last attempt met no passing error of a store. */
  readonly setback?: Setback | undefined;
  /** An adapter has come so far, or a call of it: see `AdapterContext.heartbeat`. Absent: it is kept nowhere. @throws UnstorableValueError, PayloadTooLargeError */
  beat?(key: string, progress: unknown): void;
  /** The last heartbeat of an earlier attempt; undefined: none. */
  lastBeat?(key: string): unknown;
  /** Runs code of adapters in the name of the message, so that evidence can name it if the process ends. Absent: no evidence is kept. */
  run?<T>(fn: () => T): T;
}

/** Something that an adapter remembers from the commit of the step on. */
export interface Remembered {
  readonly adapter: string;
  readonly key: string;
  readonly value: unknown;
}

/** A step: it is applied as a whole, or refused as a whole. */
export type Step =
  | {
      readonly type: "source";
      readonly source: string;
      /** How many messages the source has given before. */
      readonly from: number;
      readonly messages: readonly Publication[];
      /** From where the source goes on. */
      readonly checkpoint: unknown;
    }
  | { readonly type: "close"; readonly source: string }
  | {
      readonly type: "settle";
      readonly message: Message;
      readonly children: readonly Publication[];
      readonly entry: LineageEntry | undefined;
      readonly remember: readonly Remembered[] | undefined;
    }
  | {
      readonly type: "emit";
      readonly messages: readonly Message[];
      readonly children: readonly Publication[];
      readonly entries: readonly LineageEntry[] | undefined;
      readonly remember: readonly Remembered[] | undefined;
    }
  /** Tries the message again after a time. Its queue gets it back as a message with one attempt more. */
  | {
      readonly type: "retry";
      readonly message: Message;
      readonly delayMs: number;
      /** Undefined: nothing failed, it was interrupted, and the attempt does not count. */
      readonly error: string | undefined;
      /** How it is known that the message has ended its process: that counts apart from the attempts. */
      readonly evidence?: string;
      /** A passing error of a store was in the way. Then `error` is undefined. */
      readonly setback?: Setback;
    }
  | {
      readonly type: "dead";
      readonly message: Message;
      readonly error: string;
      /** As in a retry. */
      readonly evidence?: string;
      readonly entry: LineageEntry | undefined;
    }
  /** The execution fails or is cancelled. */
  | { readonly type: "end"; readonly as: "failed" | "cancelled"; readonly error: unknown };

/** Where a source is. */
export interface SourcePlace {
  /** How many messages it has given. */
  readonly given: number;
  readonly checkpoint: unknown;
}

/** Notifications of the ledger to the processes of an execution. Never in the turn of a call of the ledger. */
export interface LedgerListener {
  /** These steps are durable, in this order. */
  committed(steps: readonly Step[]): void;
  /**
   * The step came too late, and nothing of it was written: forget the messages that were settled or retried before. The others of a
   * batch are held as before.
   */
  refused(step: Step): void;
  /** Messages that the route of this queue asked for. */
  arrived(queue: string, messages: readonly Message[]): void;
  /** A queue was above the mark that a route was waiting for, and is not any more. */
  drained(queue: string): void;
  /**
   * All that is pending is held in batches, and those of this host come first: they have to be processed, or the execution never completes.
   */
  onlyHeld(): void;
  /** From now on this host reads the source, and no other host does. */
  source(name: string, place: SourcePlace): void;
  /**
   * People have changed messages or sources of the execution.
   *
   * @param closed - the sources that are not open any more
   * @param isAnyGone - a message that has arrived here is not in its place any more: steps about it are refused
   */
  changed(closed: readonly string[], isAnyGone: boolean): void;
  /** The execution is paused or goes on, as was asked for on another host. */
  paused(isPaused: boolean): void;
  /** The execution has ended. Nothing follows. */
  ended(as: Ended): void;
  /** The ledger cannot go on: its claim is lost, or its store is. Nothing follows. */
  lost(error: Error): void;
}

/** How far an execution is. */
export interface LedgerCounts {
  /** Live messages and open sources. */
  readonly pending: number;
  /** Messages that were settled, dead letters included. */
  readonly done: number;
  /** Messages that became dead letters. */
  readonly dead: number;
  /** Messages that sources have given, and those that were there at the start. */
  readonly inputs: number;
}

/** What a ledger needs of its surroundings. */
export interface LedgerContext {
  /** Monotonic milliseconds. */
  now(): number;
  /** Calls `fn` after at least this many milliseconds; returns the call that cancels it. */
  after(ms: number, fn: () => void): () => void;
  /** Calls `fn` when the code at hand has run. Default: in a microtask. */
  later?(fn: () => void): void;
}

const inMicrotask = (fn: () => void): void => {
  void Promise.resolve().then(fn);
};

/** How a ledger defers its notifications. */
export function laterOf(context: LedgerContext): (fn: () => void) => void {
  return context.later === undefined ? inMicrotask : (fn) => context.later?.(fn);
}

/** The ledger of one execution on one host. */
export interface Ledger {
  /** Asks for so many further messages of a queue: as many will arrive, as they become ready. */
  want(queue: string, count: number): void;
  /**
   * Submits a step about messages that this ledger has handed out, or one before it that is closed or lost: those come too late. The
   * listener is notified of its outcome. Values are encoded at once: they may change afterwards.
   *
   * @throws UnstorableValueError, PayloadTooLargeError, OptionError about a key. Then nothing was submitted, and the messages of the
   * step are still taken
   */
  submit(step: Step): void;
  /** How many live messages a queue holds, those in work included, over all hosts as far as this host knows. */
  depth(queue: string): number;
  /** Waits until the queue holds fewer messages than this, then calls `drained`. */
  awaitBelow(queue: string, mark: number): void;
  /**
   * How many messages this host holds in batches, for {@link LedgerListener.onlyHeld}.
   *
   * @param rank - the place of the first route that holds some, upstream first
   */
  held(count: number, rank: number): void;
  /** How far the execution is, over all hosts as far as this host knows. */
  counts(): LedgerCounts;
  /** What an adapter remembers. Waits for the steps that were submitted before and remember something under this key. */
  recall(adapter: string, key: string): Promise<unknown>;
  /** The message in work that has recalled this does not need it any more: the step that settles it was submitted, or there is none. */
  forget(adapter: string, key: string): void;
  /** Runs the code of a batch of several messages of a queue: it is unknown which of them ends a process. */
  runBatch?<T>(queue: string, fn: () => T): T;
  /** Whether batches of a queue have ended a process: then its messages go one by one for a while. @param messages - how many are asked about */
  isBatchAccused?(queue: string, messages: number): boolean;
  /** Gives back messages that were not settled, and waits for steps that were submitted. */
  close(): Promise<void>;
}
