import { afterEach } from "vitest";
import type { Adapter, BatchAdapter, BatchContext } from "../../../lib/pipeline/definition/adapter.js";
import { Passage, segmentOf, toTheEnd } from "../../../lib/pipeline/runtime/passage.js";
import { Recollections } from "../../../lib/pipeline/runtime/recollections.js";
import type { System } from "../../../lib/system.js";

/** A route of one adapter, in one execution, over a ledger in memory. */
export class Bench {
  readonly stored: Map<string, unknown> = new Map<string, unknown>();
  readonly abort: AbortController = new AbortController();
  readonly memory: Recollections = new Recollections(async (adapter, key) =>
    this.stored.get(`${adapter}/${key}`),
  );
  readonly system: System;
  /** Counts the messages. */
  #n = 0;

  constructor(system: System) {
    this.system = system;
  }

  /** One attempt at a message. */
  passage<I, O>(
    adapter: Adapter<I, O>,
    value: I,
    { id = `10.1${this.#n++}`, key }: { id?: string; key?: string | undefined } = {},
  ): { readonly passage: Passage; readonly result: Promise<O[]> } {
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
    const passage = new Passage(place, message, this.abort);
    const segment = segmentOf([{ adapter: adapter as Adapter, when: undefined }]);
    const result = (async () =>
      (await toTheEnd(passage, passage.begin(segment))).map((item) => item.value as O))();
    // Whoever looks at the result later is no reason for a warning now.
    result.catch(() => undefined);
    return { passage, result };
  }

  /** Takes a message through, and commits it. */
  async pass<I, O>(
    adapter: Adapter<I, O>,
    value: I,
    more?: { id?: string; key?: string | undefined },
  ): Promise<O[]> {
    const { passage, result } = this.passage(adapter, value, more);
    try {
      const values = await result;
      this.commit(passage);
      return values;
    } finally {
      passage.release();
    }
  }

  commit({ remembered }: Passage): void {
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
