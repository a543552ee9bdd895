// Sleep sets: Godefroid, "Partial-Order Methods for the Verification of Concurrent Systems", 1996. A task that was explored from a
// state need not run again behind its alternatives, until a step that it depends on.

import { type Deed, dependent } from "./dependence.js";

/** The tasks that would do the same as when they were explored, each with what it did. */
export type Sleep<Task> = ReadonlyMap<Task, Deed>;

/** The tasks that still sleep after a step. */
export function sleepAfter<Task>(sleep: Sleep<Task>, deed: Deed): Sleep<Task> {
  if (sleep.size === 0) return sleep;
  return new Map([...sleep].filter(([, explored]) => !dependent(explored, deed)));
}

export function withExplored<Task>(sleep: Sleep<Task>, task: Task, deed: Deed): Sleep<Task> {
  return new Map(sleep).set(task, deed);
}
