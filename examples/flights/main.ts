// `npm start`: 200,000 real flights through workers that are killed at random, every one counted exactly once.
//
//   app.ts       arguments in, last line and exit code out
//   options.ts   the command line           flights.ts   reading and checking the file
//   run.ts       the supervision tree, and every flight dispatched into it
//   workers.ts   consumers that may be killed at any moment
//   ledger.ts    the server that keeps what they found out
//   chaos.ts     the process that kills them
//   totals.ts    the straight loop, and the comparison
//   screen.ts    live progress
//
// The other examples use these, too:
//
//   command-line.ts   parser, help, errors in one line            data-file.ts   files of data
//   input-error.ts    what the person at the keyboard got wrong

import { main } from "./app.js";

// A reader that has seen enough (`npm start | head`) is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

process.exitCode = await main(process.argv.slice(2), process.stdout, process.stderr);
