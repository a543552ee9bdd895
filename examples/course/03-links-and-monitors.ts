// Page 03 of the course, links and monitors: a process that starts another one again when that crashes.

import { type ExitSignal, formatReason, type Pid, type Signal, System } from "signalbox";

const isExit = (signal: Signal): signal is ExitSignal => signal.type === "exit";

/**
 * Starts `work` as a process, and again after each crash.
 *
 * @param times - how often it is started again; after one crash more, the process crashes with the same error
 * @returns the process that watches
 */
export function keepRunning(system: System, work: () => unknown, times: number): Pid {
  return system.spawn(async (ctx) => {
    ctx.trapExit(true);
    for (let restarts = 0; ; restarts++) {
      const worker = ctx.spawnLink(work);
      const { from, reason } = await ctx.receiveSignal(isExit);
      // The signal is from another process: this process has to end. The link ends the worker, too.
      if (from !== worker) ctx.exit(reason);
      if (reason.type === "normal") return;
      if (restarts === times) ctx.exit(reason);
    }
  });
}

if (import.meta.filename === process.argv[1]) {
  await using system = new System({ name: "tea", report: false });
  let cups = 0;
  const brewer = keepRunning(
    system,
    () => {
      cups += 1;
      console.log(`brewing cup ${cups}`);
      if (cups < 3) throw new Error("dropped it");
    },
    5,
  );
  console.log(formatReason(await system.exited(brewer)));
}
