// `npm run flights-stream`: sends 20,000 real flights, in order of date, through windows of time. The windows compute the
// delay of each hour at each airport and, every six hours, the busiest routes of a day. A plain loop checks the results.
//
//   app.ts       arguments in, last line and exit code out
//   options.ts   the command line           flights.ts   reading and checking the file
//   stream.ts    the topology: the spout, the windows, and the bolts behind them
//   ranking.ts   the most flown routes, in parts and put together
//   results.ts   the results of the windows
//   straight.ts  the plain loop, and the comparison
//   run.ts       one run, and its progress
//   report.ts    screen and report           charts.ts    bars and sparklines
//   storm.ts     the same topology for a cluster of Apache Storm

import { main } from "./app.js";

// A reader that closes the pipe early (`npm run flights-stream | head`) is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

process.exitCode = await main(process.argv.slice(2), process.stdout, process.stderr);
