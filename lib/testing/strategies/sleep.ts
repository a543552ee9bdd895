// Sleep sets: Godefroid, "Partial-Order Methods for the Verification of Concurrent Systems", 1996. What was explored from a state
// need not run again behind its alternatives, until a step that it depends on.

import { type Deed, dependent } from "./dependence.js";

/** A decision within a step. */
export interface Draw {
  readonly n: number;
  readonly label: string;
  readonly value: number;
}

/** One outcome of a task that was explored. */
export interface Explored {
  readonly draws: readonly Draw[];
  readonly deed: Deed;
}

/** The outcomes that would be the same as when they were explored, by task. */
export type Sleep<Task> = ReadonlyMap<Task, readonly Explored[]>;

/** The outcomes that still sleep after a step. */
export function sleepAfter<Task>(sleep: Sleep<Task>, deed: Deed): Sleep<Task> {
  if (sleep.size === 0) return sleep;
  const left = new Map<Task, readonly Explored[]>();
  for (const [task, outcomes] of sleep) {
    const asleep = outcomes.filter((one) => !dependent(one.deed, deed));
    if (asleep.length > 0) left.set(task, asleep);
  }
  return left;
}

export function withExplored<Task>(sleep: Sleep<Task>, task: Task, outcome: Explored): Sleep<Task> {
  return new Map(sleep).set(task, [...(sleep.get(task) ?? []), outcome]);
}

export function sameDraws(a: readonly Draw[], b: readonly Draw[]): boolean {
  return a.length === b.length && a.every(({ value }, i) => value === b[i]?.value);
}

export function beginsWith(draws: readonly Draw[], beginning: readonly Draw[]): boolean {
  return beginning.every(({ value }, i) => value === draws[i]?.value);
}

/** Whether the outcome with exactly these values sleeps. */
export function isAsleep(outcomes: readonly Explored[] | undefined, values: readonly number[]): boolean {
  return (
    outcomes?.some(
      ({ draws }) => draws.length === values.length && draws.every(({ value }, i) => value === values[i]),
    ) === true
  );
}

/** Whether all outcomes of a task sleep that begin with these values. */
export function isAllAsleep(
  outcomes: readonly Explored[] | undefined,
  values: readonly number[] = [],
): boolean {
  if (outcomes === undefined) return false;
  const begun = outcomes.filter(({ draws }) => values.every((value, i) => draws[i]?.value === value));
  const next = begun[0]?.draws[values.length];
  if (next === undefined) return begun.length > 0;
  return Array.from({ length: next.n }, (_, value) => value).every((value) =>
    isAllAsleep(begun, [...values, value]),
  );
}
