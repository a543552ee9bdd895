// `npm run birdstrikes`: 10,000 real bird strikes through a pipeline whose process is killed three times, with damaged lines among them.
// Every record is in the report or a dead letter, and the totals are those of a straight computation.
//
//   app.ts       arguments in, last line and exit code out     options.ts   the command line
//   pipeline.ts  parse, validate, enrich, statistics, report   strike.ts    what a record is, and what is wrong with one
//   service.ts   the process that is killed                    airports.ts  which airport a name means
//   run.ts       starts and kills it                           damage.ts    the input, with damaged lines
//   report.ts    what the pipeline has left behind             straight.ts  the straight computation, and the comparison
//   screen.ts    live progress

import { fileURLToPath } from "node:url";
import { main } from "./app.js";

// A reader that has seen enough (`npm run birdstrikes | head`) is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

const service = [...process.execArgv, fileURLToPath(new URL("./service.js", import.meta.url))];
process.exitCode = await main(process.argv.slice(2), process.stdout, process.stderr, service);
