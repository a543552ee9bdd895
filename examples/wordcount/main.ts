// `npm run wordcount`: the words of real text counted by a topology whose tasks are killed at random, and no word of it
// counted twice or not at all.
//
//   app.ts          arguments in, last line and exit code out
//   options.ts      the command line              text.ts     files, lines, words
//   run.ts          one run: text into the topology, counts out
//   word-count.ts   the topology: lines, split, count, results
//   open-lines.ts   which words have been counted, as long as they may come again
//   chaos.ts        the process that kills tasks
//   totals.ts       the straight count, and the comparison
//   screen.ts       live progress

import { main } from "./app.js";

// A reader that has seen enough (`npm run wordcount | head`) is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

process.exitCode = await main(process.argv.slice(2), {
  out: process.stdout,
  err: process.stderr,
  input: () => process.stdin.setEncoding("utf8"),
});
