// Ends a step that does not end by itself: code that awaits in a loop, without a promise that the simulator could hold. Nothing else
// of the host runs meanwhile. Only V8's inspector, from another thread, can stop the code.

import { writeSync } from "node:fs";
import { isMainThread, Worker } from "node:worker_threads";

const TERMINATE = `
  const { Session } = require("node:inspector");
  const session = new Session();
  session.connectToMainThread();
  session.post("Runtime.terminateExecution", () => process.exit());
`;

/** Stops the running code, and drops the microtasks that are queued. @param why - printed where only the thread can be ended */
export function terminate(why: string): void {
  if (isMainThread) new Worker(TERMINATE, { eval: true }).unref();
  else endThread(why);
}

/** Ends the thread, since nothing else can stop its code. */
export function endThread(why: string): never {
  writeSync(2, `${why}\n`);
  process.exit(1);
}
