// The jobs of the tests, and the module that each thread loads.

import { threadId } from "node:worker_threads";
import type { Job } from "signalbox";
import { type JobContext, job, type ThreadProgram, threadProgram } from "signalbox/nodes";

/** Places of the board: how often a job still ends its thread, and how many were aborted. */
export const CRASHES = 0;
export const ABORTED = 1;
export const BEGUN = 2;

/** How often the job of the patient has begun. */
export const PATIENT = 3;

let board: Int32Array | undefined;

export const double: Job<[n: number], { n: number; thread: number }> = job((n: number) => ({
  n: 2 * n,
  thread: threadId,
}));

/** Ends the thread, as often as the board says. */
function endThread(how: string): void {
  if (board === undefined || Atomics.sub(board, CRASHES, 1) <= 0) return;
  if (how === "loop") for (;;);
  process.exit(1);
}

export const risky: Job<[n: number, how: string], number> = job(async (n: number, how: string) => {
  // After an `await` its code is a continuation.
  if (how.startsWith("later")) await new Promise((resolve) => setTimeout(resolve, 1));
  endThread(how.replace("later ", ""));
  return 2 * n;
});

/** The same for one value, as a pipeline has it. Odd numbers end there. */
export const order: Job<[order: { readonly n: number; readonly how: string }], number | undefined> = job(
  ({ n, how }: { readonly n: number; readonly how: string }) => {
    endThread(how);
    return n % 2 === 1 ? undefined : n / 2;
  },
);

/** Waits for the board, which says how often it has begun. */
export const patient: Job<[n: number], number> = job(async (n: number, { signal }: JobContext) => {
  if (board === undefined) throw new TypeError("there is no board");
  const begun = Atomics.add(board, PATIENT, 1) + 1;
  if (begun === 1) await new Promise((_resolve, reject) => signal.addEventListener("abort", reject));
  return 2 * n;
});

export const waits: Job<[], never> = job(
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
);

export const secret: Job<[value: unknown], () => number> = job((_value: unknown) => () => 42);

const program: ThreadProgram = threadProgram({
  onStart: (_system, data) => {
    if (data instanceof Int32Array) board = data;
  },
  programs: {
    double,
    fails: job(() => {
      throw new RangeError("it does not compute");
    }),
    risky,
    waits,
    patient,
    order,
    secret,
  },
});
export default program;
