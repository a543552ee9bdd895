// The records of dead letters: what became of each, who did it, when and why, and the value that it had. One row for each time that a
// message was given up and left the dead ones.

import type { Fate } from "./dead-machine.js";
import type { Deed } from "./dead-options.js";

/** The columns that the records of pipelines and of queues have in common, besides those of the letter itself. */
export const RECORD_COLUMNS = {
  /** Which time the message was given up, from 1. */
  turn: "integer",
  fate: "text",
  /** Who did it. */
  actor: "text",
  reason: "text?",
  /** When, by the clock of the store. */
  done: "integer",
  /** How often it was copied once more, after its replay. Null: never. */
  copies: "integer?",
} as const;

/** The columns of a record besides those of the letter. */
export interface RecordFields {
  readonly turn: number;
  readonly fate: string;
  readonly actor: string;
  readonly reason: string | null;
  readonly done: number;
  readonly copies: number | null;
}

/** The record of a dead letter, for people. */
export interface DeadLetterRecord<out T = unknown> {
  /** The id of the message. */
  readonly id: string;
  /** The queue that it was in. */
  readonly queue: string;
  /** Which time the message was given up, from 1. */
  readonly turn: number;
  /** Its fate: `retried` and `edited` put it back, `replayed` copied it, `dropped` gave it up for good. */
  readonly fate: Fate;
  /** Who did it. */
  readonly by: string;
  /** Why; absent if no reason was given. */
  readonly reason?: string;
  /** When, in milliseconds since 1970. */
  readonly at: number;
  /** When the message was given up, in milliseconds since 1970. */
  readonly diedAt: number;
  /** The value that it had. Of an edited one: before the edit. */
  readonly value: T;
  /** Its key. */
  readonly key?: string;
  /** The errors of its attempts, the oldest first. */
  readonly errors: readonly string[];
  /** How often it was copied once more after its replay, if it was. */
  readonly copies?: number;
}

/** The columns of a new record. */
export function recordFields(turn: number, fate: Fate, { by, reason }: Deed, done: number): RecordFields {
  return { turn, fate, actor: by, reason, done, copies: null };
}

interface RecordRow extends RecordFields {
  readonly queue: string;
  readonly id: string;
  readonly tag: string | null;
  readonly at: number;
}

/** A record as people see it. */
export function shownRecord<T>(row: RecordRow, value: T, errors: readonly string[]): DeadLetterRecord<T> {
  const { id, queue, turn, fate, actor: by, reason, done: at, at: diedAt, tag, copies } = row;
  return {
    id,
    queue,
    turn,
    fate: fate as Fate,
    by,
    ...(reason !== null && { reason }),
    at,
    diedAt,
    value,
    ...(tag !== null && { key: tag }),
    errors,
    ...(copies !== null && copies > 0 && { copies }),
  };
}
