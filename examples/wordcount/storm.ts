// The word count for a cluster of Apache Storm:
//
//   npx signalbox storm export examples/wordcount/storm.ts -o wordcount.jar --env WORDCOUNT_FOLDER=/var/wordcount
//   npx signalbox storm submit wordcount.jar --storm-home /opt/storm
//
// There each task is a program of its own, which loses all of its memory when it is killed. So what has to survive is in
// files of the folder, which all programs have to see: several machines would need a shared disk, or a database.
//
//   text.txt           the text, given
//   done.log           the lines that are done: the spout begins with the others
//   count-INDEX.log    what each task of `count` has counted: the line and place of each word
//   results.log        the counts; the largest one of a word is the latest

import { createReadStream } from "node:fs";
import { join } from "node:path";
import type { Topology } from "signalbox/topology";
import { folderIn, Journal, Journals, readJournal } from "./journal.js";
import type { Ledger } from "./ledger.js";
import { splitLines } from "./text.js";
import { type Line, type WordCount, wordCount } from "./word-count.js";

type Counted = readonly [line: number, at: number, word: string];

/** Tuples of a killed worker come again when this time is over, or after twice the time. */
const MESSAGE_TIMEOUT_MS = 5_000;
const COUNTERS = 4;
const PENDING = 100;

/** The lines of the text that are not done. */
async function* linesLeft(folder: string): AsyncGenerator<Line, void, undefined> {
  const done = new Set(readJournal<number>(join(folder, "done.log")));
  let line = 0;
  for await (const text of splitLines(createReadStream(join(folder, "text.txt"), "utf8")))
    if (!done.has(++line)) yield { line, text };
}

/** Counts in a file. Each word of each line has its mark, for as long as the file is kept. */
export function fileLedger(path: string): Ledger {
  const counts = new Map<string, number>();
  const marks = new Set<string>();
  const journal = new Journal<Counted>(path, ([line, at, word]) => {
    // Two programs may have counted a word at the same time. The first record counts, for both of them.
    if (marks.has(`${line} ${at}`)) return;
    marks.add(`${line} ${at}`);
    counts.set(word, (counts.get(word) ?? 0) + 1);
  });
  return {
    count: (line, at, word) => {
      if (!marks.has(`${line} ${at}`)) journal.append([line, at, word]);
      return counts.get(word) ?? 0;
    },
  };
}

/** @param folderOf - called when a component starts; whoever only looks at the topology needs no folder */
export function stormWordCount(folderOf: () => string): Topology {
  const journals = new Journals(folderOf);
  return wordCount({
    lines: () => linesLeft(folderOf()),
    ledger: ({ index }) => fileLedger(join(folderOf(), `count-${index}.log`)),
    write: (counts) => journals.append("results.log", counts),
    counters: COUNTERS,
    onDone: ({ line }) => journals.append("done.log", line),
    config: { maxPending: PENDING, messageTimeoutMs: MESSAGE_TIMEOUT_MS },
  });
}

/** The results of a run: the lines that are done, and the counts. */
export function stormResults(folder: string): {
  readonly done: ReadonlySet<number>;
  readonly counts: ReadonlyMap<string, number>;
} {
  const counts = new Map<string, number>();
  for (const { word, count } of readJournal<readonly WordCount[]>(join(folder, "results.log")).flat())
    counts.set(word, Math.max(counts.get(word) ?? 0, count));
  return { done: new Set(readJournal<number>(join(folder, "done.log"))), counts };
}

const topology: Topology = stormWordCount(() => folderIn("WORDCOUNT_FOLDER"));
export default topology;
