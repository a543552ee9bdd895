// Pools of real threads for tests.

import { System } from "signalbox";
import { type PoolOptions, type PoolRef, pool } from "signalbox/service";
import { afterEach, beforeEach } from "vitest";

/** A worker file, as its code. */
export function file(code: string): string {
  return `data:text/javascript,${encodeURIComponent(code)}`;
}

export interface Tools {
  add(a: number, b?: number): number;
  loop(): never;
  exit(code: number): never;
  wait(): Promise<string>;
  thread(): number;
}

export const TOOLS: string = file(`
  import { threadId } from "node:worker_threads";
  export const add = (a, b = 1) => a + b;
  export const loop = () => { for (;;); };
  export const exit = (code) => process.exit(code);
  export const thread = () => threadId;
  export async function wait() {
    this.progress("begun");
    await new Promise((resolve) => this.signal.addEventListener("abort", resolve));
    return "aborted";
  }
`);

export interface Bench {
  readonly system: System;
  start<M extends object = Tools>(code: string, options?: PoolOptions): Promise<PoolRef<M>>;
  /** Exit reasons of workers, in their order. */
  readonly exits: string[];
}

/** A system for each test of a file. */
export function bench(): Bench {
  let system: System;
  let exits: string[];
  beforeEach(() => {
    system = new System({ report: false });
    exits = [];
    system.events.on("exit", ({ pid, reason }) => {
      if (pid.label === "worker") exits.push(reason.type);
    });
  });
  afterEach(() => system.stop());
  return {
    get system() {
      return system;
    },
    get exits() {
      return exits;
    },
    start: <M extends object>(code: string, options: PoolOptions = {}) =>
      system.start(pool<M>(code, { size: 1, ...options })),
  };
}

/** The error that a promise rejects with. */
export async function errorOf(promise: Promise<unknown>): Promise<Error & Record<string, unknown>> {
  try {
    await promise;
  } catch (error) {
    return error as Error & Record<string, unknown>;
  }
  throw new Error("no error");
}

/** Resolves when the job has begun: its function reports its progress. */
export function begun(): { readonly promise: Promise<void>; readonly onProgress: () => void } {
  let onProgress = (): void => undefined;
  const promise = new Promise<void>((resolve) => {
    onProgress = resolve;
  });
  return { promise, onProgress };
}
