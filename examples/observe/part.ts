// A part of the program: children of its root, work in rounds, and a verdict at the end.

import type { ChildSpec, System } from "signalbox";

/** What a part has come to. */
export interface Verdict {
  /** One line for people. */
  readonly line: string;
  /** What is wrong. Nothing: all sums are exact. */
  readonly faults: readonly string[];
}

export interface Part {
  readonly name: string;
  readonly children: readonly ChildSpec[];
  /** Does the work of one round. @param ending - aborted when the program is to end: what is under way is finished without a rest */
  round(ending: AbortSignal): Promise<void>;
  /** Compares, when the last round is done. */
  verdict(): Promise<Verdict>;
  /** Frees what is not in the tree. */
  close(): Promise<void>;
}

export interface PartOptions {
  readonly system: System;
  /** A folder for files. It is removed at the end. */
  readonly folder: string;
  readonly chaos: number;
  readonly size: number;
}

/** A supervisor whose children are killed on purpose does not give up. */
export const KILLED_ON_PURPOSE: { readonly intensity: number; readonly periodMs: number } = {
  intensity: Number.POSITIVE_INFINITY,
  periodMs: 100,
};

/** Waits, unless the program is to end. */
export function rest(ms: number, ending: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (ending.aborted) return resolve();
    const over = (): void => {
      clearTimeout(timer);
      ending.removeEventListener("abort", over);
      resolve();
    };
    const timer = setTimeout(over, ms);
    ending.addEventListener("abort", over);
  });
}

const TRIES = 200;
const PAUSE_MS = 25;

/** Asks a host that may have been killed in the middle. What is asked has to be the same when it is asked twice. */
export async function again<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      const { code = "" } = error as { readonly code?: string };
      if (tries === TRIES || !/OUTCOME_UNKNOWN|HOST_GONE|NO_PROCESS|CALLEE_EXITED|^ERR_CHILD$/.test(code))
        throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}
