// `npm run flights-stream`: 20,000 real flights, in the order of their dates, through windows of time: the delay of each
// hour at each airport, and the busiest routes of each day, every six hours. Checked against a straight loop.
//
//   app.ts       arguments in, last line and exit code out
//   options.ts   the command line           flights.ts   reading and checking the file
//   stream.ts    the topology: the spout, the windows, and what becomes of them
//   ranking.ts   the most flown routes, in parts and put together
//   results.ts   what the windows came to
//   straight.ts  the straight loop, and the comparison
//   run.ts       one run, and what is seen of it meanwhile
//   report.ts    what it shows               charts.ts    bars and sparklines

import { main } from "./app.js";

// A reader that has seen enough (`npm run flights-stream | head`) is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

process.exitCode = await main(process.argv.slice(2), process.stdout, process.stderr);
