// Operations that note how they were called, and answer what they are told to.

import type { FlowOperations, HistoryEvent } from "../../../../lib/flow/operations/operations.js";

export interface Fake {
  readonly operations: FlowOperations;
  /** Each call: the name of the operation, and its arguments. */
  readonly calls: unknown[][];
}

/** @param answers - by operation: what it gives, or a function of its arguments */
export function fakeOperations(answers: { readonly [operation: string]: unknown } = {}): Fake {
  const calls: unknown[][] = [];
  const answer = async (name: string, args: unknown[]): Promise<unknown> => {
    calls.push([name, ...args]);
    const given = answers[name];
    return typeof given === "function" ? given(...args) : given;
  };
  const operations = new Proxy({} as FlowOperations, {
    get: (_target, name: string) => {
      // An await would take an object with this name for a promise.
      if (name === "then") return undefined;
      return name === "history" || name === "events"
        ? async function* (...args: unknown[]) {
            yield* (await answer(name, args)) as HistoryEvent[];
          }
        : (...args: unknown[]) => answer(name, args);
    },
  });
  return { operations, calls };
}

/** A history of so many events. */
export function events(count: number, value: unknown = null): HistoryEvent[] {
  return Array.from({ length: count }, (_, seq) => ({
    seq,
    at: seq,
    type: "done",
    key: `step#${seq}`,
    value,
    asks: [],
  }));
}
