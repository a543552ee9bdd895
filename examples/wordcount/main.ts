// `npm run wordcount`: a topology counts the words of real text while its tasks are killed at random. No word is lost, and
// none is counted twice.
//
//   app.ts          arguments in, last line and exit code out
//   options.ts      the command line              text.ts     files, lines, words
//   run.ts          one run: text into the topology, counts out
//   word-count.ts   the topology: lines, split, count, results
//   ledger.ts       the counts of a task, which outlive it
//   open-lines.ts   the words that were counted, for as long as they may come again
//   chaos.ts        the process that kills tasks
//   totals.ts       the plain count, and the comparison
//   screen.ts       live progress
//
// The same topology for a cluster of Apache Storm:
//
//   storm.ts        the topology with files      journal.ts   files that records are appended to

import { main } from "./app.js";

// A reader that closes the pipe early (`npm run wordcount | head`) is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

process.exitCode = await main(process.argv.slice(2), {
  out: process.stdout,
  err: process.stderr,
  input: () => process.stdin.setEncoding("utf8"),
});
