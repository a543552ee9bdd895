// The signals of a flow host for an autoscaler: what is due in its store, against a count by hand, and what the host can take.

import * as fc from "fast-check";
import { System } from "signalbox";
import { defineFlow } from "signalbox/flow";
import { prometheus } from "signalbox/service";
import { openStore, type Store } from "signalbox/store";
import { describe, expect, it } from "vitest";
import { FLOW_SCHEMA, type FlowRow, flows } from "../../lib/flow/journal/tables.js";
import { dueFlows } from "../../lib/flow/runtime/signals.js";
import { newRow } from "../../lib/flow/runtime/starting.js";
import { MOST_DUE } from "../../lib/host/signals.js";
import { proving } from "../support/proof.js";
import { storeKinds } from "../support/store-kinds.js";
import { bench } from "./runtime/bench.js";

const NOW = 1_000_000;
const MINUTE = 60_000;

/** When a flow is due, whether a host holds it, and when its row was written. */
const ROW = fc.record({
  due: fc.oneof(fc.constant(null), fc.constant(0), fc.integer({ min: NOW - 50, max: NOW + 50 })),
  holder: fc.option(fc.integer({ min: 1, max: 3 }), { freq: 2 }),
  updated: fc.integer({ min: NOW - 100, max: NOW }),
});
type Sketch = Pick<FlowRow, "due" | "holder" | "updated">;

/** The count by hand. */
function byHand(rows: readonly Sketch[]): { readonly due: number; readonly oldestDueMs: number } {
  const due = rows.filter((row) => row.holder === null && row.due !== null && row.due <= NOW);
  const waits = due.map((row) => NOW - (row.due === 0 ? row.updated : (row.due as number)));
  return { due: due.length, oldestDueMs: Math.max(0, ...waits) };
}

async function fill(store: Store, rows: readonly Sketch[]): Promise<void> {
  const row = (i: number) => newRow({ id: `f${i}`, name: "walk", version: 1, input: null } as never, NOW);
  await store.commit({
    writes: [
      { type: "clear", table: flows, prefix: [] },
      ...rows.map((one, i) => ({ type: "insert", table: flows, row: { ...row(i), ...one } }) as const),
    ],
  });
}

describe.each(storeKinds("due", proving))("on $name", ({ source }) => {
  it("what is due and what has waited longest is what a count by hand gives [N1140]", async () => {
    await using system = new System({ report: false });
    await using store = await openStore(system, source(), [FLOW_SCHEMA]);
    let most = 0;
    // At most as many as are looked at for the oldest.
    const tables = fc.array(ROW, { maxLength: 16 });
    await fc.assert(
      fc.asyncProperty(tables, async (rows) => {
        await fill(store, rows);
        const wanted = byHand(rows);
        expect(await dueFlows(store, NOW)).toEqual(wanted);
        most = Math.max(most, wanted.due);
      }),
      { numRuns: 25, seed: 3 },
    );
    expect(most).toBeGreaterThan(2);
  });
});

it("a look ends at its bound, whatever the store holds [N1141]", async () => {
  const asked: unknown[] = [];
  const store = {
    count: async (_table: unknown, count: { readonly atMost?: number }) => {
      asked.push(count.atMost);
      return MOST_DUE;
    },
    scan: async (_table: unknown, { limit }: { readonly limit?: number }) => {
      asked.push(limit);
      return [];
    },
  };
  expect(await dueFlows(store as never, NOW)).toEqual({ due: MOST_DUE, oldestDueMs: 0 });
  expect(asked).toEqual([MOST_DUE, 16, 1]);
});

const walk = defineFlow("walk", async (flow, ms: number) => {
  await flow.step("walk", ({ signal }) => new Promise((_, stop) => signal.addEventListener("abort", stop)), {
    timeout: ms,
    retry: { attempts: 1 },
  });
});

it("a host says what waits, how long, what it could take and what it holds [N1142]", async () => {
  await using b = await bench([walk], { limits: { mostLoaded: 2 } });
  expect(await b.until(b.flows.signals())).toEqual({ due: 0, oldestDueMs: 0, room: 2, held: 0 });
  await b.until(b.flows.start(walk, 10 * MINUTE, { id: "a" }));
  expect(await b.until(b.flows.signals())).toMatchObject({ due: 0, room: 1, held: 1 });
  for (const id of ["b", "c", "d"]) await b.until(b.flows.start(walk, 10 * MINUTE, { id }));
  const soon = await b.until(b.flows.signals());
  await b.clock.advance(MINUTE);
  const later = await b.until(b.flows.signals());
  expect(later).toMatchObject({ due: 2, room: 0, held: 2 });
  expect(later.oldestDueMs - soon.oldestDueMs).toBeGreaterThanOrEqual(MINUTE);
});

it("a message makes a flow that rests due since then, not since it came to rest [N1143]", async () => {
  const wait = defineFlow("wait", (flow) => flow.receive<string>("go"));
  await using b = await bench([wait, walk], { limits: { mostLoaded: 1, idleMs: 1_000 } });
  const resting = await b.until(b.flows.start(wait, undefined, { id: "rests" }));
  await b.clock.advance(10 * MINUTE);
  await b.until(b.flows.start(walk, 100 * MINUTE, { id: "busy" }));
  expect(await b.until(b.flows.signals())).toMatchObject({ due: 0, oldestDueMs: 0, held: 1 });
  await b.until(resting.send("go", "now"));
  await b.clock.advance(MINUTE);
  const { due, oldestDueMs } = await b.until(b.flows.signals());
  expect(due).toBe(1);
  expect(oldestDueMs).toBeGreaterThanOrEqual(MINUTE);
  expect(oldestDueMs).toBeLessThan(10 * MINUTE);
});

it("the page of metrics has the signals that the page before asked for, and none of a host that has stopped [N1144]", async () => {
  await using b = await bench([walk], { limits: { mostLoaded: 1 }, name: "shop" });
  const metrics = prometheus(b.system, { runtime: false });
  const page = async (): Promise<string[]> => {
    const lines = metrics
      .text()
      .split("\n")
      .filter((line) => line.startsWith("signalbox_host_"));
    await b.clock.advance(1);
    return lines.map((line) => line.replace(/^signalbox_host_(\w+)\{.*kind="flows",host="shop"\}/, "$1"));
  };
  for (const id of ["a", "b", "c"]) await b.until(b.flows.start(walk, 10 * MINUTE, { id }));
  await page();
  await b.clock.advance(MINUTE);
  await page();
  const [due, oldest, ...more] = await page();
  expect([due, ...more]).toEqual(["due 2", "room 0", "held 1"]);
  expect(Number(oldest?.replace("due_oldest_seconds ", ""))).toBeGreaterThanOrEqual(MINUTE / 1_000);
  await b.until(b.flows.stop());
  expect(await page()).toEqual([]);
});
