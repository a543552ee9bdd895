// The journal of a flow as a timeline, what the flow waits for, and why it stands aside: what a look shows, and how little it reads.

import fc from "fast-check";
import { System } from "signalbox";
import { defineFlow, flowHost } from "signalbox/flow";
import { memory } from "signalbox/store";
import { describe, expect, onTestFinished, test } from "vitest";
import { chosenOf } from "../../../lib/admin/protocol.js";
import { offeredBy } from "../../../lib/admin/system/offered.js";
import type { HospitalRecord } from "../../../lib/flow/hospital/record.js";
import type { Ask, Decision, Entry } from "../../../lib/flow/journal/entry.js";
import { asideOf } from "../../../lib/flow/operations/aside.js";
import { PendingAsks } from "../../../lib/flow/operations/flow-view.js";
import { LOOK_LIMITS } from "../../../lib/flow/operations/looks.js";
import type { FlowTimeline } from "../../../lib/flow/operations/operations.js";
import { type ReadEntry, timelineOf } from "../../../lib/flow/operations/timeline.js";
import { gate } from "../../support/gate.js";
import { type EntryGiven, START, storedFlows } from "./support/stored-flows.js";

const step = (key: string): Ask => ({ kind: "step", key });
const entry = (seq: number, at: number, decision: Decision, asks: readonly Ask[] = []): ReadEntry => ({
  seq,
  entry: { at, asks, decision, value: null },
});

function decisionOf(what: string, key: string, due: number): Decision {
  if (what === "cancelled") return { type: "cancelled" };
  if (what === "begun") return { type: "begun", key, due };
  if (what === "failed") return { type: "failed", key, attempt: 1, due };
  return { type: "done", key, ok: what === "done" };
}

describe("a timeline", () => {
  test("has each step with the times at which it was asked for and over, and each attempt that failed [N1553]", () => {
    const failed = (seq: number, at: number, attempt: number, due: number) => ({
      ...entry(seq, at, { type: "failed", key: "charge", attempt, due }, seq === 1 ? [step("charge")] : []),
      error: `Error: no ${attempt}`,
    });
    const items = timelineOf(
      [
        entry(0, 110, { type: "done", key: "pick", ok: true }, [step("pick")]),
        failed(1, 120, 1, 200),
        failed(2, 220, 2, 400),
        { ...entry(3, 410, { type: "done", key: "charge", ok: false }), error: "Error: no 3" },
        entry(4, 410, { type: "begun", key: "sleep", due: 900 }, [{ kind: "sleep", key: "sleep" }]),
      ],
      100,
    );
    expect(items).toEqual([
      { kind: "step", key: "pick", status: "done", at: 100, endedAt: 110, attempts: [], seq: 0 },
      {
        ...{ kind: "step", key: "charge", status: "failed", at: 110, endedAt: 410, seq: 3 },
        attempts: [
          { attempt: 1, at: 120, dueAt: 200, error: "Error: no 1" },
          { attempt: 2, at: 220, dueAt: 400, error: "Error: no 2" },
          { attempt: 3, at: 410, error: "Error: no 3" },
        ],
      },
      { kind: "sleep", key: "sleep", status: "waiting", at: 410, dueAt: 900, attempts: [] },
    ]);
  });

  test("shows what a cancellation ended, and goes on behind an entry that cannot be read [N1553]", () => {
    const items = timelineOf(
      [
        entry(0, 105, { type: "done", key: "pick", ok: true }, [step("pick")]),
        entry(1, 110, { type: "begun", key: "answer", due: undefined }, [{ kind: "receive", key: "answer" }]),
        { seq: 2, entry: new Error("damaged") },
        entry(3, 130, { type: "cancelled" }, [step("tidy")]),
      ],
      100,
    );
    expect(items).toEqual([
      { kind: "step", key: "pick", status: "done", at: 100, endedAt: 105, attempts: [], seq: 0 },
      { kind: "receive", key: "answer", status: "cancelled", at: 105, endedAt: 130, attempts: [] },
      { kind: "step", key: "tidy", status: "cancelled", endedAt: 130, attempts: [] },
    ]);
  });

  test("has what a host says that the code waits for, also before anything of it is recorded [N1554]", () => {
    const waits = [
      { kind: "step", key: "pick", isRunning: true, dueAt: undefined },
      { kind: "step", key: "charge", isRunning: true, dueAt: 300 },
      { kind: "receive", key: "answer", isRunning: false, dueAt: 700 },
    ];
    const failed = entry(0, 120, { type: "failed", key: "charge", attempt: 1, due: 300 }, [step("charge")]);
    expect(timelineOf([], 100, waits)).toMatchObject([
      { key: "pick", status: "running", at: 100 },
      { key: "charge", status: "running", at: 100 },
      { key: "answer", status: "waiting", at: 100, dueAt: 700 },
    ]);
    const items = timelineOf([failed], 100, waits);
    expect(items.map(({ key, status }) => [key, status])).toEqual([
      ["charge", "running"],
      ["pick", "running"],
      ["answer", "waiting"],
    ]);
    expect(items[0]).not.toHaveProperty("dueAt");
  });

  /** Journals as flows write them: each key is asked for once, and has one outcome. */
  const journals = fc
    .array(
      fc.record({
        key: fc.nat(5),
        what: fc.constantFrom("done", "error", "begun", "failed", "cancelled"),
        asks: fc.array(fc.nat(5), { maxLength: 2 }),
      }),
      { maxLength: 30 },
    )
    .map((drawn) => {
      const asked = new Set<number>();
      const ended = new Set<number>();
      return drawn.flatMap(({ key, what, asks }, i): Entry[] => {
        const decision = decisionOf(what, `k${key}`, i);
        if (decision.type !== "cancelled" && ended.has(key)) return [];
        const fresh = [...asks, ...(decision.type === "cancelled" ? [] : [key])].filter(
          (one, place, all) => !asked.has(one) && all.indexOf(one) === place,
        );
        for (const one of fresh) asked.add(one);
        for (const one of decision.type === "cancelled" ? asked : [key])
          if (decision.type === "cancelled" || decision.type === "done") ended.add(one);
        return [{ at: 100 + i, asks: fresh.map((one) => step(`k${one}`)), decision, value: null }];
      });
    });

  test("names as open what the journal leaves open, for any journal [N1553]", () => {
    fc.assert(
      fc.property(journals, (entries) => {
        const pending = new PendingAsks();
        for (const one of entries) pending.add(one);
        const items = timelineOf(
          entries.map((one, seq) => ({ seq, entry: one })),
          100,
        );
        const open = items.filter(({ endedAt, kind }) => endedAt === undefined && kind !== "");
        expect(open.map(({ key }) => key).sort()).toEqual(pending.all.map(({ key }) => key).sort());
      }),
    );
  });

  test("of the end of a journal has the same outcomes as that of the whole, for any journal and any cut [N1553]", () => {
    fc.assert(
      fc.property(journals, fc.nat(30), (entries, drawn) => {
        const all = entries.map((one, seq) => ({ seq, entry: one }));
        const cut = Math.min(drawn, all.length);
        const whole = new Map(timelineOf(all, 100).map((item) => [item.key, item]));
        for (const item of timelineOf(all.slice(cut), all[cut - 1]?.entry.at)) {
          const { status, endedAt, seq } = whole.get(item.key) ?? {};
          expect([item.status, item.endedAt, item.seq]).toEqual([status, endedAt, seq]);
        }
      }),
    );
  });
});

describe("a look at a flow", () => {
  test("reads the end of its journal alone, and says so [N1555]", async () => {
    const { operations, add, entries, store, pass } = await storedFlows();
    const number = await add({ id: "a" });
    for (let i = 0; i < 20; i++) {
      pass(10);
      await entries(number, `step#${i}`);
    }
    const reads: number[] = [];
    const { scan } = store;
    store.scan = async (table, range) => {
      const rows = await scan.call(store, table, range);
      if (table.name === "flow_journal") reads.push(rows.length);
      return rows as never;
    };
    const cut = await operations.timeline("a", { limit: 3 });
    expect([cut.items.map(({ key }) => key), cut.isCut, reads]).toEqual([
      ["step#17", "step#18", "step#19"],
      true,
      [4],
    ]);
    expect(cut.items[0]).toMatchObject({ at: START + 170, endedAt: START + 180 });
    const whole = await operations.timeline("a");
    expect([whole.items.length, whole.isCut, whole.items[0]?.at]).toEqual([20, false, START]);
    const exact = await operations.timeline("a", { limit: 20 });
    expect([exact.items.length, exact.isCut]).toEqual([20, false]);
    reads.length = 0;
    await operations.timeline("a", { limit: 1_000_000 });
    expect(reads).toEqual([20]);
    for (const limit of [0, 1.5, "3"])
      await expect(operations.timeline("a", { limit: limit as number })).rejects.toMatchObject({
        code: "ERR_OPTION",
      });
    await expect(operations.timeline("b")).rejects.toMatchObject({ code: "ERR_FLOW_NOT_FOUND" });
  });

  test("shows errors in one bounded line, children at their asks, mail, progress and heartbeats [N1555]", async () => {
    const { operations, add, entries } = await storedFlows();
    const long = Object.assign(new Error(`no\n${"x".repeat(5_000)}`), { name: "CardError" });
    const number = await add({
      id: "a",
      progress: '{"value":"half"}',
      heartbeats: '{"value":[["charge",{"at":5,"progress":3}]]}',
    });
    const failed: EntryGiven = {
      decision: { type: "failed", key: "charge", attempt: 1, due: START + 50 },
      value: long,
    };
    await entries(number, failed, {
      decision: { type: "begun", key: "ship", due: undefined },
      asks: [{ kind: "call", key: "ship" }],
    });
    await add({ id: "a/ship", parent: number, parent_key: "ship", status: "completed" });
    await operations.send("a", "paid", 1, { id: "m1" });
    expect(await operations.timeline("a")).toMatchObject({
      flow: { id: "a" },
      at: START,
      isCut: false,
      items: [
        { key: "charge", status: "retrying", attempts: [{ attempt: 1, error: "CardError: no" }] },
        { key: "ship", kind: "call", status: "waiting", child: "a/ship" },
      ],
      children: [{ id: "a/ship", status: "completed" }],
      mail: [{ id: "outside/m1", topic: "paid" }],
      progress: "half",
      heartbeats: [["charge", { progress: 3 }]],
    });
  });

  test("of a flow that a host has in memory shows the step that runs, in process and without a socket [N1554]", async () => {
    const system = new System({ report: false });
    onTestFinished(() => system.stop({ timeoutMs: 0 }));
    const [begun, go] = [gate(), gate()];
    const slow = defineFlow("slow", async (flow) => {
      await flow.step("think", async () => {
        begun.open();
        await go.promise;
      });
    });
    const host = await system.start(flowHost({ store: memory(), flows: [slow], socket: false }));
    const run = await host.start(slow, undefined, { id: "a" });
    await begun.promise;
    const look = async (): Promise<FlowTimeline> => {
      const { run: ask } = await chosenOf(offeredBy(system.kernel), "timeline", { id: "a" });
      return (await ask({ id: "a" }, new AbortController().signal)) as FlowTimeline;
    };
    expect((await look()).items).toMatchObject([{ kind: "step", key: "think", status: "running" }]);
    go.open();
    await run.result();
    expect((await look()).items).toMatchObject([{ kind: "step", key: "think", status: "done" }]);
  });
});

describe("why a flow stands aside", () => {
  const symptom = {
    kind: "crash-loop",
    name: "CrashLoopError",
    message: "it ended its program\nagain",
    evidence: { kind: "uncaught", at: 70, life: 3 },
  } as const;
  const suspension = { name: "charge", position: 4 };
  const record: HospitalRecord = {
    ...{ version: 1, definition: "order", symptom, suspension, by: ["crashes"], counts: { crashes: 2 } },
    ...{ dueAt: 900, discharges: 2 },
    visits: [
      {
        at: 60,
        suspension,
        symptom: { kind: "code", name: "Error", message: "no" },
        decision: "discharge",
        by: [],
      },
      { at: 80, suspension, symptom, decision: "observe", by: ["crashes"], afterMs: 5 },
    ],
  };
  const row = (more: object) => ({
    status: "hospitalized",
    hospital: JSON.stringify(record),
    crashes: 2,
    ...more,
  });

  test("says which ends of programs are evidence, and until when it stays [N1556]", () => {
    expect(asideOf(row({}))).toEqual({
      ...{ isIn: true, until: 900, discharges: 2, crashes: 2, symptom },
      visits: [
        {
          ...{ at: 80, where: "charge", kind: "crash-loop", error: "CrashLoopError: it ended its program" },
          ...{ decision: "observe", by: ["crashes"], afterMs: 5, death: symptom.evidence },
        },
        { at: 60, where: "charge", kind: "code", error: "Error: no", decision: "discharge", by: [] },
      ],
    });
    expect(asideOf(row({ status: "waiting" }))).not.toHaveProperty("until");
  });

  test("is there for a record that cannot be read, and absent when nothing was wrong [N1556]", () => {
    expect(asideOf(row({ hospital: "{" }))).toEqual({ isIn: true, visits: [], discharges: 0, crashes: 2 });
    expect(asideOf(row({ status: "running", hospital: null, crashes: 1 }))).toMatchObject({ crashes: 1 });
    expect(asideOf(row({ status: "running", hospital: null, crashes: 0 }))).toBeUndefined();
  });
});

test("the flows of each status are counted no further than a page needs [N1557]", async () => {
  const { operations, add, store } = await storedFlows();
  for (const status of ["running", "running", "failed"]) await add({ status });
  const asked: (number | undefined)[] = [];
  const { count } = store;
  store.count = (table, range) => {
    asked.push(range.atMost);
    return count.call(store, table, range);
  };
  const { counts, atMost } = await operations.counts();
  expect([counts.running, counts.failed, counts.completed, atMost]).toEqual([2, 1, 0, LOOK_LIMITS.counted]);
  expect(new Set(asked)).toEqual(new Set([LOOK_LIMITS.counted]));
});
