// Attempts that the end of a process interrupted, in a store of one process. Who works on a message is not written there, so that the good
// case costs nothing: what a process that ended without a word may have had in work are the first messages of each queue, as many as its
// route keeps in memory. They are marked before any of them is tried again.
//
//   first mark       the attempt counts; the message is tried as any other
//   second mark      the message is suspect: from now on it is tried alone (see quarantine.ts), and each attempt is counted before it begins
//
// A message that has reached the limit of its attempts becomes a dead letter when an end of the process has found it alone. So one that ends
// its process does, and its neighbours, which were marked with it, do not.

import type { Claim, Store, Write } from "../../store/index.js";
import { executions, type MessageRow, messages } from "./tables.js";

/** What the history of a message says about such an attempt. */
export const INTERRUPTED = "interrupted by the end of its process";

/** With so many marks a message is suspect. */
const SUSPECT = 2;

/** A message as it is to be written once it was interrupted. */
export function interrupted({ scope, attempts, history, ends }: Interruptible): Partial<MessageRow> {
  const errors = history === null ? [] : (JSON.parse(history) as string[]);
  const marks = (ends ?? 0) + 1;
  return {
    attempts: (attempts ?? 0) + 1,
    history: JSON.stringify([...errors, INTERRUPTED]),
    ends: marks,
    ...(marks >= SUSPECT && { suspect: scope }),
  };
}

/** Whether a process has ended while the message was in work alone: then it was no other's doing. */
export function wasAlone({ ends }: Pick<MessageRow, "ends">): boolean {
  return (ends ?? 0) > SUSPECT;
}

type Interruptible = Pick<MessageRow, "scope" | "attempts" | "history" | "ends">;

/** What is marked. */
export interface Marking {
  readonly store: Store;
  readonly claim: Claim;
  /** The number of the execution. */
  readonly scope: number;
  /** How many messages of each queue may have been in work. */
  readonly queues: readonly { readonly name: string; readonly most: number }[];
  /** Most rows of one commit. */
  readonly rows: number;
}

/** Marks what the process before may have had in work, and notes that this one works on the execution. */
export async function markInterrupted({ store, claim, scope, queues, rows }: Marking): Promise<void> {
  const now = Math.floor(await store.clock());
  const writes: Write[] = [];
  for (const { name, most } of queues) {
    // As long as a queue has suspects, it gives nothing else; and their attempts are counted already.
    if ((await suspectsOf(store, scope, name)) > 0) continue;
    const first = await store.scan(messages, { prefix: [scope, name], below: now + 1, limit: most });
    for (const row of first) {
      const key = [scope, name, row.lane, row.id];
      writes.push({ type: "update", table: messages, key, set: interrupted(row) as never });
    }
  }
  // With the last of them: whoever is interrupted here marks some messages twice, and none too little.
  writes.push(workedOn(scope, claim.token));
  for (let at = 0; at < writes.length; at += rows)
    await store.commit({ claim, writes: writes.slice(at, at + rows) });
}

/** Notes who works on an execution. Null: nobody, and whoever did has ended cleanly. */
export function workedOn(scope: number, token: number | null): Write {
  return { type: "update", table: executions, key: [scope], set: { worker: token } };
}

/** How many messages of a queue are suspect. */
export function suspectsOf(store: Store, scope: number, queue: string): Promise<number> {
  return store.count(messages, { index: "suspects", prefix: [scope, queue] });
}
