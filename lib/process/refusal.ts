// Requests of a process that has ended are refused. Code that retries after each refusal, as after a transient failure, would never
// give the host a turn: so the refusals of one process come later and later.

import type { Process } from "./process.js";
import { exitedError } from "./request.js";

/** Refusals of one process that come at once: enough for any cleanup. */
const AT_ONCE = 100;

/** The longest that a refusal is put off, in milliseconds. */
const LONGEST_MS = 1_000;

const refusals = new WeakMap<Process, number>();

/** Rejects with the end of the process: at once, or, from the 101st time on, after a wait that grows up to a second. */
export function refused(process: Process): Promise<never> {
  const count = (refusals.get(process) ?? 0) + 1;
  refusals.set(process, count);
  const error = exitedError(process);
  if (count <= AT_ONCE) return Promise.reject(error);
  return new Promise((_, reject) => {
    process.kernel.addTimer(Math.min(count - AT_ONCE, LONGEST_MS), { fire: () => reject(error) });
  });
}
