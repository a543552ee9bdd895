// The counts of one task of `count`. They have to outlive the task, and with them the words that were counted already: a
// line that comes again must not be counted again.

import type { OpenLines } from "./open-lines.js";

export interface Ledger {
  /**
   * Counts the word at this place of a line, from 0, unless it was counted before.
   *
   * @returns how often the word was counted so far
   */
  count(line: number, at: number, word: string): number;
}

/** Where a task of `count` finds what outlives it. */
export interface CountTask {
  /** From 0, the same at each start of the task. */
  readonly index: number;
  /** Outlives all tasks of the component, but not their program. */
  readonly shared: Map<unknown, unknown>;
}

/** Counts in `shared`, for tasks that are processes of one program. Without `openLines`, a word counts each time it comes. */
export function sharedLedger({ shared }: CountTask, openLines: OpenLines | undefined): Ledger {
  return {
    count: (line, at, word) => {
      const before = (shared.get(word) as number | undefined) ?? 0;
      const isNew = openLines === undefined || openLines.first(line, at);
      const now = isNew ? before + 1 : before;
      shared.set(word, now);
      return now;
    },
  };
}
