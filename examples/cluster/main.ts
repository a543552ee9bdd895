// `npm run cluster`: the flights of `npm start`, over three processes that are killed at random (kill -9). Every flight is counted once.
//
//   node.ts           a node: it joins the cluster, and works on flights
//   crew.ts           the consumer group that spans the nodes
//   tower.ts          dispatches every flight, and keeps the ledger
//   node-process.ts   a node as a child of a supervisor: started again when its process ends
//   nodes-up.ts       the nodes that are there, and a line for each that comes or goes
//   kills.ts          when a node is killed
//   nats-server.ts    finds nats-server on this machine, and runs it      guard.ts   ends it, whatever ends this program
//   app.ts            arguments in, last line and exit code out           options.ts the command line
//
// The flights, the ledger and the comparison are those of examples/flights.

import { main } from "./app.js";

// A reader that has seen enough (`npm run cluster | head`) is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());

process.exitCode = await main(process.argv.slice(2), process.stdout, process.stderr, stop.signal);
