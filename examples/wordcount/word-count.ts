// The topology: a spout of lines, and bolts that split them into words, count these, and keep the results.
//
//     lines ── shuffle ──▶ split ── by word ──▶ count ── global ──▶ results
//
// A line is reliable: whatever of it is lost with a killed task, all of it comes again. So every bolt has to be able to
// meet the same tuple twice, and what is to survive has to be outside of the tasks:
//
//   split    keeps nothing.
//   count    keeps its counts in `shared`, which outlives the tasks of the component. It marks a word and counts it in
//            one synchronous step: a kill strikes before both or after both, never in between. And it passes the count
//            on whether the word was new or not: the one before may have been lost on its way to the results.
//   results  writes counts in batches, as one would to a database. A line is done only when the counts of its words are
//            written; a kill while a batch is gathered or written brings all of its lines again. It writes the largest
//            count of each word: counts only grow, so an old one does no harm that comes late, or from a task whose
//            write went on after it was killed.

import { setTimeout as sleep } from "node:timers/promises";
import { batchBolt, bolt, field, grouping, spoutFrom, type Topology, topology } from "signalbox/topology";
import type { OpenLines } from "./open-lines.js";
import { wordsOf } from "./text.js";

/** One line of the text, all files taken together. */
export interface Line {
  readonly line: number;
  readonly text: string;
}

export interface Parts {
  readonly lines: AsyncIterable<Line>;
  /** Words are counted once when there is this; else as often as they come. */
  readonly openLines: OpenLines | undefined;
  /** Is given the count of each word. */
  readonly results: Map<string, number>;
  readonly counters: number;
  /** Is told of each line that is done. */
  readonly onDone: (line: Line) => void;
}

/** What a bulk write takes, in milliseconds, with a database that there is not. */
const WRITE_MS = 2;

export function wordCount({ lines, openLines, results, counters, onDone }: Parts): Topology {
  const source = spoutFrom(lines, {
    stream: "lines",
    fields: { line: field.number, text: field.text },
    ack: onDone,
  });

  const split = bolt({
    input: { line: field.number, text: field.text },
    streams: { words: { line: field.number, at: field.number, word: field.text } },
    execute: ({ values: { line, text } }, { emit }) => {
      for (const [at, word] of wordsOf(text).entries()) emit.words({ line, at, word });
    },
  });

  const count = bolt({
    input: { line: field.number, at: field.number, word: field.text },
    streams: { counts: { word: field.text, count: field.number } },
    execute: ({ values: { line, at, word } }, { emit, shared }) => {
      const before = (shared.get(word) as number | undefined) ?? 0;
      const isNew = openLines === undefined || openLines.first(line, at);
      const now = isNew ? before + 1 : before;
      shared.set(word, now);
      emit.counts({ word, count: now });
    },
  });

  const write = batchBolt({
    input: { word: field.text, count: field.number },
    size: 200,
    everyMs: 20,
    execute: async (batch) => {
      await sleep(WRITE_MS);
      for (const { values } of batch)
        results.set(values.word, Math.max(results.get(values.word) ?? 0, values.count));
    },
  });

  // A service whose tasks crash hundreds of times is broken, and its supervisors should give up. Not this one: its
  // tasks are healthy, and killed on purpose. A short period, because a supervisor remembers restarts that long.
  const killedOnPurpose = { intensity: Number.POSITIVE_INFINITY, periodMs: 100 };
  // The supervisor of the system task allows one restart in five seconds, whatever the configuration says. The kill
  // after that takes the topology down, and it starts again as a whole.
  const wholeAgain = { restarts: Number.POSITIVE_INFINITY, restartsBackoff: { minMs: 1, maxMs: 10 } };
  const tryAgain = { retries: Number.POSITIVE_INFINITY, retryBackoff: { minMs: 1, maxMs: 50 } };

  return topology("word-count", { ...killedOnPurpose, ...wholeAgain, ...tryAgain })
    .spout("lines", source)
    .bolt("split", split, { tasks: 2, from: { "lines.lines": grouping.shuffle() } })
    .bolt("count", count, { tasks: counters, from: { "split.words": grouping.fields("word") } })
    .bolt("results", write, { from: { "count.counts": grouping.global() } })
    .build();
}
