// `npm run observe`: the flights, the shop, the checkout and the bird strikes of the other examples, under chaos in one program, with the observer
// open. The first line is the address of its page. Ctrl-C ends it: what is under way is finished, and all sums have to be exact.
//
//   app.ts          the tree, the rounds, and the end        part.ts          what each part has to say
//   options.ts      the command line                         hosts-chaos.ts   kills the hosts of flows and pipelines
//   flights-part.ts, shop-part.ts, checkout-part.ts, birdstrikes-part.ts: one example each, in rounds

import { main } from "./app.js";

// A reader that has seen enough (`npm run observe | head`) is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.on(signal, () => {
    // The second one does not wait.
    if (interrupted.signal.aborted) process.exit(130);
    interrupted.abort();
  });
process.exitCode = await main(process.argv.slice(2), process.stdout, process.stderr, interrupted.signal);
