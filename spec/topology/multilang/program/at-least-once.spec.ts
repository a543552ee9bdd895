// At-least-once of windows and batches under a model of Storm: whatever is lost, fails or is killed, each tuple of a reliable spout that
// is acked is in a result that was acked, or was late by the rule. A window that is handed over again has all that it had in its program.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { testClock } from "../../../../lib/testing/kit/clock.js";
import { batchBolt } from "../../../../lib/topology/components/batch.js";
import { sliding, tumbling, type WindowPlan } from "../../../../lib/topology/components/window-plan.js";
import { windowBolt } from "../../../../lib/topology/components/windows.js";
import { type BoltDefinition, spout } from "../../../../lib/topology/definition/component.js";
import { field } from "../../../../lib/topology/definition/field.js";
import { sized } from "../../../support/proof.js";
import { topologyOf } from "./storm.js";
import { Cluster, type ModelTuple } from "./storm-model.js";

const pidDir = mkdtempSync(join(tmpdir(), "signalbox-test-"));
afterAll(() => rmSync(pidDir, { recursive: true }));

const TIMEOUT_MS = 1_000;
/** How long a program knows what has come: see ReturningTuples. */
const KEEP_MS = 4 * TIMEOUT_MS;
const ITEMS = 60;
/** More that come long after the others of their windows. */
const LATE = 3;
const WINDOW = 100;
/** The tuple that ends all windows. */
const LAST = 0;

const fields = { n: field.number, at: field.number };
const streams = {
  results: { ns: field.of<readonly number[]>(), from: field.number },
  late: { n: field.number },
};
const run = (given: readonly { readonly values: { readonly n: number } }[]) =>
  given.map(({ values }) => values.n);
const by = (values: { readonly at: number }) => values.at;

/** What a bolt asks its history, and tells it. */
interface Trial {
  readonly fragile: () => boolean;
  /** A window was handed over again by the same program, which still remembers it. */
  readonly repeated: (had: readonly number[], has: readonly number[], added: number) => void;
}

/** In `shared`, by the start of a window. */
interface Had {
  readonly ns: readonly number[];
  readonly at: number;
}

function windows(
  window: WindowPlan<{ readonly at: number }>,
  { fragile, repeated }: Trial,
  late = true,
): BoltDefinition {
  return windowBolt({
    input: fields,
    streams,
    window,
    retries: 1,
    retryBackoff: { minMs: 20, maxMs: 40 },
    ...(late && { late: "late" as const }),
    execute: ({ tuples, added, start }, ctx) => {
      if (fragile()) throw new Error("a window that throws");
      const ns = run(tuples);
      ctx.emit.results({ ns, from: start });
      if (fragile()) throw new Error("a window that throws when it has emitted");
      const had = ctx.shared.get(start) as Had | undefined;
      if (had !== undefined && ctx.now() - had.at < KEEP_MS) repeated(had.ns, ns, added.length);
      ctx.shared.set(start, { ns, at: ctx.now() } satisfies Had);
    },
  }) as unknown as BoltDefinition;
}

const batches = ({ fragile }: Trial): BoltDefinition =>
  batchBolt({
    input: fields,
    streams,
    size: 5,
    everyMs: 200,
    execute: (batch, { emit }) => {
      if (fragile()) throw new Error("a batch that throws");
      emit.results({ ns: run(batch), from: 0 });
    },
  }) as unknown as BoltDefinition;

interface Told {
  failed: number;
  crashed: number;
  expired: number;
  late: number;
  again: number;
  /** Windows that were handed over again with more than what had come again. */
  whole: number;
}

const NOTHING: Told = { failed: 0, crashed: 0, expired: 0, late: 0, again: 0, whole: 0 };

interface Kind {
  /** Without, a sink that keeps the fullest result of each window has all that were not late. For windows that do not overlap. */
  readonly kills: boolean;
}

/** One random history. Returns what happened in it. */
async function history(seed: number, make: (trial: Trial) => BoltDefinition, { kills }: Kind): Promise<Told> {
  const told = { ...NOTHING };
  const clock = testClock({ seed: seed + 1, turns: 100_000 });
  let troubled = true;
  const acked = new Set<number>();
  const failed = new Set<number>();
  const items: { n: number; at: number }[] = [];
  const source = spout({
    streams: { items: fields },
    config: { retries: Number.POSITIVE_INFINITY, retryBackoff: { minMs: 50, maxMs: 400 } },
    next: ({ emit }) => {
      const item = items.shift();
      if (item !== undefined) emit.items(item, { id: item.n });
    },
    ack: (n) => {
      // At the ack it has to be in a result, or late.
      if (!done.has(n as number)) wrong.push(`tuple ${n} was acked, and is in no result`);
      if (n !== LAST) acked.add(n as number);
    },
    fail: (n) => void failed.add(n as number),
  });
  const done = new Set<number>();
  const wereLate = new Set<number>();
  /** As a sink stores them, by the start of the window. */
  const fullest = new Map<unknown, ReadonlySet<number>>();
  const wrong: string[] = [];
  const results: ModelTuple[] = [];
  /** When each tuple came to the program that runs now, unless it was late. */
  const came = new Map<number, number>();
  const inResults = new Map<number, number>();
  const trial: Trial = {
    fragile: () => troubled && cluster.random.below(5) === 0,
    repeated: (had, has, added) => {
      for (const n of had) if (!has.includes(n)) wrong.push(`a window is handed over again without ${n}`);
      if (added < has.length) told.whole++;
    },
  };
  const cluster: Cluster = new Cluster({
    clock,
    topology: topologyOf({ source, bolt: make(trial) }),
    pidDir,
    timeoutMs: TIMEOUT_MS,
    seed,
    emitted: (tuple) => {
      results.push(tuple);
      if (tuple.stream !== "late") {
        for (const n of nsOf(tuple)) {
          const times = (inResults.get(n) ?? 0) + 1;
          inResults.set(n, times);
          if (times > 1) told.again++;
        }
        return;
      }
      told.late++;
      const n = tuple.values[0] as number;
      wereLate.add(n);
      if (clock.now - cluster.startedAt < KEEP_MS) wrong.push(`tuple ${n} is late soon after a start`);
      if (clock.now - (came.get(n) ?? Number.NEGATIVE_INFINITY) < KEEP_MS)
        wrong.push(`tuple ${n} is late, and had come before`);
    },
  });
  const { random } = cluster;
  await clock.settle();

  const deliver = async (): Promise<void> => {
    const before = told.late;
    const tuple = await cluster.deliver();
    if (tuple !== undefined && told.late === before) came.set(tuple.values[0] as number, clock.now);
  };
  const sink = (what: number): void => {
    const result = results.splice(random.below(results.length), 1)[0];
    if (result === undefined) return;
    if (what === 0) {
      told.failed++;
      cluster.fail(result);
    } else if (what === 1) told.expired++;
    else {
      for (const n of nsOf(result)) done.add(n);
      if (result.stream !== "late") keep(result);
      cluster.ack(result);
    }
  };
  const keep = (result: ModelTuple): void => {
    const [, from] = result.values;
    const ns = new Set(nsOf(result));
    if (ns.size >= (fullest.get(from)?.size ?? 0)) fullest.set(from, ns);
  };
  const step = async (): Promise<void> => {
    const choice = random.below(100);
    if (choice < 30) await cluster.next();
    else if (choice < 60) await deliver();
    else if (choice < 85) sink(random.below(10));
    else if (choice < 99 || !kills) await cluster.pass(random.below(150));
    else {
      told.crashed++;
      came.clear();
      await cluster.crash();
    }
  };

  const late = Array.from({ length: LATE }, (_, i) => ({ n: ITEMS + 1 + i, at: 10_200 + 10 * i }));
  // Event time goes on with some disorder, and some are far behind.
  for (let n = 1; n <= ITEMS; n++) {
    const behind = random.below(8) === 0 ? 5 * WINDOW : random.below(WINDOW / 2);
    items.push({ n, at: 10_000 + n * 10 - behind });
  }
  const all = [...items];
  for (let i = 0; i < 400; i++) await step();
  // From now on all goes well. A last tuple ends all windows before it.
  troubled = false;
  items.push({ n: LAST, at: 1_000_000 });
  for (let i = 0; i < 500 && acked.size + failed.size < ITEMS + LATE; i++) {
    // By now the bolt's program knows what has come, so these are late.
    if (cluster.clock.now - cluster.startedAt > 2 * KEEP_MS && late.length > 0) items.push(...late.splice(0));
    await cluster.next();
    while (cluster.toBolt.length > 0) await deliver();
    while (results.length > 0) sink(2);
    await cluster.pass(50);
  }
  if (!kills)
    for (const { n, at } of all)
      if (!wereLate.has(n) && fullest.get(at - (at % WINDOW))?.has(n) !== true)
        wrong.push(`the fullest result is without ${n}`);
  const end = { seed, wrong, failed: [...failed], acked: acked.size, errors: cluster.errors };
  expect(end).toEqual({ seed, wrong: [], failed: [], acked: ITEMS + LATE, errors: [] });
  return told;
}

function nsOf({ stream, values }: ModelTuple): readonly number[] {
  return stream === "late" ? [values[0] as number] : (values[0] as readonly number[]);
}

/** How many histories of each kind. */
const HISTORIES = sized(12, 0.0025, 25);

async function histories(
  make: (trial: Trial) => BoltDefinition,
  kind: Kind = { kills: true },
): Promise<Told> {
  const sum = { ...NOTHING };
  for (let seed = 1; seed <= HISTORIES; seed++) {
    const told = await history(seed, make, kind);
    for (const key of Object.keys(sum) as (keyof Told)[]) sum[key] += told[key];
  }
  for (const key of ["failed", "expired", "again"] as const)
    expect(sum[key], `how often a tuple ${key}`).toBeGreaterThan(0.4 * HISTORIES);
  if (kind.kills) expect(sum.crashed).toBeGreaterThan(0.4 * HISTORIES);
  return sum;
}

describe("no tuple of a reliable spout is lost under Storm", () => {
  test("by windows of event time, one after the other [N1494]; what is handed over again is whole [N1501]", async () => {
    const told = await histories((trial) => windows(tumbling({ ms: WINDOW, by, lagMs: WINDOW / 2 }), trial));
    expect(told.late).toBeGreaterThan(0);
    expect(told.whole).toBeGreaterThan(10);
  });

  test("and without kills, the fullest result of each window has all that were not late [N1501]", async () => {
    const told = await histories((trial) => windows(tumbling({ ms: WINDOW, by, lagMs: WINDOW / 2 }), trial), {
      kills: false,
    });
    expect(told.whole).toBeGreaterThan(10);
  });

  test("by windows of event time that overlap [N1494]; what is handed over again is whole [N1501]", async () => {
    const plan = sliding({ ms: WINDOW, everyMs: WINDOW / 4, by, lagMs: WINDOW / 2 });
    const told = await histories((trial) => windows(plan, trial));
    expect(told.late).toBeGreaterThan(0);
    expect(told.whole).toBeGreaterThan(10);
  });

  test("by windows of the clock [N1494]", async () => {
    await histories((trial) => windows(sliding({ ms: 200, everyMs: 100 }), trial, false));
  });

  test("by batches [N1497]", async () => {
    await histories(batches);
  });
});
