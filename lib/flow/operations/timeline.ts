// The journal of a flow as a timeline: each thing that its code asked for, when, how often it was tried, and when it was over. Pure.
//
// The journal says when an outcome was recorded, and which asks the code made since the entry before. So an ask began no earlier than that
// entry: the code runs on from there at once, unless the flow was paused or its host was gone.

import type { Entry } from "../journal/entry.js";

/** A failed attempt of a step. */
export interface TimelineAttempt {
  /** 1 for the first. */
  readonly attempt: number;
  /** When it had failed, in milliseconds since 1970. */
  readonly at: number;
  /** When the next one begins. Absent: it was the last one. */
  readonly dueAt?: number;
  /** The error in one line, at most 500 characters. */
  readonly error?: string;
}

/** Something that the code of a flow asked for: a step, a wait, a retry, a sleep, a child. */
export interface TimelineItem {
  /** `step`, `sleep`, `receive`, `call`, `start`, … */
  readonly kind: string;
  /** The name, with `#2` and so on when it was used before. */
  readonly key: string;
  /**
   * `running`: its code runs. `waiting`: for its time, a message or an end. `retrying`: its last attempt has failed, and the next one comes.
   * `cancelled`: the flow was, before it had an outcome.
   */
  readonly status: "running" | "waiting" | "retrying" | "done" | "failed" | "cancelled";
  /** When the code asked for it, in milliseconds since 1970: no earlier. Absent: before the part of the journal that was read. */
  readonly at?: number;
  /** When it had its outcome. */
  readonly endedAt?: number;
  /** When it ends by itself, or is tried again. */
  readonly dueAt?: number;
  /** The attempts that failed, as far as they are in the part of the journal that was read. */
  readonly attempts: readonly TimelineAttempt[];
  /** The number of the entry of the journal with its outcome: `history` has the value. */
  readonly seq?: number;
  /** The id of the flow that it started. */
  readonly child?: string;
}

/** An entry of the journal, with the text of its error if it has one. */
export interface ReadEntry {
  readonly seq: number;
  /** An Error: it cannot be read. */
  readonly entry: Entry | Error;
  readonly error?: string | undefined;
}

/** What the code of a flow waits for, as the host says that has it in memory. */
export interface HeldAsk {
  readonly kind: string;
  readonly key: string;
  /** A body of it runs. */
  readonly isRunning: boolean;
  /** When it ends by itself, or is tried again, in milliseconds since 1970. */
  readonly dueAt?: number | undefined;
}

type Draft = { -readonly [Field in keyof TimelineItem]: TimelineItem[Field] } & {
  attempts: TimelineAttempt[];
};

/**
 * The items of a timeline, in the order in which the code asked for them.
 *
 * @param since - when the entry before was recorded; of a flow whose first entry is read, when it began
 * @param held - what the code waits for, if a host holds the flow and says so: asks of which nothing is recorded yet
 */
export function timelineOf(
  entries: readonly ReadEntry[],
  since: number | undefined,
  held: readonly HeldAsk[] = [],
): TimelineItem[] {
  const items = new Map<string, Draft>();
  let before = since;
  for (const { seq, entry, error } of entries) {
    if (entry instanceof Error) {
      // Nothing is known of it, not even its time.
      before = undefined;
      continue;
    }
    for (const { kind, key, answer } of entry.asks)
      if (answer === undefined) items.set(key, draft(kind, key, before));
    record(items, seq, entry, error);
    before = entry.at;
  }
  for (const { kind, key, isRunning, dueAt } of held) {
    const item = items.get(key) ?? draft(kind, key, before);
    // It has its outcome in the journal, and the code has not seen that.
    if (item.endedAt !== undefined) continue;
    items.set(key, item);
    item.kind = kind;
    if (dueAt !== undefined) item.dueAt = dueAt;
    if (isRunning) {
      item.status = "running";
      delete item.dueAt;
    }
  }
  return [...items.values()];
}

function draft(kind: string, key: string, at: number | undefined): Draft {
  return { kind, key, status: "waiting", ...(at !== undefined && { at }), attempts: [] };
}

function record(
  items: Map<string, Draft>,
  seq: number,
  { at, decision }: Entry,
  error: string | undefined,
): void {
  if (decision.type === "cancelled") {
    for (const item of items.values()) {
      if (item.endedAt !== undefined) continue;
      item.status = "cancelled";
      item.endedAt = at;
      delete item.dueAt;
    }
    return;
  }
  const { key } = decision;
  // It was asked for in a part of the journal that was not read.
  const item = items.get(key) ?? draft("", key, undefined);
  items.set(key, item);
  const said = error === undefined ? {} : { error };
  switch (decision.type) {
    case "begun":
      item.status = "waiting";
      if (decision.due !== undefined) item.dueAt = decision.due;
      return;
    case "failed":
      item.status = "retrying";
      item.dueAt = decision.due;
      item.attempts.push({ attempt: decision.attempt, at, dueAt: decision.due, ...said });
      return;
    case "done":
      item.status = decision.ok ? "done" : "failed";
      item.endedAt = at;
      item.seq = seq;
      delete item.dueAt;
      if (!decision.ok)
        item.attempts.push({ attempt: (item.attempts.at(-1)?.attempt ?? 0) + 1, at, ...said });
      return;
    default:
      decision satisfies never;
  }
}
