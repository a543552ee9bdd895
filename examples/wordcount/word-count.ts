// The topology: a spout of lines, and bolts that split lines into words, count the words, and store the counts.
//
//     lines ── shuffle ──▶ split ── by word ──▶ count ── global ──▶ results
//
// A line is reliable: when a killed task loses any part of a line, the whole line comes again. So every bolt must accept
// the same tuple twice, and data that has to survive must be outside the tasks:
//
//   split    keeps nothing.
//   count    keeps its counts in a ledger, which outlives its task: in `shared`, or in files where each task is a program
//            of its own. It marks a word and counts it in one synchronous step, so a kill strikes before both or after
//            both, never in between. It emits the count even when the word was not new, because the count before may have
//            been lost on its way to the results.
//   results  writes counts in batches, as to a database. A line is done only when the counts of its words are written; a
//            kill while a batch is collected or written repeats all of its lines. It writes the largest count of each
//            word. Counts only grow, so an old count does no harm when it comes late, or from a killed task whose write
//            went on.
//
// run.ts runs it in one program, storm.ts has it for a cluster of Apache Storm.

import { setTimeout as sleep } from "node:timers/promises";
import {
  batchBolt,
  bolt,
  field,
  grouping,
  spoutFrom,
  type Topology,
  type TopologyConfig,
  topology,
} from "signalbox/topology";
import type { CountTask, Ledger } from "./ledger.js";
import { wordsOf } from "./text.js";

/** One line of the text. Lines are numbered over all files. */
export interface Line {
  readonly line: number;
  readonly text: string;
}

/** A word, and how often it was counted so far. */
export interface WordCount {
  readonly word: string;
  readonly count: number;
}

/** What differs where the topology runs. */
export interface Parts {
  /** The lines, or a function that opens them when the spout starts. */
  readonly lines: AsyncIterable<Line> | (() => AsyncIterable<Line>);
  /** Opens the counts of a task of `count`, at each of its starts. */
  readonly ledger: (task: CountTask) => Ledger;
  /** Writes counts. They may be older than counts that were written before. */
  readonly write: (counts: readonly WordCount[]) => unknown;
  readonly counters: number;
  /** Called for each finished line. */
  readonly onDone: (line: Line) => void;
  /** Further options of the topology. */
  readonly config?: TopologyConfig;
}

/** Milliseconds of a bulk write to an imaginary database. */
const WRITE_MS = 2;

export function wordCount({ lines, ledger, write, counters, onDone, config }: Parts): Topology {
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
    init: ledger,
    execute: ({ values: { line, at, word } }, { emit, state }) => {
      emit.counts({ word, count: state.count(line, at, word) });
    },
  });

  const results = batchBolt({
    input: { word: field.text, count: field.number },
    size: 200,
    everyMs: 20,
    execute: async (batch) => {
      await sleep(WRITE_MS);
      await write(batch.map(({ values }) => values));
    },
  });

  // Usually a service whose tasks crash hundreds of times is broken, and its supervisors should give up. The tasks here
  // are healthy, and killed on purpose. The period is short because a supervisor remembers restarts for that long.
  const killedOnPurpose = { intensity: Number.POSITIVE_INFINITY, periodMs: 100 };
  // The supervisor of the system task allows one restart in five seconds, whatever the configuration says. The kill
  // after that takes the topology down, and it starts again as a whole.
  const wholeAgain = { restarts: Number.POSITIVE_INFINITY, restartsBackoff: { minMs: 1, maxMs: 10 } };
  const tryAgain = { retries: Number.POSITIVE_INFINITY, retryBackoff: { minMs: 1, maxMs: 50 } };

  return topology("word-count", { ...killedOnPurpose, ...wholeAgain, ...tryAgain, ...config })
    .spout("lines", source)
    .bolt("split", split, { tasks: 2, from: { "lines.lines": grouping.shuffle() } })
    .bolt("count", count, { tasks: counters, from: { "split.words": grouping.fields("word") } })
    .bolt("results", results, { from: { "count.counts": grouping.global() } })
    .build();
}
