// A small topology under the simulator: a source that records what it emitted, bolts that pass tuples on, and a check of the
// acks and fails that the spout got.

import type { ReplyTo, System } from "signalbox";
import type { Simulation } from "signalbox/testing";
import {
  type BoltMode,
  bolt,
  field,
  type Grouping,
  spout,
  type TopologyConfig,
  type TopologyRef,
  topology,
} from "signalbox/topology";
import { expect } from "vitest";

type Numbered = { readonly n: number };

export interface Plant {
  /** Tuples that the source has. */
  readonly tuples: number;
  readonly config?: TopologyConfig;
  /** Tasks of the bolt in the middle and of the last one. */
  readonly relays?: number;
  readonly sinks?: number;
  readonly toRelay?: Grouping<Numbered>;
  readonly toSink?: Grouping<Numbered>;
  readonly mode?: BoltMode;
  /** Whether the bolt in the middle awaits something after its emit. */
  readonly waits?: boolean;
  /** Whether the source emits failed tuples again: then the retries of the topology are off. */
  readonly source?: "replays" | "forgets";
}

const SETTINGS: TopologyConfig = {
  ackers: 1,
  ackerExecutors: 1,
  intensity: 100,
  sampleRate: 0,
  messageTimeoutMs: 1e9,
};

/** What was seen. */
export class Records {
  /** How often the last bolt was given each number. */
  readonly seen: Map<number, number> = new Map();
  /** Tasks of the last bolt that were given each number. */
  readonly by: Map<number, Set<number>> = new Map();
  readonly told: { readonly n: number; readonly what: "acked" | "failed" }[] = [];
  /** Sinks that had each number when it was acked. */
  readonly atAck: Map<number, number> = new Map();

  times(n: number, what: "acked" | "failed"): number {
    return this.told.filter((one) => one.n === n && one.what === what).length;
  }
}

export interface Planted {
  readonly running: TopologyRef;
  readonly records: Records;
}

/** Starts it; `records` fills as it runs. */
export async function plantOn(
  system: System,
  { tuples, config, relays = 1, sinks = 1, toRelay, toSink, mode, waits = false, source = "forgets" }: Plant,
): Promise<Planted> {
  const records = new Records();
  // The source: what is in it was not given out, or has to be given out again.
  const store = new Set(Array.from({ length: tuples }, (_, n) => n));
  const numbers = spout({
    streams: { numbers: { n: field.number } },
    init: () => ({ left: source === "replays" ? [...store] : [] }),
    next: ({ emit, state, done }) => {
      const n = source === "replays" ? state.left.shift() : [...store][0];
      if (n === undefined) {
        if (source === "forgets" || store.size === 0) done();
        return;
      }
      if (source === "forgets") store.delete(n);
      emit.numbers({ n }, { id: n });
    },
    ack: (n: number) => {
      records.told.push({ n, what: "acked" });
      records.atAck.set(n, records.by.get(n)?.size ?? 0);
      store.delete(n);
    },
    fail: (n: number, { state, wake }) => {
      records.told.push({ n, what: "failed" });
      if (source !== "replays") return;
      state.left.push(n);
      wake();
    },
  });
  const clock = system.spawn<ReplyTo<undefined>>(
    { handle: (ctx, replyTo) => ctx.reply(replyTo, undefined) },
    { label: "clock" },
  );
  const relay = bolt({
    input: { n: field.number },
    streams: { numbers: { n: field.number } },
    ...(mode === undefined ? {} : { mode }),
    execute: (tuple, { emit, ack, process }) => {
      emit.numbers({ n: tuple.values.n });
      if (mode === "manual") ack(tuple);
      return waits ? process.call(clock, (replyTo: ReplyTo<undefined>) => replyTo) : undefined;
    },
  });
  const sink = bolt({
    input: { n: field.number },
    execute: ({ values: { n } }, { task }) => {
      records.seen.set(n, (records.seen.get(n) ?? 0) + 1);
      records.by.set(n, (records.by.get(n) ?? new Set()).add(task));
    },
  });
  // Nothing expires: whatever a crash breaks, links have to repair.
  const plant = topology("plant", { ...SETTINGS, ...config })
    .spout("source", numbers, source === "replays" ? { retries: 0 } : {})
    .bolt("relay", relay, {
      tasks: relays,
      executors: 1,
      from: { "source.numbers": toRelay === undefined ? {} : { grouping: toRelay } },
    })
    .bolt("sink", sink, {
      tasks: sinks,
      executors: 1,
      from: { "relay.numbers": toSink === undefined ? {} : { grouping: toSink } },
    })
    .build();
  return { running: await system.start(plant), records };
}

/** Every number was acked, was seen by the sinks before that, and its spout got one ack. */
export function judge(records: Records, tuples: number, everySink = 1): void {
  for (let n = 0; n < tuples; n++) {
    expect(records.seen.get(n) ?? 0, `${n} was seen`).toBeGreaterThanOrEqual(1);
    expect(records.times(n, "acked"), `${n} was acked once`).toBe(1);
    expect(records.atAck.get(n), `${n} had been everywhere when it was acked`).toBeGreaterThanOrEqual(
      everySink,
    );
  }
}

/** Waits until each number was acked, whatever happened before; then stops the topology, which leaves nothing behind. */
export async function seeThrough(
  sim: Simulation,
  running: TopologyRef,
  records: Records,
  tuples: number,
): Promise<void> {
  await sim.until("all are done", () => {
    const acked = new Set(records.told.filter(({ what }) => what === "acked").map(({ n }) => n));
    return acked.size === tuples;
  });
  sim.calm();
  const report = await running.stop();
  expect(report).toEqual({ drained: true, unfinished: 0 });
}
