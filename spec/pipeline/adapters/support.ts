import { afterEach } from "vitest";
import type { Adapter, BatchAdapter, BatchContext } from "../../../lib/pipeline/definition/adapter.js";
import { AdapterMemory } from "../../../lib/pipeline/runtime/adapter-memory.js";
import { RouteAttempt, segmentOf, toTheEnd } from "../../../lib/pipeline/runtime/attempt.js";
import type { System } from "../../../lib/system.js";

/** A route of one adapter, in one execution, over a ledger in memory. */
export class Bench {
  readonly stored: Map<string, unknown> = new Map<string, unknown>();
  readonly abort: AbortController = new AbortController();
  readonly memory: AdapterMemory = new AdapterMemory({
    recall: async (adapter, key) => this.stored.get(`${adapter}/${key}`),
    forget: () => undefined,
  });
  readonly system: System;
  /** Counts the messages. */
  #n = 0;

  constructor(system: System) {
    this.system = system;
  }

  /** One attempt at a message. */
  attempt<I, O>(
    adapter: Adapter<I, O>,
    value: I,
    { id = `10.1${this.#n++}`, key }: { id?: string; key?: string | undefined } = {},
  ): { readonly attempt: RouteAttempt; readonly result: Promise<O[]> } {
    const { kernel } = this.system;
    const place = {
      pipeline: "p",
      execution: "e",
      route: "r",
      clock: undefined,
      kernel,
      memory: this.memory,
    };
    const message = { id, queue: "in", value, key, attempts: 0, errors: [] };
    const attempt = new RouteAttempt(place, message, this.abort);
    const segment = segmentOf([{ adapter: adapter as Adapter, when: undefined }]);
    const result = (async () =>
      (await toTheEnd(attempt, attempt.begin(segment))).map((item) => item.value as O))();
    // Whoever looks at the result later is no reason for a warning now.
    result.catch(() => undefined);
    return { attempt, result };
  }

  /** Takes a message through, and commits it. */
  async pass<I, O>(
    adapter: Adapter<I, O>,
    value: I,
    more?: { id?: string; key?: string | undefined },
  ): Promise<O[]> {
    const { attempt, result } = this.attempt(adapter, value, more);
    try {
      const values = await result;
      this.commit(attempt);
      return values;
    } finally {
      attempt.release();
    }
  }

  commit({ remembered }: RouteAttempt): void {
    for (const { adapter, key, value } of remembered ?? []) this.stored.set(`${adapter}/${key}`, value);
  }

  async batch<I, O>(adapter: BatchAdapter<I, O>, values: readonly I[]): Promise<readonly O[] | undefined> {
    const ctx = {
      ids: values.map((_, i) => `10.1${i}`),
      signal: this.abort.signal,
      kernel: this.system.kernel,
    };
    return adapter.processBatch(values, ctx as unknown as BatchContext);
  }
}

/** Stops what a test has started, the last first. */
export function cleanup(): { add(stop: () => unknown): void } {
  let stops: (() => unknown)[] = [];
  afterEach(async () => {
    const all = stops.reverse();
    stops = [];
    for (const stop of all) await stop();
  });
  return { add: (stop) => void stops.push(stop) };
}
