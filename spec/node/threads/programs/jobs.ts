// The jobs of the tests, and the module that each thread loads.

import { threadId } from "node:worker_threads";
import { type JobContext, job, type ThreadProgram, threadProgram } from "signalbox/nodes";

/** Places of the board: how often a job still ends its thread, and how many were aborted. */
export const CRASHES = 0;
export const ABORTED = 1;
export const BEGUN = 2;

let board: Int32Array | undefined;

const program: ThreadProgram = threadProgram({
  onStart: (_system, data) => {
    if (data instanceof Int32Array) board = data;
  },
  programs: {
    double: job((n: number) => ({ n: 2 * n, thread: threadId })),
    fails: job(() => {
      throw new RangeError("it does not compute");
    }),
    risky: job((n: number, how: string) => {
      if (board !== undefined && Atomics.sub(board, CRASHES, 1) > 0) {
        if (how === "loop") for (;;);
        process.exit(1);
      }
      return 2 * n;
    }),
    waits: job(
      ({ signal }: JobContext) =>
        new Promise<never>((_resolve, reject) => {
          if (board === undefined) return;
          const place = board;
          signal.addEventListener("abort", () => {
            Atomics.add(place, ABORTED, 1);
            reject(signal.reason);
          });
          Atomics.add(place, BEGUN, 1);
        }),
    ),
  },
});
export default program;
